"""Weights that an object sets aside while a model has others, and still has when they are back in their place.

`store()` copies the parameters, the averaged ones go in for a validation, and `restore()` copies back: from then on,
until the next `store()`, the copy is a second set of all weights that nobody needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets
from ..facts.walk import calls, calls_of, expressions_of, last_name, nodes, statements

_SELF = (m.NAME, "self")
_COPIES = ("clone", "deepcopy")
_OF_WEIGHTS = ("parameters", "params", "named_parameters", "state_dict")
FIRST = frozenset(("__init__", "__post_init__"))
NEUTRAL = frozenset("state_dict load_state_dict __getstate__ __setstate__ to".split())  # move or save it as it is
_SET_ASIDE = ("store", "backup", "apply_shadow")
_PUT_BACK = ("restore",)


class SetAside(NamedTuple):
    """`self.stored = [p.clone() for p in parameters]`, of a class whose other method copies that back."""

    site: Site
    attribute: str
    cls: str
    taken: str  # the method that copies
    back: str  # the one that copies back


def set_aside(program: Program) -> Iterator[SetAside]:
    """Those of the classes of a file whose two methods are a pair, by their names or by who calls both."""
    if program.called.isdisjoint(_COPIES) or program.called.isdisjoint(("copy_", "load_state_dict")):
        return
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        for taken in methods.keys() - FIRST - NEUTRAL:
            for site, attribute in copies_taken(methods[taken]):
                readers = {name for name, one in methods.items() if name != taken and reads(one, attribute)}
                readers -= FIRST | NEUTRAL
                if len(readers) != 1 or is_read_outside(program, set(map(id, methods.values())), attribute):
                    continue
                back = readers.pop()
                if _puts_back(methods[back], attribute) and _are_a_pair(program, taken, back):
                    yield SetAside(site, attribute, cls.name, taken, back)


def copies_taken(method: FunctionFacts) -> Iterator[tuple[Site, str]]:
    """Where a method copies all weights into an attribute."""
    for statement in statements(method.body):
        value = statement[3] if statement[0] == m.ASSIGN else statement[4] if statement[0] == m.ANNOTATE else None
        if value is not None and _is_copy_of_all(value):
            for target in targets(statement):
                if target[0] == m.ATTR and target[1] == _SELF:
                    yield statement[1], target[2]


def _is_copy_of_all(value: Expr) -> bool:
    """`[p.clone() for p in parameters]`, `{name: p.detach().clone() for name, p in net.named_parameters()}`,
    `deepcopy(net.state_dict())`."""
    if value[0] == m.COMP:
        made, source = value[3] if value[4] is None else value[4], value[5][0][1]
    elif value[0] == m.CALL and last_name(value[2]) == "deepcopy" and value[3]:
        made, source = value, value[3][0]
    else:
        return False
    copies = any(one[0] == m.CALL and last_name(one[2]) in _COPIES for one in nodes(made))
    return copies and any(one[0] in (m.NAME, m.ATTR) and one[-1] in _OF_WEIGHTS for one in nodes(source))


def reads(method: FunctionFacts, attribute: str) -> bool:
    """Whether a method does more with an attribute than to bind it anew, or to ask whether it is there."""
    place = (m.ATTR, _SELF, attribute)
    for statement in statements(method.body):
        if statement[0] == m.IF and statement[2] in ((m.NOT, place), place):
            continue
        asked = [one for one in expressions_of(statement) if one[0] == m.COMPARE and one[1] in ("Is", "IsNot")]
        named = sum(one == place for one in expressions_of(statement))
        bound = sum(one == place for one in targets(statement)) if statement[0] in (m.ASSIGN, m.ANNOTATE) else 0
        if named > bound + sum(place in nodes(one) for one in asked):
            return True
    return False


def is_read_outside(program: Program, own: set[int], attribute: str) -> bool:
    """Whether other code of the file has to do with such an attribute of an object: `ema.stored`."""
    return any(
        one[0] == m.ATTR and one[2] == attribute
        for function in program.facts.functions
        if id(function) not in own
        for statement in statements(function.body)
        for one in expressions_of(statement)
    )


def _puts_back(method: FunctionFacts, attribute: str) -> bool:
    """`for stored, p in zip(self.stored, parameters): p.data.copy_(stored)`, `net.load_state_dict(self.stored)`,
    `p.data = self.stored[name]`."""
    place = (m.ATTR, _SELF, attribute)
    parts = {place}
    for statement in statements(method.body):
        if statement[0] == m.FOR and place in nodes(statement[3]):
            parts |= {one for target in targets(statement) for one in nodes(target) if one[0] == m.NAME}
    for statement in statements(method.body):
        for call in calls_of(statement):
            if last_name(call[2]) in ("copy_", "load_state_dict") and _has(call[3], parts):
                return True
        if statement[0] == m.ASSIGN and _has((statement[3],), parts) and any(map(_is_data, statement[2])):
            return True
    return False


def _has(values: tuple[Expr, ...], parts: set[Expr]) -> bool:
    return any(one in parts for value in values for one in nodes(value))


def _is_data(target: Expr) -> bool:
    return bool(target[0] == m.ATTR and target[2] == "data")


def _are_a_pair(program: Program, taken: str, back: str) -> bool:
    """Whether what was taken goes back before anything is taken anew: `store` and `restore`, or whoever calls the one
    calls the other before it. Around a step of a training the next one takes the copy's place at once."""
    if taken.strip("_").startswith(_SET_ASIDE) and back.strip("_").startswith(_PUT_BACK):
        return not any(_trains_between(function, taken, back) for function in program.facts.functions)
    users = [function for function in program.facts.functions if back in function.calls]
    return bool(users) and all(_calls_both(function, taken, back) for function in users)


def _calls_both(function: FunctionFacts, taken: str, back: str) -> bool:
    sites = _sites(function, taken, back)
    return bool(sites[0]) and min(sites[0]) < min(sites[1]) and not _trains_between(function, taken, back)


def _trains_between(function: FunctionFacts, taken: str, back: str) -> bool:
    if not {taken, back} <= set(function.calls):
        return False
    sites, steps = _sites(function, taken, back), [one[1] for one in calls(function.body) if _is_step(one)]
    return any(min(sites[0], default=0) < step < max(sites[1], default=0) for step in steps)


def _is_step(call: Expr) -> bool:
    return last_name(call[2]) == "backward"


def _sites(function: FunctionFacts, *names: str) -> list[list[Site]]:
    """Where the methods are called on the object of one name, as far as their names tell."""
    return [[one[1] for one in calls(function.body) if last_name(one[2]) == name] for name in names]
