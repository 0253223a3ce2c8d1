"""Which functions of a file let go of what an attribute or a name holds, by the text alone.

The abstract run notes the resets that it comes to; this is for what it does not come to, and for what
code that is not seen may do. It errs on the side of silence.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import model as m
from .model import Expr, FileFacts, FunctionFacts, Stmt
from .walk import calls, heads, last_name, nodes, statements

_RELEASERS = frozenset("clear pop popleft popitem remove discard get_nowait resize_ truncate trim prune".split())
_FIRST = frozenset("__init__ __post_init__ __attrs_post_init__ __new__ __setstate__ <module>".split())
_LETS_GO = ("clear", "reset", "flush", "release", "drain", "prune", "evict", "trim", "purge", "empty", "free")


class Releases:
    """By the last part of a place (`history` of `self.history`): the functions that empty or replace it,
    and those that ask for its length."""

    def __init__(self, files: Iterable[FileFacts]) -> None:
        self.released: dict[str, set[str]] = {}
        self.measured: dict[str, set[str]] = {}
        self.wholesale = False  # `setattr(self, ...)`, `self.__init__()`: any attribute may be replaced
        for facts in files:
            for function in facts.functions:
                for statement, tests in statements(function.body):
                    self._statement(function, statement, tests)

    def _note(self, place: Expr | None, function: FunctionFacts) -> None:
        name = last_name(place)
        if name:
            self.released.setdefault(name, set()).add(function.name)

    def _statement(self, function: FunctionFacts, statement: Stmt, tests: tuple[Expr, ...]) -> None:
        op = statement[0]
        if op == m.ASSIGN:
            for target in statement[2]:
                self._assigned(function, target, statement[3], tests)
        elif op == m.ANNOTATE and statement[4] is not None:
            self._assigned(function, statement[2], statement[4], tests)
        elif op == m.DELETE:
            for target in statement[2]:
                self._note(target, function)
        for call in calls(statement):
            self._call(function, call)
        for head in heads(statement):
            for node in nodes(head):
                if node[0] == m.COMPARE:
                    self._compared(function, node)
                elif node[0] == m.ATTR and node[2] in _RELEASERS:
                    self._note(node[1], function)  # called, or handed over: `add_done_callback(self.tasks.discard)`

    def _assigned(self, function: FunctionFacts, target: Expr, value: Expr, tests: tuple[Expr, ...]) -> None:
        if target[0] == m.NEW:
            for item in target[3]:
                self._assigned(function, item, (m.TEXT,), tests)
        elif target[0] == m.ITEM and target[2][0] == m.SLICE:
            self._note(target[1], function)
        elif target[0] in (m.ATTR, m.NAME) and function.name not in _FIRST:
            if target[0] == m.NAME and not _reaches_outside(function, target[1]):
                return
            if not _adds_to(target, value) and not any(_is_missing(target, test) for test in tests):
                self._note(target, function)

    def _call(self, function: FunctionFacts, call: Expr) -> None:
        callee, arguments = call[2], call[3]
        name = callee[-1] if callee[0] in (m.NAME, m.ATTR) else ""
        if name == "setattr" or (name == "__init__" and callee[0] == m.ATTR and callee[1] == (m.NAME, "self")):
            self.wholesale = self.wholesale or function.name not in _FIRST
        elif any(word in name for word in _LETS_GO):
            for place in arguments:
                self._note(place, function)

    def _compared(self, function: FunctionFacts, comparison: Expr) -> None:
        for side in (comparison[2], comparison[3]):
            if side[0] == m.CALL and side[2] == (m.NAME, "len") and side[3]:
                self.measured.setdefault(last_name(side[3][0]), set()).add(function.name)


def _reaches_outside(function: FunctionFacts, name: str) -> bool:
    return any(s[0] in (m.GLOBAL, m.NONLOCAL) and name in s[2] for s in function.body)


def _adds_to(target: Expr, value: Expr) -> bool:
    """`x = x + [y]`, `x = [*x, y]`, `x = cat([x, y])`: it grows and lets go of nothing."""
    if value[0] == m.ARITH:
        return target in (value[2], value[3])
    if value[0] == m.NEW:
        return (m.STAR, target) in value[3]
    if value[0] == m.CALL and last_name(value[2]) in ("cat", "concat", "stack", "vstack", "hstack"):
        return any(node == target for argument in value[3] for node in nodes(argument))
    return False


def _is_missing(target: Expr, test: Expr) -> bool:
    """A test for the place not being there yet: what follows makes it for the first time."""
    if test[0] == m.COMPARE and test[1] == "Is":
        return bool(test[2] == target)
    if test[0] == m.NOT:
        inner = test[1]
        return bool(inner == target) or (inner[0] == m.CALL and inner[2] == (m.NAME, "hasattr"))
    if test[0] == m.BOOL:
        return any(_is_missing(target, operand) for operand in test[2])
    return False
