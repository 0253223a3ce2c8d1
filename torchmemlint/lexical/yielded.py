"""Buffers of an object that a generator empties only when it is asked for the next item.

`yield self.bucket[:]; self.bucket.clear()`: whoever stops the iteration at this item leaves the bucket full, and the
next pass goes on filling it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.walk import blocks, calls_of, nodes, statements

_SELF = (m.NAME, "self")
_ADDS = ("append", "extend", "add")


class Yielded(NamedTuple):
    """A buffer of an object that is handed out before it is emptied."""

    site: Site
    buffer: str
    emptied: Site


def yielded(facts: FileFacts) -> Iterator[Yielded]:
    """Buffers of data: a sampler's hold numbers."""
    for function in facts.functions:
        if function.generator and function.owner >= 0 and "Sampler" not in facts.classes[function.owner].name:
            for block in _blocks(function.body):
                for one, other in itertools.pairwise(block):
                    buffer = _emptied(other)
                    if buffer and _hands_out(one, buffer) and _fills(function, buffer):
                        attribute = _attribute(function, buffer)
                        if attribute:
                            yield Yielded(one[1], attribute, other[1])


def _blocks(block: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    yield block
    for statement in block:
        for suite in blocks(statement):
            yield from _blocks(suite)


def _emptied(statement: Stmt) -> Expr:
    """The place that a statement empties: `del x[:]`, `x.clear()`, `x = []`; () if it is none."""
    if statement[0] == m.DELETE and statement[2][0][0] == m.ITEM and statement[2][0][2][0] == m.SLICE:
        return statement[2][0][1]  # type: ignore[no-any-return]
    if statement[0] == m.ASSIGN and statement[3][0] == m.NEW and not statement[3][3]:
        return statement[2][0]  # type: ignore[no-any-return]
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] == "clear" and not call[3]:
            return call[2][1]  # type: ignore[no-any-return]
    return ()


def _hands_out(statement: Stmt, buffer: Expr) -> bool:
    hands_out = statement[0] == m.EXPR and statement[2][0] == m.YIELD and statement[2][1] is not None
    return hands_out and buffer in nodes(statement[2][1])


def _fills(function: FunctionFacts, buffer: Expr) -> bool:
    """Whether the generator itself puts the items in."""
    return any(
        call[2][0] == m.ATTR and call[2][2] in _ADDS and call[2][1] == buffer
        for statement in statements(function.body)
        for call in calls_of(statement)
    )


def _attribute(function: FunctionFacts, buffer: Expr) -> str:
    """The attribute of the object that a buffer is, or is a part of; "" if it is the generator's own, or is made anew
    where an iteration begins."""
    if buffer[0] == m.NAME:
        bound = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and buffer in one[2]]
        buffer = next((value for value in bound if value[0] in (m.ITEM, m.ATTR)), ())
    while buffer and buffer[0] == m.ITEM:
        buffer = buffer[1]
    if not buffer or buffer[0] != m.ATTR or buffer[1] != _SELF:
        return ""
    anew = any(one[0] == m.ASSIGN and buffer in one[2] for one in function.body)
    return "" if anew else str(buffer[2])
