"""What a function does with a list of its own beside adding to it."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import targets
from ..facts.walk import heads, nodes, statements

_ADDS = ("append", "appendleft")


def only_read_by(function: FunctionFacts, variable: Expr, reads: Callable[[Expr], bool]) -> list[Stmt]:
    """The statements that read a list in one of these ways; none if anything else is done with it than to make it, to
    add to it and to ask how long it is."""
    found: list[Stmt] = []
    for statement in statements(function.body):
        bound = statement[0] in (m.ASSIGN, m.ANNOTATE) and variable in targets(statement)
        for head in heads(statement):
            if bound and (head == variable or (head in statement[2] and head[0] == m.NEW)):
                continue  # where it is made
            every = sum(part == variable for part in nodes(head))
            read = sum(reads(part) for part in nodes(head)) if every else 0
            if every != read + sum(adds_or_asks(part, variable) for part in nodes(head)):
                return []
            if read:
                found.append(statement)
    return found


def adds_or_asks(part: Expr, variable: Expr) -> bool:
    """`rows.append(x)`, `len(rows)`"""
    if part[0] == m.ATTR:
        return bool(part[1] == variable and part[2] in _ADDS)
    return bool(part[0] == m.CALL and part[2] == (m.NAME, "len") and part[3] == (variable,))
