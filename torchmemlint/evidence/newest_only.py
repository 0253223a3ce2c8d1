"""Lists that get an entry with each pass, and of which nobody asks for more than the newest: what hooks have seen,
`self.seen.append(output)` and `return self.seen[-1]`. A list that is gone through in the end is there to be filled."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FileFacts, Stmt
from ..facts.program import targets
from ..facts.walk import expressions_of, statements


def asks_for_the_newest(facts: FileFacts, name: str) -> bool:
    """Whether a file reads the last entries of what goes by a name, and does nothing else with it but add to it and ask
    for its length."""
    asked = False
    for function in facts.functions:
        for statement in statements(function.body):
            if any(_is(target, name) for target in targets(statement)):
                continue  # made here
            places = [node for node in expressions_of(statement) if _is(node, name)]
            if not places:
                continue
            read = sum(_is_from_the_end(node, name) for node in expressions_of(statement))
            if len(places) != read + sum(1 for _ in _plain_uses(statement, name)):
                return False
            asked = asked or read > 0
    return asked


def _plain_uses(statement: Stmt, name: str) -> Iterator[Expr]:
    """`seen.append(x)`, `len(seen)`"""
    for node in expressions_of(statement):
        if node[0] == m.CALL:
            callee = node[2]
            adds = callee[0] == m.ATTR and callee[2] == "append" and _is(callee[1], name)
            if adds or (callee == (m.NAME, "len") and len(node[3]) == 1 and _is(node[3][0], name)):
                yield node


def _is(node: Expr, name: str) -> bool:
    return bool(node[0] in (m.NAME, m.ATTR) and node[-1] == name)


def _is_from_the_end(node: Expr, name: str) -> bool:
    """`seen[-1]`"""
    if node[0] != m.ITEM or not _is(node[1], name) or node[2][0] != m.CONST:
        return False
    return type(node[2][1]) is int and node[2][1] < 0
