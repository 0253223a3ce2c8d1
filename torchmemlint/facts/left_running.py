"""Objects that start worker processes, and whose owner drops them without telling the workers to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .model import Expr, Site, Stmt
from .program import Place, Program, keyword, statements
from .walk import calls, calls_of, heads, in_loops, last_name, loops

_PROCESSES = ("Process", "SpawnProcess", "ForkProcess")
_ENDS = frozenset("close stop shutdown terminate join finish end kill cleanup stop_workers __exit__ quit exit".split())


class LeftRunning(NamedTuple):
    """A local object whose processes go on when it is dropped."""

    site: Site
    cls: str
    end: str  # the method that would end them
    started: Site


def left_running(program: Program) -> Iterator[LeftRunning]:
    """Locals that own processes which serve a queue until they are told to stop, made again and again."""
    if program.called.isdisjoint(_PROCESSES):
        return
    owners = dict(_owners(program))
    for place in program.places if owners else ():
        if owners.keys().isdisjoint(place.facts.calls):
            continue
        for statement, looped in in_loops(place.facts.body):
            made = statement[3] if statement[0] == m.ASSIGN else None
            if made is None or made[0] != m.CALL or made[2][-1] not in owners or statement[2][0][0] != m.NAME:
                continue
            name, (end, started) = statement[2][0], owners[made[2][-1]]
            if (looped or _is_repeated(program, place)) and not _is_seen_to(place, statement, name):
                yield LeftRunning(statement[1], made[2][-1], end, started)


def _owners(program: Program) -> Iterator[tuple[str, tuple[str, Site]]]:
    """The classes whose constructor starts processes that serve, with the method that ends them."""
    serving = {place.facts.name for place in program.places if _serves(place)}
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        init = methods.get("__init__")
        end = next((name for name in methods if name in _ENDS and name != "__exit__"), "")
        if init is None or not end or "__del__" in methods:
            continue
        setup = [init, *(methods[name] for name in init.calls if name in methods)]
        if not any("start" in function.calls for function in setup):
            continue
        for call in (call for function in setup for call in calls(function.body)):
            given = keyword(call, "target", 1) if last_name(call[2]) in _PROCESSES else None
            if given is not None and last_name(given) in serving:
                yield cls.name, (end, call[1])


def _serves(place: Place) -> bool:
    """Whether a function takes work from a queue or pipe round after round: it ends when it is told to."""
    for loop, inside in loops(place.facts.body):
        if loop[0] == m.WHILE:
            found = [call for one in (loop, *inside) for call in calls_of(one)]
            if any(call[2][0] == m.ATTR and call[2][2] in ("get", "recv") and not call[3] for call in found):
                return True
        elif loop[3][0] == m.CALL and loop[3][2] == (m.NAME, "iter") and len(loop[3][3]) == 2:
            return True
    return False


def _is_repeated(program: Program, place: Place) -> bool:
    """Whether a loop of the file calls a function, or a function that calls it."""
    names = {place.facts.name}
    for _ in range(3):
        more = set[str]()
        for other in program.places:
            if names.isdisjoint(other.facts.calls):
                continue
            for statement, looped in in_loops(other.facts.body):
                if any(last_name(call[2]) in names for call in calls_of(statement)):
                    if looped:
                        return True
                    more.add(other.facts.name)
        names = more
    return False


def _is_seen_to(place: Place, made: Stmt, name: Expr) -> bool:
    """Whether the object is ended, used by `with`, or handed to somebody who may end it: all but its other methods
    are called on it."""
    return any(
        _is_given(head, name)
        for statement in statements(place.facts.body)
        if statement is not made
        for head in heads(statement)
    )


def _is_given(expr: Expr, name: Expr) -> bool:
    if expr == name:
        return True
    parts: list[object] = list(expr)
    if expr[0] == m.CALL and len(expr) == 5 and expr[2][0] == m.ATTR and expr[2][1] == name:
        if expr[2][2] in _ENDS:
            return True
        parts = [*expr[3], *expr[4]]
    while parts:
        part = parts.pop()
        if type(part) is tuple and part:
            if type(part[0]) is int:
                if _is_given(part, name):
                    return True
            else:
                parts.extend(part)
    return False
