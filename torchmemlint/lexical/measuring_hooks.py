"""Hooks that a function puts on the parts of a model in order to measure it, and leaves there when it has the numbers:
each call of it puts on another set, and the passes run all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import MODULE_PARTS
from ..facts.model import Expr, FileFacts, FunctionFacts, Site
from ..facts.walk import calls, heads, last_name, nodes, statements, with_tests

_TABLES = frozenset(("_forward_hooks", "_forward_pre_hooks", "_backward_hooks"))
_ASKS = frozenset(("hasattr", "getattr"))  # whether it is there already


class Measuring(NamedTuple):
    site: Site  # where a hook is put on
    function: str
    model: str


def measuring_hooks(facts: FileFacts) -> Iterator[Measuring]:
    """`model.apply(add_hooks)`, `model(x)`, `return total`, where nothing in the file takes a hook out."""
    if not any(one.flags & m.HOOKS for one in facts.functions) or _takes_out(facts):
        return
    for function in facts.functions:
        if function.flags & m.BACKWARD or function.name == "__init__":
            continue
        model = _measured(function)
        for site in _put_on(facts, function, model) if model else ():
            yield Measuring(site, function.name, model)


def _takes_out(facts: FileFacts) -> bool:
    """Whether the file calls `remove` of anything, or goes to the tables where modules keep their hooks."""
    if any("remove" in called for function in facts.functions for called in function.calls):
        return True
    every = (head for function in facts.functions for one in statements(function.body) for head in heads(one))
    return any(node[0] == m.ATTR and node[2] in _TABLES for head in every for node in nodes(head))


def _measured(function: FunctionFacts) -> str:
    """The parameter that a function calls itself, if it does not give it back."""
    given = {param.name for param in function.params if not param.kind} - {"self", "cls"}
    run = {call[2][1] for call in calls(function.body) if call[2][0] == m.NAME and call[2][1] in given}
    returned = [one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None]
    whole = [*returned, *(part for value in returned if value[0] == m.NEW for part in value[3])]
    back = {value[1] for value in whole if value[0] == m.NAME}
    return next(iter(sorted(run - back)), "") if returned else ""


def _put_on(facts: FileFacts, function: FunctionFacts, model: str) -> Iterator[Site]:
    for loop in statements(function.body):
        if loop[0] == m.FOR and any(_is_asked(call, model, MODULE_PARTS) for call in nodes(loop[3])):
            items = {part for part in nodes(loop[2]) if part[0] == m.NAME}
            yield from _registered(loop[4], items)
    applied = {call[3][0] for call in calls(function.body) if _is_asked(call, model, ("apply",)) and call[3]}
    for index in function.inner:
        inner = facts.functions[index]
        if (m.NAME, inner.name) in applied and inner.params:
            yield from _registered(inner.body, {(m.NAME, inner.params[0].name)})


def _is_asked(expr: Expr, model: str, names: frozenset[str] | tuple[str, ...]) -> bool:
    return expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2] in names and expr[2][1] == (m.NAME, model)


def _registered(block: tuple[m.Stmt, ...], modules: set[Expr]) -> Iterator[Site]:
    """Hooks on one of these whose handles are dropped."""
    for statement, tests in with_tests(block):
        call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else ()
        if not call or call[2][0] != m.ATTR or call[2][1] not in modules:
            continue
        name = call[2][2]
        asked = any(last_name(node) in _ASKS for test in tests for node in nodes(test) if node[0] == m.CALL)
        if name.startswith("register_") and name.endswith("forward_hook") and not asked:
            yield call[1]
