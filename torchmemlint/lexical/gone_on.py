"""Whether anything goes on after an error: what a function leaves behind then matters only if the program does."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Stmt
from ..facts.walk import calls_of, expressions_of, last_name, statements

_PROGRAM = "main"
_SUPPRESSES = ("suppress", "raises", "assertRaises")


def goes_on_after_an_error(facts: FileFacts, function: FunctionFacts) -> bool:
    """Whether somebody who leads to a function may catch what it raises. Of a program all callers are in sight: where
    each of them is led to by `main`, and none catches anything around it, an error ends the program."""
    return goes_on_after_failing(facts, function.name)


def goes_on_after_failing(facts: FileFacts, name: str) -> bool:
    """The same of a function or a class by its name: of a `with` that is not entered."""
    names, seen = [name], {name}
    for name in names:
        if name.startswith("__"):
            return True  # called by other words
        callers = list(_callers(facts, name))
        if name != _PROGRAM and not callers:
            return True
        for caller, catches in callers:
            if catches or (caller.name == "<module>" and name != _PROGRAM):
                return True
            if caller.name not in seen and caller.name != "<module>":
                seen.add(caller.name)
                names.append(caller.name)
    return False


def _callers(facts: FileFacts, name: str) -> Iterator[tuple[FunctionFacts, bool]]:
    """The functions that mention one, and whether they catch errors there, or hand it on to somebody who might."""
    for function in facts.functions:
        caught: set[int] | None = None
        for statement in statements(function.body):
            mentioned = sum(_is(node, name) for node in expressions_of(statement))
            if mentioned:
                caught = set(_caught(function)) if caught is None else caught
                called = sum(_is(call[2], name) for call in calls_of(statement))
                yield function, statement[1] in caught or called < mentioned


def _caught(function: FunctionFacts) -> Iterator[int]:
    """The statements of a function that stand where errors are caught."""
    for one in statements(function.body):
        for inner in statements(one[2]) if one[0] == m.TRY and one[3] else _suppressed(one):
            yield inner[1]


def _suppressed(statement: Stmt) -> Iterator[Stmt]:
    if suppresses(statement):
        yield from statements(statement[3])


def suppresses(statement: Stmt) -> bool:
    """`with suppress(ValueError):`"""
    return bool(statement[0] == m.WITH) and any(last_name(context) in _SUPPRESSES for context, _ in statement[2])


def _is(node: Expr, name: str) -> bool:
    return bool(node[0] in (m.NAME, m.ATTR) and node[-1] == name)
