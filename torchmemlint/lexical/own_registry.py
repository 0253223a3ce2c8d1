"""Objects that put themselves into a registry of their own: `self._handlers[event].append((handler, (self, *args)))`.

The circle may also go through a function that refers to the object:
`self._handlers[event].append(self._wrap(handler))`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site
from ..facts.program import targets
from ..facts.walk import calls_of, expressions_of, last_name, nodes, statements

_SELF = (m.NAME, "self")
_ADDS = ("append", "add", "insert", "appendleft", "setdefault")
_HEAVY = frozenset(
    """model models net network optimizer batch batches output outputs dataloader data_loader loader features
    activations hidden hidden_states embeddings frames cache kv_cache""".split()
)


class OwnEntry(NamedTuple):
    """Where an object, or a function that refers to it, is made an entry of its own registry."""

    site: Site
    registry: str
    cls: str
    function: bool  # by way of a function


def own_entries(facts: FileFacts) -> Iterator[OwnEntry]:
    """Of classes whose objects keep models, batches or results."""
    heavy: dict[int, bool] = {}
    for function in facts.functions:
        if function.owner < 0 or not function.flags & (m.GROWS | m.KEEPS):
            continue
        cls = facts.classes[function.owner]
        for site, registry, value in _entries(function):
            if not heavy.setdefault(function.owner, _keeps_heavy(facts, cls)):
                break
            if has_self(value):
                yield OwnEntry(site, registry, cls.name, False)
                continue
            made = _makes_a_function(facts, cls, function, value, site)
            if made >= 0:
                yield OwnEntry(made, registry, cls.name, True)


def _entries(function: FunctionFacts) -> Iterator[tuple[Site, str, Expr]]:
    """What a method puts into containers of its object: where, which, and what."""
    for statement in statements(function.body):
        for target in targets(statement) if statement[0] == m.ASSIGN else ():
            if target[0] == m.ITEM and _attribute(target[1]):
                yield statement[1], _attribute(target[1]), statement[3]
        for call in calls_of(statement):
            adds = call[2][0] == m.ATTR and call[2][2] in _ADDS and call[3]
            if adds and _attribute(call[2][1]):
                yield statement[1], _attribute(call[2][1]), call[3][-1]


def _attribute(place: Expr) -> str:
    """`handlers` of `self.handlers` and `self.handlers[event]`."""
    while place[0] == m.ITEM:
        place = place[1]
    return str(place[2]) if place[0] == m.ATTR and place[1] == _SELF else ""


def has_self(value: Expr) -> bool:
    """Whether a value is the object, or has it in a tuple, a dict or a partial."""
    if value[0] == m.NEW:
        return any(has_self(part) for part in value[3])
    if value[0] == m.DICT:
        return any(has_self(part) for _, part in value[2])
    if value[0] == m.ARITH:
        return has_self(value[2]) or has_self(value[3])
    if value[0] == m.CALL and last_name(value[2]) == "partial":
        return any(has_self(part) for part in value[3])
    return value == _SELF


def _makes_a_function(facts: FileFacts, cls: ClassFacts, function: FunctionFacts, value: Expr, site: Site) -> Site:
    """Where an entry, or a part of it, becomes a function that a method of the class makes and that refers to the
    object; -1 if it does not."""
    for part in value[3] if value[0] == m.NEW and value[2] == "tuple" else (value,):
        bound = [(part, site)]
        if part[0] == m.NAME:
            every = (one for one in statements(function.body) if one[0] == m.ASSIGN and part in one[2])
            bound = [(one[3], one[1]) for one in every]
        for made, at in bound:
            own = made[0] == m.CALL and made[2][0] == m.ATTR and made[2][1] == _SELF
            method = cls.methods.get(made[2][2]) if own else None
            if method is not None and _returns_a_closure(facts, facts.functions[method]):
                return at
    return -1


def _returns_a_closure(facts: FileFacts, method: FunctionFacts) -> bool:
    """Whether a method returns a function defined in it that refers to the object."""
    inner = {facts.functions[index].name: facts.functions[index] for index in method.inner}
    returned = (one[2] for one in statements(method.body) if one[0] == m.RETURN and one[2] is not None)
    named = (inner[value[1]] for value in returned if value[0] == m.NAME and value[1] in inner)
    return any(
        node == _SELF for one in named for statement in statements(one.body) for node in expressions_of(statement)
    )  # fmt: skip


def _keeps_heavy(facts: FileFacts, cls: ClassFacts) -> bool:
    """Whether methods bind attributes of the object, or of its parts, that are called models, batches or results."""
    return any(
        target[0] == m.ATTR and target[2].strip("_").lower() in _HEAVY and _SELF in nodes(target)
        for index in cls.methods.values()
        for statement in statements(facts.functions[index].body)
        for target in targets(statement)
    )
