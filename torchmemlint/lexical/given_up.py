"""Entries that a generator takes out of the tables of its object only after a `yield`.

`self.tokens[key] = []`, and after the loop that yields, or in its last round, `self.tokens.pop(key)`: whoever stops the
iteration early closes the generator where it stands, and the entry stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import blocks, calls, calls_of, expressions_of, last_name, loops, nodes, statements
from ..facts.ways import lets_go, taken
from .begun import Entry, entries_by_methods, is_new, keeps_more

_SELF = (m.NAME, "self")
_ANSWERS = ("StreamingResponse", "EventSourceResponse")


class GivenUp(NamedTuple):
    """A statement that puts entries into tables, which an iteration that is given up leaves there."""

    site: Site
    tables: tuple[str, ...]
    at: Site  # the `yield` at which it is given up
    taken: Site


def given_up(program: Program) -> Iterator[GivenUp]:
    """Each of them once, where the file shows that its generator may be left early."""
    for place in program.places:
        if not place.facts.generator or not place.cls:
            continue
        left: dict[Site, list[tuple[str, Site, Site]]] = {}
        for entry in (*_own_entries(place), *entries_by_methods(program, place)):
            asked = list(_asked_between(place.facts.body, entry.put, entry.gone))
            kept = asked and is_new(place.facts, entry.key) and keeps_more(program, entry)
            if kept and not _is_emptied_by_others(program, place, entry):
                left.setdefault(entry.put, []).append((entry.table[2], max(asked), entry.gone))
        if left and _is_left_early(program, place.facts.name):
            for put, entries in sorted(left.items()):
                tables = tuple(table for table, _, _ in entries)
                yield GivenUp(put, tables, min(at for _, at, _ in entries), min(gone for _, _, gone in entries))


def _own_entries(place: Place) -> Iterator[Entry]:
    body = list(statements(place.facts.body))
    out = {(table, key): one[1] for one in body for table, key in taken(one) if table[1] == _SELF}
    if not out or any(_takes(one, {table for table, _ in out}) for one in _sure(body)):
        return
    for (table, key), gone in out.items():
        put = min((one[1] for one in body if (m.ITEM, table, key) in targets(one)), default=gone)
        yield Entry(place.cls, table, key, put, gone)


def _asked_between(body: Block, put: Site, gone: Site) -> Iterator[Site]:
    """The `yield`s that an entry is there at: between the statements that put it and take it out, and in the rounds of
    a loop before the one that takes it out."""
    yield from (one[1] for one in statements(body) if put < one[1] < gone and _yields(one))
    for loop, inner in loops(body):
        last = _last_round(next(blocks(loop)), gone) if put < loop[1] < gone else None
        if last is not None:
            yield from (one[1] for one in inner if one[1] > gone and _yields(one) and one not in last)


def _last_round(block: Block, gone: Site) -> list[Stmt] | None:
    """What is done in the rounds of a loop that come to a statement; None where each round does, or none."""
    for one in block:
        for suite in blocks(one) if one[1] < gone else ():
            inside = list(statements(suite))
            if any(inner[1] == gone for inner in inside):
                return inside if one[0] == m.IF else _last_round(suite, gone)
    return None


def _sure(body: list[Stmt]) -> Iterator[Stmt]:
    """What runs when a generator is closed: `finally`, and the clauses that catch that."""
    for one in body:
        if one[0] == m.TRY:
            yield from statements(one[5])
            for _, _, clause in one[3]:
                yield from statements(clause)


def _takes(statement: Stmt, tables: set[Expr]) -> bool:
    return any(lets_go(statement, table) for table in tables) or any(
        call[2][0] == m.ATTR and call[2][1] == _SELF for call in calls_of(statement)
    )


def _yields(statement: Stmt) -> bool:
    return any(part[0] in (m.YIELD, m.YIELD_FROM) for part in expressions_of(statement))


def _is_emptied_by_others(program: Program, place: Place, entry: Entry) -> bool:
    others = (other for other in program.places if other.cls == entry.cls and other.facts is not place.facts)
    return any(
        lets_go(one, entry.table)
        for other in others
        if other.facts.name not in ("__init__", entry.takes)
        for one in statements(other.facts.body)
    )


def _is_left_early(program: Program, name: str, depth: int = 2) -> bool:
    """Whether a loop over the generator breaks off or returns, or a client gets what it yields, who may hang up; of
    itself, or of another generator that goes through it."""
    for place in program.places:
        if name not in place.facts.calls:
            continue
        if any(_is_answer(call, name) for call in calls(place.facts.body)):
            return True
        for one in statements(place.facts.body):
            if one[0] == m.FOR and any(part[0] == m.CALL and last_name(part[2]) == name for part in nodes(one[3])):
                if any(inner[0] == m.RETURN or (inner[0] == m.JUMP and inner[2]) for inner in statements(one[4])):
                    return True
                outer = place.facts.name
                if place.facts.generator and depth and outer != name and _is_left_early(program, outer, depth - 1):
                    return True
    return False


def _is_answer(call: Expr, name: str) -> bool:
    """`StreamingResponse(self.generate(request))`, with nothing that is done after it."""
    if last_name(call[2]) not in _ANSWERS or any(keyword in ("background", "") for keyword, _ in call[4]):
        return False
    given = (*call[3][:1], *(value for keyword, value in call[4] if keyword == "content"))
    return any(one[0] == m.CALL and last_name(one[2]) == name for one in given)
