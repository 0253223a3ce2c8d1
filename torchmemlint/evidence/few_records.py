"""Records of a data set each of which serves many items: shards, episodes, volumes.

`which, row = divmod(index, self.per_shard)`, and then `self.shards[which]`: there are far fewer of them than items.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.emptying import BUILDERS
from ..facts.model import Expr, FunctionFacts
from ..facts.program import keyword
from ..facts.walk import calls, expressions_of, last_name, statements
from ..interpreter.values import Class, Function

_SELF = (m.NAME, "self")
_SEARCHES = frozenset("bisect bisect_left bisect_right searchsorted digitize bucketize".split())
_DEPTH = 3  # names and calls between an item's number and that of its record


def serves_many(cls: Class, attribute: str) -> bool:
    """Whether whatever takes one element of an attribute asks for it by a number that many items share."""
    methods = [one.facts for one in _methods(cls)]
    place = (m.ATTR, _SELF, attribute)
    asked = [
        (facts, part[2])
        for facts in methods
        for one in statements(facts.body)
        for part in expressions_of(one)
        if part[0] == m.ITEM and part[1] == place
    ]
    return bool(asked) and all(_is_shared(methods, facts, key, _DEPTH) for facts, key in asked)


def _methods(cls: Class) -> Iterator[Function]:
    for name, value in cls.members.items():
        if name not in BUILDERS and name != "__len__":
            yield from (atom for atom in value if type(atom) is Function)


def _is_shared(methods: list[FunctionFacts], facts: FunctionFacts, key: Expr, depth: int) -> bool:
    """Whether a key is a quotient, what was searched for among where each record begins, or the first of a pair that
    says which record and where in it."""
    if key[0] == m.ARITH:
        return bool(key[1] == "FloorDivide" and key[3][0] != m.CONST)  # `index // 5`: five captions of a picture
    if key[0] == m.CALL and len(key) == 5:
        wrapped = last_name(key[2]) == "int" and key[3]
        return last_name(key[2]) in _SEARCHES or bool(wrapped and _is_shared(methods, facts, key[3][0], depth))
    if key[0] == m.ITEM:
        return key[2] == (m.CONST, 0) and _is_pair(methods, key[1])
    if key[0] != m.NAME or not depth:
        return False
    if any(param.name == key[1] for param in facts.params):
        given = list(_given(methods, facts, key[1]))
        return bool(given) and all(_is_shared(methods, caller, value, depth - 1) for caller, value in given)
    bound = [(target, one[3]) for one in statements(facts.body) if one[0] == m.ASSIGN for target in one[2]]
    made = [(target, value) for target, value in bound if key == target or (target[0] == m.NEW and key in target[3])]
    return bool(made) and all(
        _is_pair(methods, value)
        if target[0] == m.NEW and value[0] != m.NEW
        else _is_shared(methods, facts, part, depth - 1)
        for target, value in made
        for part in (value[3][target[3].index(key)] if target[0] == m.NEW and value[0] == m.NEW else value,)
    )


def _is_pair(methods: list[FunctionFacts], value: Expr) -> bool:
    """`divmod(index, size)`, or a method of its own that does the like: `self._locate(index)`. Not the two records that
    an item is made of, `self.pairs[index]`."""
    if value[0] != m.CALL or len(value) != 5:
        return False
    own = [one for one in methods if value[2] == (m.ATTR, _SELF, one.name)]
    return last_name(value[2]) == "divmod" or any(
        last_name(call[2]) in (*_SEARCHES, "divmod") for one in own for call in calls(one.body)
    )


def _given(methods: list[FunctionFacts], facts: FunctionFacts, name: str) -> Iterator[tuple[FunctionFacts, Expr]]:
    """What the other methods call one with for a parameter."""
    place = [param.name for param in facts.params].index(name) - 1
    for caller in methods:
        for call in calls(caller.body) if facts.name in caller.calls else ():
            if call[2] == (m.ATTR, _SELF, facts.name):
                value = keyword(call, name, place)
                yield caller, (m.TEXT,) if value is None else value
