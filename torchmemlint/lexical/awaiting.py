"""Lists that a forward hook fills and that only a hook of the backward pass takes from.

Each pass adds an entry and each backward pass takes one: an evaluation, under `no_grad` or not, has no backward pass,
and leaves its entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site
from ..facts.program import Program, expressions, targets
from ..facts.walk import calls, calls_of, last_name, nodes, statements, with_tests

_FORWARD = ("register_forward_hook", "register_forward_pre_hook")
_BACKWARD = (
    "register_full_backward_hook",
    "register_backward_hook",
    "register_full_backward_pre_hook",
    "register_hook",
)
_ADDS = ("append", "appendleft", "extend", "insert")
_TAKES = ("pop", "popleft", "clear")
_OF_KEYS = ("setdefault", "get")
_COPIES = ("detach", "clone", "cpu", "to", "contiguous", "float", "half", "data")
_ASKS = ("is_grad_enabled", "requires_grad", "grad_fn")


class Awaiting(NamedTuple):
    site: Site
    place: str  # the name of the list


def never_taken(program: Program) -> Iterator[Awaiting]:
    """Where forward hooks put tensors into a list that is only emptied by backward hooks."""
    called, facts = program.called, program.facts
    if called.isdisjoint(_FORWARD) or called.isdisjoint(_BACKWARD) or called.isdisjoint(_ADDS):
        return
    backward = _with_helpers(facts, _registered(facts, _BACKWARD))
    hooks = {index for index in _registered(facts, _FORWARD) if not _asks_for_gradients(facts.functions[index])}
    for index in sorted(_with_helpers(facts, hooks) - backward):
        for site, place in _filled(facts.functions[index]):
            if place and _only_taken_by(facts, place, backward) and not _has_room_for_few(facts, place):
                yield Awaiting(site, str(place[-1]))


def _only_taken_by(facts: FileFacts, place: Expr, backward: set[int]) -> bool:
    """Whether hooks of the backward pass take from a list, and nothing else does or makes it anew for a step."""
    living = [(index, function) for index, function in enumerate(facts.functions) if not _ends(facts, function)]
    takers = {index for index, function in living if _takes(function, place)}
    remade = any(_sets(function, place) for _, function in living if not set(function.calls) & {*_FORWARD})
    return bool(takers) and takers <= backward and not remade


def _registered(facts: FileFacts, ways: tuple[str, ...]) -> set[int]:
    """The functions that are registered as hooks, by themselves, in a partial or in a lambda."""
    parts = [
        part
        for function in facts.functions
        for call in calls(function.body)
        if last_name(call[2]) in ways
        for given in (*call[3], *(value for _, value in call[4]))
        for body in _bodies(facts, given)
        for part in nodes(body)
    ]
    names = {last_name(part) for part in parts if part[0] in (m.NAME, m.ATTR)}
    lambdas = {part[1] for part in parts if part[0] == m.LAMBDA}
    return lambdas | {index for index, function in enumerate(facts.functions) if function.name in names}


def _with_helpers(facts: FileFacts, hooks: set[int]) -> set[int]:
    """Hooks, and the functions that nothing but hooks and their helpers call."""
    found = set(hooks)
    for _ in range(2):
        inside, outside = set[str](), set[str]()
        for index, function in enumerate(facts.functions):
            (inside if index in found else outside).update(function.calls)
        found |= {index for index, function in enumerate(facts.functions) if function.name in inside - outside}
    return found


def _ends(facts: FileFacts, function: FunctionFacts) -> bool:
    """Whether a function takes the hooks out again: what it clears was there until then, unless who made the object
    calls it after a pass or two."""
    if "remove" not in function.calls:
        return False
    made = facts.classes[function.owner].name if function.owner >= 0 else ""
    return not any(
        {made, function.name} <= set(user.calls)
        and not any(one[0] in (m.FOR, m.WHILE) for one in statements(user.body))
        for user in facts.functions[1:]
    )


def _bodies(facts: FileFacts, given: Expr) -> Iterator[Expr]:
    yield given
    for part in nodes(given):
        if part[0] == m.LAMBDA:
            yield from expressions(facts.functions[part[1]].body)


def _asks_for_gradients(function: FunctionFacts) -> bool:
    """Whether a hook looks whether there will be a backward pass."""
    return any(
        (expr[0] == m.ATTR and expr[2] in _ASKS) or (expr[0] == m.CALL and last_name(expr[2]) in _ASKS[:1])
        for expr in expressions(function.body)
    )


def _list(expr: Expr) -> Expr:
    """`inputs` of `self.inputs[key]`, told apart from a variable of that name."""
    while expr[0] == m.ITEM or (expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2] in _OF_KEYS):
        expr = expr[1] if expr[0] == m.ITEM else expr[2][1]
    return (expr[0], expr[-1]) if expr[0] in (m.ATTR, m.NAME) else ()


def _filled(hook: FunctionFacts) -> Iterator[tuple[Site, Expr]]:
    """Where a hook adds what it was given, or copies of it, to a list."""
    given = {param.name for param in hook.params if param.name not in ("self", "cls")}
    layers = {param.name for param in hook.params if param.name in ("module", "layer", "mod", "m", "name", "key")}
    tensors = given - layers
    for statement in statements(hook.body):
        if statement[0] == m.ASSIGN and _is_tensor(tensors, statement[3]):
            tensors |= {target[1] for target in targets(statement) if target[0] == m.NAME}
        for call in calls_of(statement):
            if call[2][0] == m.ATTR and call[2][2] in _ADDS and call[3] and _is_tensor(tensors, call[3][-1]):
                yield statement[1], _list(call[2][1])
        if statement[0] == m.AUGMENT and statement[4][0] == m.NEW and _is_tensor(tensors, statement[4]):
            yield statement[1], _list(statement[2])


def _is_tensor(given: set[str], value: Expr) -> bool:
    """`args[0].detach()`, `output`, `(args[0], output)`; not `output.shape`."""
    if value[0] == m.NEW:
        return any(_is_tensor(given, part) for part in value[3])
    while value[0] == m.ITEM or value[0] in (m.CALL, m.ATTR):
        if value[0] == m.ITEM:
            value = value[1]
        elif value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _COPIES:
            value = value[2][1]
        elif value[0] == m.ATTR and value[2] in _COPIES:
            value = value[1]
        else:
            return False
    return bool(value[0] == m.NAME and value[1] in given)


def _takes(function: FunctionFacts, place: Expr) -> bool:
    """Whether a function takes something out of a list."""
    for statement in statements(function.body):
        if statement[0] == m.DELETE and any(t[0] == m.ITEM and _list(t) == place for t in statement[2]):
            return True
        if any(c[2][0] == m.ATTR and c[2][2] in _TAKES and _list(c[2][1]) == place for c in calls_of(statement)):
            return True
    return False


def _sets(function: FunctionFacts, place: Expr) -> bool:
    """Whether a function makes a list anew, without asking whether there is one."""
    return any(
        statement[0] == m.ASSIGN
        and not any(_list(node) == place or node == (m.CONST, place[-1]) for test in tests for node in nodes(test))
        and any(_list(target) == place for target in targets(statement))
        for statement, tests in with_tests(function.body)
        if function.name not in ("__init__", "<module>")
    )


def _has_room_for_few(facts: FileFacts, place: Expr) -> bool:
    """`deque(maxlen=1)`."""
    return any(
        statement[0] in (m.ASSIGN, m.ANNOTATE)
        and any(_list(target) == place for target in targets(statement))
        and any(key == "maxlen" for call in calls_of(statement) for key, _ in call[4])
        for function in facts.functions
        for statement in statements(function.body)
    )
