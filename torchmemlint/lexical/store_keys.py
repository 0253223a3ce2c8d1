"""Tensors that go through the store of a process group under a key of their own for each round.

`store.set(f"round/{n}", packed)`: the store is a table in the memory of the process that serves it, and has no limit. A
key that is set again replaces what was there; another one each time adds to it, until somebody calls `delete_key`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets
from ..facts.walk import calls_of, expressions_of, in_loops, last_name, nodes, places_with_values, statements
from .once import SETUPS, is_repeated
from .serialized import is_serialized

_STORES = frozenset("TCPStore HashStore FileStore PrefixStore get_default_store _get_default_store".split())
_TYPES = _STORES | {"Store"}
_COUNTS = re.compile(r"(^|_)(step|round|iter|iteration|epoch|version|tick|seq|sequence|generation|update)s?(_|$)", re.I)
_OTHERS = ("uuid4", "uuid1", "time", "time_ns", "monotonic")  # what gives another text each time
_COUNTING = ("range", "trange", "count", "enumerate")
_LEVELS = 3


class StoreKey(NamedTuple):
    """A call that adds an entry to a store each time."""

    site: Site
    holder: str


def kept_in_stores(program: Program) -> Iterator[StoreKey]:
    """Where packed tensors are put under a new key again and again, and nothing in the program takes a key out."""
    named = program.imports.values()
    if "set" not in program.called or "delete_key" in program.called or not any("distributed" in one for one in named):
        return
    stores = _stores(program)
    puts = list(_puts(program, stores)) if stores else []
    if any(call[3][1][0] == m.CONST and not call[3][1][1] for _, _, _, call in puts):
        return  # an entry may be emptied
    for place, statement, looped, call in puts:
        key, value = call[3]
        if place.facts.name in SETUPS or not is_serialized(program, place, value, arrays=True):
            continue
        again = (looped and not _is_made_in(place, call[2][1])) or is_repeated(program, place)
        if again and _is_new(program, place, statement, key):
            yield StoreKey(call[1], last_name(call[2][1]))


def _puts(program: Program, stores: set[str]) -> Iterator[tuple[Place, Stmt, bool, Expr]]:
    for place in program.places:
        for statement, looped in in_loops(place.facts.body) if "set" in place.facts.calls else ():
            for call in calls_of(statement):
                put = call[2][0] == m.ATTR and call[2][2] == "set" and len(call[3]) == 2
                if put and last_name(call[2][1]) in stores:
                    yield place, statement, looped, call


def _stores(program: Program) -> set[str]:
    """The names of what the text says to be a store: what makes it, what it is annotated as, or is bound to."""
    found = {
        param.name
        for place in program.places
        for param in place.facts.params
        if param.hint is not None and any(last_name(part) in _TYPES for part in nodes(param.hint))
    }
    bindings = [
        (last_name(target), value)
        for place in program.places
        for one in statements(place.facts.body)
        if one[0] == m.ASSIGN
        for target, value in places_with_values(one)
    ]
    for _ in range(_LEVELS):
        found |= {
            name
            for name, value in bindings
            if (value[0] == m.CALL and last_name(value) in _STORES)
            or (value[0] in (m.NAME, m.ATTR) and last_name(value) in found)
        }
    return found - {""}


def _is_made_in(place: Place, store: Expr) -> bool:
    """Whether a loop of the function makes the store anew."""
    return any(looped and store in targets(one) for one, looped in in_loops(place.facts.body))


def _is_new(program: Program, place: Place, statement: Stmt, key: Expr) -> bool:
    """Whether a key is another one each time: a part of it counts, and not in a ring."""
    if key[0] == m.NAME:
        bound = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and key in one[2]]
        return len(bound) == 1 and _is_new(program, place, statement, bound[0])
    parts = list(nodes(key))
    if any(part[:2] == (m.ARITH, "Modulo") and part[2][0] != m.CONST for part in parts):
        return False
    return any(part[0] in (m.NAME, m.ATTR) and _counts(program, place, part) for part in parts) or any(
        part[0] == m.CALL and last_name(part[2]) in _OTHERS for part in parts
    )


def _counts(program: Program, place: Place, part: Expr, depth: int = _LEVELS) -> bool:
    """Whether a name or attribute is another number each time: it is counted up, or a loop's number."""
    near = program.places if part[0] == m.ATTR else (place,)
    for one in (one for other in near for one in statements(other.facts.body)):
        if one[0] == m.AUGMENT and one[2] == part:
            return True
        if one[0] == m.FOR and part in {*targets(one)} and last_name(one[3]) in _COUNTING:
            return "rank" not in last_name(part) and not _goes_over_ranks(one)
        for target, value in places_with_values(one) if one[0] == m.ASSIGN else ():
            if target == part and value[0] == m.ARITH:
                if value[1] == "Modulo":
                    return False
                if part in nodes(value):
                    return True
            if target == part and depth and value[0] in (m.NAME, m.ATTR) and _counts(program, place, value, depth - 1):
                return True
    given = part[0] == m.NAME and any(param.name == part[1] for param in place.facts.params)
    return given and _COUNTS.search(part[1]) is not None


def _goes_over_ranks(loop: Stmt) -> bool:
    return any("world" in last_name(part) or "rank" in last_name(part) for part in expressions_of(loop))
