"""Callbacks in a registry that gives an id back, where the caller drops the id: nobody can take them out again.

`canvas.connect("scroll", lambda step: show(frames, step))` as a statement of its own, in what draws again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import DELETED, emptyings
from ..facts.knowledge import TAKES_OUT
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import keyword, targets
from ..facts.walk import calls, calls_of, expressions_of, heads, in_loops, last_name, nodes, root_of, statements

_SELF = (m.NAME, "self")
_AGAIN = frozenset(
    "plot draw redraw show update refresh render step display inspect visualize visualise handle process".split()
)
_OF_CONTAINERS = frozenset("add append insert put update push set setdefault".split())
_TENSOR_METHODS = frozenset(
    """abs detach clone float half cpu cuda pow sqrt exp log sigmoid softmax tanh relu matmul mean sum amax amin squeeze
    unsqueeze permute transpose flatten reshape argmax norm""".split()
)


class Registry(NamedTuple):
    """A class that keeps what it is given under ids that it makes."""

    adds: str
    place: int  # of the callback among the arguments
    param: str
    takes_out: frozenset[str]


class DroppedId(NamedTuple):
    """Where an id is dropped."""

    site: Site
    registry: str
    takes_out: str
    kept: str  # what the callback refers to


def dropped_ids(facts: FileFacts) -> Iterator[DroppedId]:
    registries = {}
    for cls in facts.classes:
        found = _registry(facts, cls)
        if found is not None and found.adds not in _OF_CONTAINERS:
            registries[found.adds] = (cls.name, found)
    for function in facts.functions[1:] if registries else ():
        for statement, looped in in_loops(function.body):
            call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
            name, registry = registries.get(last_name(call[2]) if call is not None else "", ("", None))
            if call is None or registry is None or not _is_older(function, call[2]):
                continue
            again = looped or not _AGAIN.isdisjoint(function.name.lower().split("_"))
            kept = _kept(facts, function, keyword(call, registry.param, registry.place))
            if not again or not kept or _removes_others(facts, registry):
                continue
            if not _is_new_each_time(facts, function, root_of(call[2])):
                yield DroppedId(statement[1], name, min(registry.takes_out), kept)


def _registry(facts: FileFacts, cls: ClassFacts) -> Registry | None:
    """A class with a method that returns the key which it puts an argument under, and others that take a key."""
    methods = [facts.functions[index] for index in cls.methods.values()]
    for method in methods:
        returned = [one[2] for one in statements(method.body) if one[0] == m.RETURN and one[2] is not None]
        params = [param.name for param in method.params]
        for table, key, value in _puts(method):
            if returned != [key] or key[1] in params or value[0] != m.NAME or value[1] not in params[1:]:
                continue
            takers = _takers(methods, table)
            if takers and not _is_emptied(facts, methods, table):
                return Registry(method.name, params.index(value[1]) - 1, value[1], takers)
    return None


def _puts(method: FunctionFacts) -> Iterator[tuple[Expr, Expr, Expr]]:
    """`self.table[key] = value`, `self.table[kind][key] = value`, where the key is a name."""
    for statement in statements(method.body):
        for target in targets(statement) if statement[0] == m.ASSIGN else ():
            if target[0] == m.ITEM and target[2][0] == m.NAME:
                table: Expr = target[1][1] if target[1][0] == m.ITEM else target[1]
                if table[0] == m.ATTR and table[1] == _SELF:
                    yield table, target[2], statement[3]


def _takers(methods: list[FunctionFacts], table: Expr) -> frozenset[str]:
    """The methods that take out what they are given the key of; none where another one empties the table."""
    found = set[str]()
    for method in methods:
        mentions = any(table in nodes(head) for one in statements(method.body) for head in heads(one))
        if not mentions or method.name == "__init__":
            continue
        params = [param.name for param in method.params[1:]]
        for statement in statements(method.body):
            keys = [target[2] for target in (statement[2] if statement[0] == m.DELETE else ()) if target[0] == m.ITEM]
            for call in calls_of(statement):
                if call[2][0] == m.ATTR and call[2][2] in TAKES_OUT:
                    keys.append(call[3][0] if call[3] else _SELF)
            if any(key[0] != m.NAME or key[1] not in params for key in keys) or table in targets(statement):
                return frozenset()
            found |= {method.name} if keys else set()
    return frozenset(found)


def _is_emptied(facts: FileFacts, methods: list[FunctionFacts], table: Expr) -> bool:
    """Whether code outside of the class empties the table, or replaces it."""
    own = {id(method) for method in methods}
    others = (function for function in facts.functions if id(function) not in own)
    return any(one.how != DELETED for function in others for one in emptyings(function, table[2]))


def _is_older(function: FunctionFacts, callee: Expr) -> bool:
    """Whether a registry was there before a function was called: a parameter has it, or the object."""
    root = root_of(callee)
    params = {param.name for param in function.params}
    bound = any(root in targets(statement) for statement in statements(function.body))
    within = any(callee[1] in targets(statement) for statement in statements(function.body))
    return callee[0] == m.ATTR and root[0] == m.NAME and root[1] in params and not bound and not within


def _is_new_each_time(facts: FileFacts, function: FunctionFacts, owner: Expr) -> bool:
    """Whether callers make what has the registry for each call: `plot(Panel(), x)`."""
    place = [param.name for param in function.params].index(owner[1])
    for caller in facts.functions:
        if function.name not in caller.calls or owner == _SELF:
            continue
        body = list(in_loops(caller.body))
        for statement, looped in body:
            for call in calls_of(statement):
                given = keyword(call, owner[1], place) if last_name(call[2]) == function.name else None
                if given is not None and given[0] == m.NAME:
                    bound = [(one[3], inner) for one, inner in body if one[0] == m.ASSIGN and given in targets(one)]
                    given = bound[0][0] if len(bound) == 1 and bound[0][1] == looped else given
                if given is not None and given[0] == m.CALL and last_name(given[2])[:1].isupper():
                    return True
    return False


def _kept(facts: FileFacts, function: FunctionFacts, callback: Expr | None) -> str:
    """The tensor of this call that a callback, or a function that it calls, refers to; "" if there is none."""
    if callback is None or callback[0] not in (m.LAMBDA, m.NAME):
        return ""
    inner = {facts.functions[index].name: facts.functions[index] for index in function.inner}
    first = facts.functions[callback[1]] if callback[0] == m.LAMBDA else inner.get(callback[1])
    named = set[str]()
    queue, seen = [first], set[int]()
    while queue:
        one = queue.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        own = {param.name for param in one.params}
        read = {node[1] for s in statements(one.body) for node in expressions_of(s) if node[0] == m.NAME} - own
        named |= read
        queue += [inner.get(name) for name in read]
    return next((last_name(t) for s in statements(function.body) for t in _tensors(s) if t[1] in named), "")


def _tensors(statement: Stmt) -> Iterator[Expr]:
    """The names that a statement binds to what a tensor's method gives."""
    value = statement[3] if statement[0] == m.ASSIGN else None
    if value is not None and value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _TENSOR_METHODS:
        yield from (target for target in targets(statement) if target[0] == m.NAME)


def _removes_others(facts: FileFacts, registry: Registry) -> bool:
    """Whether something takes out what it has no id of from the call that put it there: all that there is."""
    places = {
        target
        for function in facts.functions
        for statement in statements(function.body)
        if statement[0] == m.ASSIGN and last_name(statement[3]) == registry.adds
        for target in targets(statement)
    }
    return any(
        call[3] and call[3][0] not in places
        for function in facts.functions
        for call in calls(function.body)
        if last_name(call[2]) in registry.takes_out and call[2][0] == m.ATTR
    )
