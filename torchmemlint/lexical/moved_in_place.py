"""Entries of a cache that a method hands out, and whose parts it moves to the device in the entry itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.device_names import names_an_accelerator
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import calls, calls_of, expressions_of, last_name, nodes, statements

_SELF: Expr = (m.NAME, "self")
_TAKES_OUT = frozenset("pop popitem popleft clear remove".split())
_MOVES = frozenset(("to", "cuda"))
_HELPERS = frozenset("to_device move_to_device send_to_device to_cuda move_to_cuda recursive_to".split())
_BACK = frozenset(("cpu", "numpy", "item", "tolist"))
_NUMBERS = (m.CONST, m.TEXT)  # also those that facts do not tell apart
_STATES = ("state", "states", "param_groups", "parameters", "modules", "layers")  # whose place is the device


class MovedInPlace(NamedTuple):
    site: Site
    entry: str  # the name that the entry has here
    cache: str
    copied: str  # how to copy it


def moved_in_place(program: Program) -> Iterator[MovedInPlace]:
    """`item = self.cached[i]`, `item["image"] = item["image"].to(self.device)`, `return item`."""
    if program.called.isdisjoint(_MOVES | _HELPERS):
        return
    movers = _MOVES | _HELPERS | {one.name for one in program.facts.functions if not _MOVES.isdisjoint(one.calls)}
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        for method in methods.values():
            if method.name != "__init__" and not movers.isdisjoint(method.calls):
                yield from _of_method(program, method, methods)


def _of_method(program: Program, method: FunctionFacts, methods: dict[str, FunctionFacts]) -> Iterator[MovedInPlace]:
    known = entries(method)
    returned = {part for one in statements(method.body) if one[0] == m.RETURN and one[2] for part in _parts(one[2])}
    walked = _walked(method)
    said: set[str] = set()
    for one in statements(method.body) if known else ():
        if one[0] != m.ASSIGN or len(one[2]) != 1 or one[2][0][0] not in (m.ITEM, m.ATTR):
            continue
        place = one[2][0]
        cache = known.get(place[1])
        if cache is None or place[1] not in returned or place[1][1] in said:
            continue
        if not _is_moved(program, methods, {place, walked.get(place, place)}, one[3]):
            continue
        if any(lets_go(other, cache) for other in methods.values()):
            continue
        said.add(place[1][1])
        yield MovedInPlace(one[1], place[1][1], f"self.{cache}", "dict" if place[0] == m.ITEM else "copy.copy")


def _walked(method: FunctionFacts) -> dict[Expr, Expr]:
    """`item[key]` -> `value`, in `for key, value in item.items():`"""
    found: dict[Expr, Expr] = {}
    for one in statements(method.body):
        if one[0] == m.FOR and one[2][0] == m.NEW and len(one[2][3]) == 2 and one[3][0] == m.CALL:
            called = one[3][2]
            if called[0] == m.ATTR and called[2] == "items":
                key, value = one[2][3]
                found[m.ITEM, called[1], key] = value
    return found


def entries(method: FunctionFacts) -> dict[Expr, str]:
    """The names of a method that stand for an entry of an attribute, and for nothing else."""
    bound: dict[Expr, list[Expr]] = {}
    for one in statements(method.body):
        for target in targets(one):
            for name in nodes(target) if target[0] not in (m.ITEM, m.ATTR) else ():
                if name[0] == m.NAME:
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


def _is_moved(program: Program, methods: dict[str, FunctionFacts], places: set[Expr], value: Expr) -> bool:
    """`item["image"].to(device).float() / 255` of what is in that very place, and not back to the host."""
    moved = False
    while value not in places:
        if value[0] == m.ARITH and value[3][0] in _NUMBERS:
            value = value[2]
        elif value[0] != m.CALL or last_name(value[2]) in _BACK:
            return False
        elif value[3] and value[3][0] in places:
            return moved or _moves_what_it_gets(program, methods, value)
        elif value[2][0] == m.ATTR:
            moved = moved or _to_the_device(value)
            value = value[2][1]
        else:
            return False
    return moved


def _to_the_device(call: Expr) -> bool:
    """`.cuda()`, `.to(self.device)`"""
    given = [*call[3], *(one for _, one in call[4])]
    named = any("device" in last_name(one) or names_an_accelerator(one) for one in given)
    return call[2][0] == m.ATTR and (call[2][2] == "cuda" or (call[2][2] == "to" and named))


def _moves_what_it_gets(program: Program, methods: dict[str, FunctionFacts], call: Expr) -> bool:
    """Whether a helper gives its argument back on the device: by its text, or by its name if nobody sees that."""
    called, name = call[2], last_name(call[2])
    if called[0] == m.ATTR and called[1] == _SELF:
        helper = methods.get(name)
    else:
        helper = next((place.facts for place in program.by_name.get(name, ()) if not place.cls), None)
    if helper is None:
        return name in _HELPERS and (m.CONST, "cpu") not in nodes(call)
    params = [one.name for one in helper.params if one.name not in ("self", "cls")]
    if not params or not _BACK.isdisjoint(helper.calls):
        return False
    return any(_to_the_device(one) and one[2][1] == (m.NAME, params[0]) for one in calls(helper.body))


def lets_go(method: FunctionFacts, cache: str) -> bool:
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
