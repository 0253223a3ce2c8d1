"""Threads that never end, and that a method starts anew after it has told the object to finish: what finishes the other
workers of the object has no end for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls_of, nodes, statements, with_tests
from .endless import SELF, never_ends, work_of

_ENDS = ("stop", "finish", "close", "shut", "terminate", "end", "reset", "join", "clean", "kill", "abort")


class Restarted(NamedTuple):
    site: Site
    target: str
    restart: str  # the method that starts another one
    end: str  # the one that it calls first


def restarted(program: Program) -> Iterator[Restarted]:
    """`def restart(self): self.finish(); self.start()`, where `start` has a thread for a loop without a way out."""
    if "Thread" not in program.called:
        return
    for place in program.places:
        if not place.cls or "Thread" not in place.facts.calls or place.facts.name == "__init__":
            continue
        own = [one for one in program.places if one.cls == place.cls]
        found = next(_again(place, own), None)
        if found is None:
            continue
        restart, end = found
        for statement, tests in with_tests(place.facts.body):
            for call in calls_of(statement):
                target = keyword(call, "target", 1) if call[2][-1] == "Thread" else None
                work = work_of(program, place, call, target) if target is not None else None
                if work is None or not never_ends(program, work):
                    continue
                if all(_holds_again(test, end, own) for test in tests):
                    yield Restarted(call[1], work.function.name, restart.name, end.name)


def _again(place: Place, own: list[Place]) -> Iterator[tuple[FunctionFacts, FunctionFacts]]:
    """The methods that call another method of the object, and then this one."""
    methods = {one.facts.name: one.facts for one in own}
    for method in methods.values():
        called = [name for one in statements(method.body) for name in _own_calls(one) if name in methods]
        if place.facts.name in called and method is not place.facts:
            before = called[: called.index(place.facts.name)]
            yield from ((method, methods[name]) for name in before if _is_end(methods[name], place.facts))


def _is_end(method: FunctionFacts, start: FunctionFacts) -> bool:
    """Whether a method is the end of what another one starts: by its name, and by what both of them set."""
    return any(word in method.name for word in _ENDS) and not _set_in(method).isdisjoint(_set_in(start))


def _own_calls(statement: m.Stmt) -> Iterator[str]:
    for call in calls_of(statement):
        if call[2][:2] == (m.ATTR, SELF):
            yield call[2][2]


def _holds_again(test: Expr, end: FunctionFacts, own: list[Place]) -> bool:
    """Whether a test is true the next time: what it asks of the object does not change, or `end` sets it back."""
    asked = {node[2] for node in nodes(test) if node[:2] == (m.ATTR, SELF)}
    changed = {
        name for one in own if one.facts.name not in ("__init__", end.name) for name in _set_in(one.facts) & asked
    }
    return bool(asked) and changed <= _set_in(end)


def _set_in(method: FunctionFacts) -> set[str]:
    """The attributes of its object that a method binds, adds to or empties."""
    found = set[str]()
    for one in statements(method.body):
        places = [*targets(one), *(call[2][1] for call in calls_of(one) if call[2][0] == m.ATTR)]
        for place in places:
            while place[0] == m.ITEM:
                place = place[1]
            if place[:2] == (m.ATTR, SELF):
                found.add(place[2])
    return found
