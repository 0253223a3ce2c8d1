"""Entries of a cache that a method hands out, and whose parts it moves to the device in the entry itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.device_names import names_an_accelerator
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import calls_of, expressions_of, last_name, nodes, root_of, statements

_SELF: Expr = (m.NAME, "self")
_TAKES_OUT = frozenset("pop popitem popleft clear remove".split())
_STATES = ("state", "states", "param_groups", "parameters", "modules", "layers")  # whose place is the device


class MovedInPlace(NamedTuple):
    site: Site
    entry: str  # the name that the entry has here
    cache: str


def moved_in_place(program: Program) -> Iterator[MovedInPlace]:
    """`item = self.cached[i]`, `item["image"] = item["image"].to(self.device)`, `return item`."""
    if program.called.isdisjoint(("to", "cuda")):
        return
    for cls in program.facts.classes:
        methods = [program.facts.functions[index] for index in cls.methods.values()]
        for method in methods:
            if method.name != "__init__" and not {"to", "cuda"}.isdisjoint(method.calls):
                yield from _of_method(method, methods)


def _of_method(method: FunctionFacts, methods: list[FunctionFacts]) -> Iterator[MovedInPlace]:
    entries = _entries(method)
    returned = {part for one in statements(method.body) if one[0] == m.RETURN and one[2] for part in _parts(one[2])}
    said: set[str] = set()
    for one in statements(method.body) if entries else ():
        if one[0] != m.ASSIGN or len(one[2]) != 1:
            continue
        place = one[2][0]
        cache = entries.get(place[1]) if place[0] == m.ITEM else None
        if cache is None or place[1] not in returned or place[1][1] in said or not _is_moved(place, one[3]):
            continue
        if any(_lets_go(other, cache) for other in methods):
            continue
        said.add(place[1][1])
        yield MovedInPlace(one[1], place[1][1], f"self.{cache}")


def _entries(method: FunctionFacts) -> dict[Expr, str]:
    """The names of a method that stand for an entry of an attribute, and for nothing else."""
    bound: dict[Expr, list[Expr]] = {}
    for one in statements(method.body):
        for target in targets(one):
            for name in nodes(target):
                if name[0] == m.NAME and not (target[0] == m.ITEM and root_of(target) == name):
                    bound.setdefault(name, []).append(one[3] if one[0] == m.ASSIGN else ())
    return {name: values[0][1][2] for name, values in bound.items() if len(values) == 1 and _is_entry(values[0])}


def _is_entry(value: Expr) -> bool:
    """`self.cached[i]`: one of many."""
    if value[:1] != (m.ITEM,) or value[1][:2] != (m.ATTR, _SELF) or value[2][0] in (m.CONST, m.SLICE):
        return False
    return value[1][2] not in _STATES


def _parts(value: Expr) -> Iterator[Expr]:
    yield value
    if value[0] == m.NEW:
        yield from value[3]


def _is_moved(place: Expr, value: Expr) -> bool:
    """`item["image"].to(device)` of what is in that very place, and not back to the host."""
    if value[0] != m.CALL or value[2][0] != m.ATTR or value[2][1] != place:
        return False
    given = [*value[3], *(one for _, one in value[4])]
    if value[2][2] == "cuda":
        return True
    return (
        value[2][2] == "to"
        and bool(given)
        and any("device" in last_name(one) or names_an_accelerator(one) for one in given)
    )


def _lets_go(method: FunctionFacts, cache: str) -> bool:
    """Whether a method takes entries out of the attribute, or binds it anew."""
    place = (m.ATTR, _SELF, cache)
    for one in statements(method.body):
        if one[0] == m.DELETE and any(place in nodes(target) for target in one[2]):
            return True
        if method.name != "__init__" and any(target == place for target in targets(one)):
            return True
        if any(call[2][0] == m.ATTR and call[2][2] in _TAKES_OUT and call[2][1] == place for call in calls_of(one)):
            return True
    return any(
        last_name(node[2]) == "cpu" and place in nodes(node)
        for one in statements(method.body)
        for node in expressions_of(one)
        if node[0] == m.CALL
    )
