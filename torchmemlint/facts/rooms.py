"""Tests of sizes: whether there is room for more, and of which place they ask."""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr, FunctionFacts, Site
from .walk import last_name, loops, nodes


def sized(comparison: Expr) -> Iterator[Expr]:
    """The places whose size is compared: `len(self.rows)`, `self.table.size(1)`."""
    for side in (comparison[2], comparison[3]):
        if side[0] == m.CALL and side[2] == (m.NAME, "len") and side[3]:
            yield side[3][0]
        elif side[0] == m.CALL and side[2][0] == m.ATTR and side[2][2] == "size":
            yield side[2][1]


def waived(test: Expr) -> list[Expr]:
    """`if len(self.best) < k or score > worst: ...`: the tests for room that something else makes up for. They are no
    bound. Whether there is a limit, `k is None`, or nothing yet, `not self.best`, is no such thing."""
    if test[0] != m.BOOL or test[1] != "or":
        return []
    others = [one for one in test[2] if _room(one) is None and one[0] != m.NOT]
    rooms = [(one, limit) for one in test[2] if (limit := _room(one)) is not None]
    return [one for one, limit in rooms if others and not any(limit in nodes(other) for other in others)]


def _room(test: Expr) -> Expr | None:
    """The limit of `len(self.best) < k`, `k > len(self.best)`; None if a test does not ask for room."""
    if test[0] != m.COMPARE or not test[1].startswith(("LessThan", "GreaterThan")):
        return None
    filled, limit = test[2:4] if test[1].startswith("LessThan") else test[3:1:-1]
    return tuple(limit) if is_length(filled) else None


def other_lengths(test: Expr, name: str) -> set[str]:
    """`len(other) > limit`: the places whose length a test asks for, if it is not about the named one."""
    if asks_of(test, name):
        return set()
    lengths = (node for node in nodes(test) if is_length(node))
    return {last_name(length[3][0]) for length in lengths} - {""}


def tests_of_loops(function: FunctionFacts) -> dict[Site, tuple[Expr, ...]]:
    """By statement: the tests of the loops around it, `while self.limit and len(self.rows) > self.limit`."""
    found: dict[Site, tuple[Expr, ...]] = {}
    for loop, inside in loops(function.body):
        if loop[0] == m.WHILE:
            for one in inside:
                found[one[1]] = (*found.get(one[1], ()), loop[2])
    return found


def is_length(node: Expr) -> bool:
    return bool(node[0] == m.CALL and node[2] == (m.NAME, "len") and node[3])


def asks_of(test: Expr, name: str) -> bool:
    """Whether a test may be about the size of a place: more than whether there is anything, or a key, in it."""
    if test[0] == m.BOOL:
        return any(asks_of(operand, name) for operand in test[2])
    if test[0] == m.NOT:
        return asks_of(test[1], name)
    if test[0] in (m.NAME, m.ATTR):
        return False
    parts = test[2:3] if test[0] == m.COMPARE and test[1] in ("In", "NotIn") else (test,)
    return any(node[0] in (m.NAME, m.ATTR) and node[-1] == name for part in parts for node in nodes(part))
