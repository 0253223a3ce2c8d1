"""Arrays of batches that workers have loaded: `labels.numpy()` has the tensor's shared memory, without a copy."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt, statement_of
from ..facts.program import targets
from ..facts.walk import calls_of, loops
from ..interpreter.machine import Machine
from .few_rounds import ends_after_a_few
from .places import in_test

_EMPTIES = ("clear", "pop", "popleft")


def collected_arrays(machine: Machine) -> Iterator[tuple[int, str]]:
    """Where a loop adds such an array as it is to a local container, `rows.append(batch["x"].numpy())`, and the
    container, which was there before the loop and is not emptied in it."""
    for note in machine.plain:
        if note.kind != "loaded-array" or not machine.is_home(note.site) or in_test(note.frame):
            continue
        if "$idle" in note.detail.fields:
            continue  # it has workers only if somebody asks for them, and the list goes with the call
        found = _collected(note.frame.facts, note.site)
        if found is not None:
            yield found[0][1], found[1]


def _collected(function: FunctionFacts, site: int) -> tuple[Stmt, str] | None:
    ordinal = statement_of(site)
    for loop, inside in reversed(loops(function.body)):  # the outermost first
        if ends_after_a_few(function, loop[1]):
            continue
        made = next((one for one in inside if statement_of(one[1]) == ordinal), None)
        place = None if made is None else _gains(made, site)
        if made is not None and place is not None and not any(_lets_go(one, place) for one in inside):
            return made, str(place[1])
    return None


def _gains(statement: Stmt, site: int) -> Expr | None:
    """The name of the list, or table, to which a statement adds what a call gives."""
    if statement[0] == m.ASSIGN and statement[3][0] == m.CALL and statement[3][1] == site:
        target = statement[2][0]
        return target[1] if target[0] == m.ITEM and target[1][0] == m.NAME else None
    for call in calls_of(statement):
        adds = call[2][0] == m.ATTR and call[2][2] == "append" and call[2][1][0] == m.NAME
        if adds and call[3] and call[3][0][0] == m.CALL and call[3][0][1] == site:
            return call[2][1]  # type: ignore[no-any-return]
    return None


def _lets_go(statement: Stmt, place: Expr) -> bool:
    if place in targets(statement) or (statement[0] == m.DELETE and place in statement[2]):
        return True
    told = (call[2] for call in calls_of(statement) if call[2][0] == m.ATTR)
    return any(callee[1] == place and callee[2] in _EMPTIES for callee in told)
