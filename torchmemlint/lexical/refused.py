"""Tables of what is under way, with entries of requests that were refused before anybody was told of them.

`self.states[request.id] = state`, then a check that raises, and only then the request is handed on and its answer
waited for. Who takes the entry out is told by the answer, which never comes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, BUILDERS, DELETED, emptyings, goes_on_beside
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Place, Program, expressions
from ..facts.walk import blocks, calls, calls_of, expressions_of, heads, last_name, nodes, statements

_SELF: Expr = (m.NAME, "self")
_WAITS = ("result", "wait", "get", "recv")
_HANDS_ON = frozenset("put put_nowait send send_pyobj send_json submit dispatch publish emit create_task".split())
_TAKES_ONE = ("pop", DELETED)
_OTHERS = frozenset("NotImplementedError AssertionError StopIteration StopAsyncIteration KeyError".split())


class Refused(NamedTuple):
    """An entry that stays when a check refuses its request."""

    site: Site  # where it is put
    table: str
    cls: str
    raised: Site
    taken: Site


def refused(program: Program, reaching: Program) -> Iterator[Refused]:
    """Methods that put an entry, check, hand on and wait, of whose tables others take single entries out; `reaching`
    knows the functions that the file imports, too."""
    keeping = (place for place in program.places if place.cls and place.facts.flags & m.KEEPS)
    putting = {place.facts.name for place in keeping if any(map(_puts_one, place.facts.body))}
    for place in program.places if putting else ():
        concerned = place.facts.name in putting or not putting.isdisjoint(place.facts.calls)
        if not (place.cls and concerned and _waits_for_an_answer(place.facts)) or place.facts.name in BUILDERS:
            continue
        for number, one in enumerate(place.facts.body):
            for table, put in _put_by(program, place, one):
                raised = _raised_before_it_is_handed_on(reaching, place, place.facts.body[number + 1 :], table)
                if raised is None:
                    continue
                taken = _taken_by_others(program, {place.facts.name, put.facts.name}, table)
                if taken is not None:
                    yield Refused(_put_in(put.facts, table), table, place.cls, raised, taken)


def _waits_for_an_answer(function: FunctionFacts) -> bool:
    waits = not set(_WAITS).isdisjoint(function.calls)
    return waits or any(part[0] in (m.AWAIT, m.YIELD) for part in expressions(function.body))


def _put_by(program: Program, place: Place, statement: Stmt) -> Iterator[tuple[str, Place]]:
    """The tables that a statement adds an entry to, itself or by a method of the same class, and which function does
    that."""
    yield from ((table, place) for table in _puts(statement))
    for call in calls_of(statement):
        own = program.by_name.get(call[2][2], ()) if call[2][:2] == (m.ATTR, _SELF) else ()
        for helper in own if statement[0] in (m.EXPR, m.ASSIGN) else ():
            if helper.cls == place.cls and helper is not place:
                yield from ((table, helper) for one in helper.facts.body for table in _puts(one))


def _puts(statement: Stmt) -> Iterator[str]:
    """`self.table[key] = state`: not a number, a text or nothing."""
    if statement[0] == m.ASSIGN and statement[3][0] not in (m.CONST, m.TEXT):
        for target in statement[2]:
            if target[0] == m.ITEM and target[1][:2] == (m.ATTR, _SELF) and target[2][0] not in (m.CONST, m.SLICE):
                yield target[1][2]


def _puts_one(statement: Stmt) -> bool:
    return any(True for _ in _puts(statement))


def _put_in(function: FunctionFacts, table: str) -> Site:
    return next(int(one[1]) for one in function.body if table in _puts(one))


def _raised_before_it_is_handed_on(program: Program, place: Place, rest: Block, table: str) -> Site | None:
    """Where an error is raised after the entry was put, before the request goes anywhere. What a `try` has around it
    may take the entry out."""
    for statement in rest:
        if statement[0] in (m.TRY, m.WITH, m.WHILE, m.RETURN) or _mentions(statement, table):
            return None
        for one in statements((statement,)):
            if one[0] == m.RAISE and is_refusal(one):
                return int(one[1])
            for call in calls_of(one):
                if last_name(call[2]) in _HANDS_ON:
                    return None
                if may_refuse(program, place, call):
                    return int(call[1])
            if any(part[0] in (m.AWAIT, m.YIELD) for part in expressions_of(one)):
                return None
    return None


def _mentions(statement: Stmt, table: str) -> bool:
    return any(
        part[0] == m.ATTR and part[2] == table for one in statements((statement,)) for part in expressions_of(one)
    )


def may_refuse(program: Program, place: Place, call: Expr, levels: int = 2) -> bool:
    """Whether a function of the project, which a call means for certain, raises an error of its own accord."""
    name = last_name(call[2])
    meant = [
        one
        for one in program.by_name.get(name, ())
        if (one.cls == place.cls and call[2][:2] == (m.ATTR, _SELF)) or (not one.cls and call[2][1] != _SELF)
    ]
    if len(meant) != 1 or not levels:
        return False
    for one in _unguarded(meant[0].facts.body):
        if one[0] == m.RAISE and is_refusal(one):
            return True
        if any(may_refuse(program, meant[0], inner, levels - 1) for inner in calls_of(one)):
            return True
    return False


def _unguarded(block: Block) -> Iterator[Stmt]:
    """The statements of a block that stand in no `try`."""
    for one in block:
        if one[0] != m.TRY:
            yield one
            for suite in blocks(one):
                yield from _unguarded(suite)


def is_refusal(statement: Stmt) -> bool:
    """`raise ValueError("too long")`"""
    raised = statement[2]
    made = raised[2] if raised is not None and raised[0] == m.CALL else raised
    return made is not None and last_name(made)[:1].isupper() and last_name(made) not in _OTHERS


def _taken_by_others(program: Program, putting: set[str], table: str) -> Site | None:
    """Where another function takes single entries out of a table, if those are all that ever do: none that puts them,
    calls what does or is called there, and none that empties it."""
    found = {
        place.facts.name: one
        for place in program.places
        if place.facts.name not in BUILDERS
        for one in emptyings(place.facts, table)
        if one.how != BOUND or one.place[0] == m.ATTR
    }
    if not found or any(one.how not in _TAKES_ONE for one in found.values()):
        return None
    for place in program.places:
        if place.facts.name in putting and (
            place.facts.name in found or not found.keys().isdisjoint(place.facts.calls)
        ):
            return None
        calls_both = not putting.isdisjoint(place.facts.calls) and (
            place.facts.name in found or _calls_in_turn(place.facts, found.keys())
        )
        if calls_both or _asks_how_many(place.facts, table):
            return None
    return int(min(one.statement[1] for one in found.values()))


def _calls_in_turn(function: FunctionFacts, names: Collection[str]) -> bool:
    """Whether a function calls one of these itself, and does not start it as a task."""
    for call in calls(function.body) if not set(names).isdisjoint(function.calls) else ():
        if last_name(call[2]) in names and not any(
            goes_on_beside(one, names) and any(call == part for part in nodes(one)) for one in calls(function.body)
        ):
            return True
    return False


def _asks_how_many(function: FunctionFacts, table: str) -> bool:
    """`while len(self.table) > limit:`"""
    return any(
        one[0] in (m.IF, m.WHILE)
        and any(
            part[0] == m.CALL and part[2] == (m.NAME, "len") and part[3] and last_name(part[3][0]) == table
            for head in heads(one)
            for part in nodes(head)
        )
        for one in statements(function.body)
    )
