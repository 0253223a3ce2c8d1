"""Entries that a generator takes out of the tables of its object only after its last `yield`.

`self.tokens[key] = []`, and after the loop that yields `self.tokens.pop(key)`: whoever stops the iteration early closes
the generator where it stands, and the entry stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, targets
from ..facts.walk import calls_of, expressions_of, last_name, nodes, statements
from ..facts.ways import lets_go, taken

_SELF = (m.NAME, "self")
_MADE = ("uuid1", "uuid4", "uuid7", "token_hex", "next", "random_uuid")
_LIGHT = ("time", "perf_counter", "monotonic", "len", "int", "float", "str", "bool", "Lock", "Event")
_ASKED_FOR = re.compile(r"(?:^|_)(?:request|req|session|stream|uuid|rid|task|job|call)(?:$|_)")


class GivenUp(NamedTuple):
    """A `yield` at which an iteration that is given up leaves entries behind."""

    site: Site
    tables: tuple[str, ...]
    taken: Site


def given_up(program: Program) -> Iterator[GivenUp]:
    """Each generator once, where a loop of the file is seen to leave it early."""
    for place in program.places:
        if not place.facts.generator or not place.cls:
            continue
        body = list(statements(place.facts.body))
        out = {(table, key): one[1] for one in body for table, key in taken(one) if table[1] == _SELF}
        if not out or any(_takes(one, {table for table, _ in out}) for one in _sure(body)):
            continue
        asked = [one[1] for one in body if _yields(one)]
        left: dict[str, Site] = {}
        for (table, key), gone in out.items():
            put = min((one[1] for one in body if (m.ITEM, table, key) in targets(one)), default=gone)
            between = [site for site in asked if put < site < gone]
            kept = between and _is_new(place.facts, key) and _keeps_more(program, place, table)
            if kept and not _is_emptied_by_others(program, place, table):
                left[table[2]] = max(between)
        if left and _is_left_early(program, place.facts.name):
            yield GivenUp(min(left.values()), tuple(left), min(out.values()))


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


def _is_new(facts: FunctionFacts, key: Expr) -> bool:
    """Whether a key is made for this call, or tells what it is called for."""
    if key[0] != m.NAME:
        return False
    if any(param.name == key[1] for param in facts.params):
        return _ASKED_FOR.search(key[1]) is not None
    bound = [one[3] for one in statements(facts.body) if one[0] == m.ASSIGN and key in one[2]]
    return any(part[0] == m.CALL and last_name(part[2]) in _MADE for value in bound for part in nodes(value))


def _is_emptied_by_others(program: Program, place: Place, table: Expr) -> bool:
    others = (other for other in program.places if other.cls == place.cls and other.facts is not place.facts)
    return any(
        lets_go(one, table)
        for other in others
        if other.facts.name != "__init__"
        for one in statements(other.facts.body)
    )


def _keeps_more(program: Program, place: Place, table: Expr) -> bool:
    """Whether a table gets more than flags and times."""
    stored = (
        one[3]
        for other in program.places
        if other.cls == place.cls
        for one in statements(other.facts.body)
        if one[0] == m.ASSIGN and any(target[0] == m.ITEM and target[1] == table for target in targets(one))
    )
    return any(
        value[0] not in (m.CONST, m.COMPARE) and not (value[0] == m.CALL and last_name(value[2]) in _LIGHT)
        for value in stored
    )


def _is_left_early(program: Program, name: str) -> bool:
    """Whether a loop over the generator breaks off or returns."""
    return any(
        one[0] == m.FOR
        and any(part[0] == m.CALL and last_name(part[2]) == name for part in nodes(one[3]))
        and any(inner[0] == m.RETURN or (inner[0] == m.JUMP and inner[2]) for inner in statements(one[4]))
        for place in program.places
        if name in place.facts.calls
        for one in statements(place.facts.body)
    )
