"""Lists and dicts of many Python objects that a module has for itself, and that forked workers read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import expressions_of, in_loops, statements
from ..interpreter.machine import Machine
from ..interpreter.values import functions_behind
from .at_import import start_method
from .record_parts import adds_objects, has_parts

_DEPTH = 3  # calls from what a worker runs


class GlobalRecords(NamedTuple):
    """A table of a module that workers have a copy of."""

    site: Site
    name: str
    workers: Site


def read_from_globals(machine: Machine, program: Program) -> Iterator[GlobalRecords]:
    """Names of this module that it fills with objects of several parts, in a loop, and that tasks of a forked pool
    read: `for row in rows: TABLE.append({...})`, `pool.map(look_up, queries)`."""
    started = [note for note in machine.plain if note.kind == "worker" and note.detail[0].kind == "process"]
    if not started or start_method(program) in ("spawn", "forkserver"):
        return
    own = {id(function): function for function in machine.facts.functions[1:]}
    before, inside = dict[int, FunctionFacts](), dict[int, tuple[FunctionFacts, Site]]()
    for note in started:
        context, target = note.detail
        for function in functions_behind(target):
            if id(function) in own and context.initial:
                before[id(function)] = function
            elif id(function) in own and context.method in ("", "fork"):
                inside.setdefault(id(function), (function, note.site))
    if not inside:
        return
    body = statements(machine.facts.functions[0].body)
    made = {target[1] for one in body for target in targets(one) if target[0] == m.NAME}
    starts = [*before.values(), *(function for function, _ in inside.values())]
    running = {function.name for function in _with_helpers(program, starts)}
    filled = dict(_filled(machine.facts.functions, made, running))
    said = set[str]()
    for function, site in inside.values():
        for one in _with_helpers(program, [function]):
            for name in sorted(_read(one, filled.keys() - said)):
                said.add(name)
                yield GlobalRecords(filled[name], name, site)


def _with_helpers(program: Program, functions: list[FunctionFacts]) -> list[FunctionFacts]:
    """Functions, and those of the file that they call by a name that only one has."""
    found = list(functions)
    fresh = found
    for _ in range(_DEPTH):
        called = {name for one in fresh for name in one.calls}
        meant = (program.by_name.get(name, ()) for name in sorted(called))
        fresh = [one[0].facts for one in meant if len(one) == 1 and all(one[0].facts is not known for known in found)]
        found = [*found, *fresh]
    return found


def _filled(functions: tuple[FunctionFacts, ...], names: set[str], running: set[str]) -> Iterator[tuple[str, Site]]:
    """Where such a name gets its elements, by a function that no worker runs."""
    for number, function in enumerate(functions):
        if function.name in running:
            continue
        bound = _bound(function) if number else set[str]()
        for statement, looped in in_loops(function.body):
            for site, place, parts in adds_objects(statement, function.body) if looped else ():
                if parts and place[0] == m.NAME and place[1] in names - bound:
                    yield place[1], site
            value = statement[3] if statement[0] == m.ASSIGN else None
            for target in targets(statement) if value is not None and value[0] == m.COMP else ():
                of_parts = value is not None and has_parts(value[3] if value[4] is None else value[4], function.body)
                if of_parts and target[0] == m.NAME and target[1] in names - bound:
                    yield target[1], statement[1]


def _bound(function: FunctionFacts) -> set[str]:
    """The names that are a function's own."""
    body = list(statements(function.body))
    declared = {name for one in body if one[0] == m.GLOBAL for name in one[2]}
    own = {part[1] for one in body for target in targets(one) for part in (target,) if part[0] == m.NAME}
    return (own | {param.name for param in function.params}) - declared


def _read(function: FunctionFacts, names: set[str]) -> set[str]:
    """Those of the names that a function reads, other than to count what is there."""
    found = set[str]()
    for one in statements(function.body) if names else ():
        parts = expressions_of(one)
        counted = {id(part[3][0]) for part in parts if part[0] == m.CALL and part[2] == (m.NAME, "len") and part[3]}
        found |= {part[1] for part in parts if part[0] == m.NAME and part[1] in names and id(part) not in counted}
    return found - _bound(function)
