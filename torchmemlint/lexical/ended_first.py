"""Workers in a table, each of which is ended before another one takes its place."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import Block, Program, targets
from ..facts.walk import calls_of, last_name, statements
from ..interpreter.keys import FRESH, kind_of_key

_ENDS = frozenset("kill terminate close shutdown stop cancel end quit".split())
_LOOKS_UP = ("get", "pop")


def ends_before_it_replaces(program: Program, name: str) -> bool:
    """`old = self.servers[port]; old.kill(); ...; self.servers[port] = start(port)`: whatever fills the table of this
    name has ended what it had for the key. Keys that are new each time have nothing to end."""
    filled = [
        (place, one, target[2])
        for place in program.places
        for one in statements(place.facts.body)
        if one[0] == m.ASSIGN
        for target in targets(one)
        if target[0] == m.ITEM and last_name(target[1]) == name
    ]
    return bool(filled) and all(
        kind_of_key((), key) != FRESH and key in _ended(place.facts.body, name, one[1]) for place, one, key in filled
    )


def _ended(body: Block, name: str, before: int) -> Iterator[Expr]:
    """The keys of the entries that a function ends before a statement of it."""
    bound: dict[Expr, Expr] = {}  # a name to the key of the entry that it is bound to
    for one in statements(body):
        if one[1] >= before:
            return
        for call in calls_of(one):
            if call[2][0] == m.ATTR and call[2][2] in _ENDS:
                key = _key_of(call[2][1], name) or bound.get(call[2][1])
                if key is not None:
                    yield key
        if one[0] == m.ASSIGN:
            key = _key_of(one[3], name)
            bound.update({target: key for target in one[2] if key is not None})


def _key_of(entry: Expr, name: str) -> Expr | None:
    """`port` of `self.servers[port]` and of `servers.get(port)`."""
    if entry[0] == m.ITEM and last_name(entry[1]) == name:
        return entry[2]  # type: ignore[no-any-return]
    if entry[0] == m.CALL and entry[2][0] == m.ATTR and entry[2][2] in _LOOKS_UP and entry[3]:
        return entry[3][0] if last_name(entry[2][1]) == name else None
    return None
