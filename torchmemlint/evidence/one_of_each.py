"""Loops that take one item from each of several sources: `[next(batches) for batches in iterators]` is as long as the
list of these, however often it is made; also by a helper that asks the source of a name, `self.draw(name)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import expressions
from ..facts.walk import calls, loops, nodes
from ..interpreter.events import Store
from ..interpreter.frames import Frame, Loop

_ASKS = ("next", "__next__", "get", "get_nowait", "recv")


def gains_one_of_each(store: Store) -> bool:
    """Whether every loop that adds to a place since it is there goes over sources, and asks each for an item."""
    adding = [loop for loop in store.loops if loop not in store.birth and loop.kind == "loop"]
    return bool(adding) and all(_takes_one_of_each(store.frame, loop) for loop in adding)


def _takes_one_of_each(frame: Frame, loop: Loop) -> bool:
    caller: Frame | None = frame
    while caller is not None:
        for items, asked in _rounds(caller, loop.site):
            names = {part for part in nodes(items) if part[0] == m.NAME}
            return any(_asks(call, names) or _has_asked(caller, call, names) for call in asked)
        caller = caller.caller
    return False


def _has_asked(frame: Frame, call: Expr, names: set[Expr]) -> bool:
    """`draw()`; `self.draw(name)`, of a function that asks for the next item."""
    if call[2] in names:
        return not call[3]
    inner = (one for key, one in frame.children.items() if key[0] == call[1])
    return not names.isdisjoint(call[3]) and any("next" in one.facts.calls for one in inner)


def _rounds(frame: Frame, site: Any) -> Iterator[tuple[Expr, list[Expr]]]:
    """The target of a loop or comprehension of a function, and the calls of one round."""
    body = frame.facts.body
    if type(site) is int:
        yield from ((one[2], list(calls(one[4]))) for one, _ in loops(body) if one[0] == m.FOR and one[1] == site)
        return
    for expr in (part for whole in expressions(body) for part in nodes(whole)):
        if expr[0] == m.COMP and expr[1] == site[1] and len(expr[5]) == 1:
            made = (part for value in expr[3:5] if value is not None for part in nodes(value))
            yield expr[5][0][0], [part for part in made if part[0] == m.CALL and len(part) == 5]


def _asks(call: Expr, names: set[Expr]) -> bool:
    """`next(batches)`, `next(iterators[key])`, `next(iter(loader))`, `connection.recv()`"""
    callee = call[2]
    if callee == (m.NAME, "next") and call[3]:
        source: Expr = call[3][0]
    elif callee[0] == m.ATTR and callee[2] in _ASKS:
        source = callee[1]
    else:
        return False
    if source[0] == m.CALL and source[2] == (m.NAME, "iter") and source[3]:
        source = source[3][0]
    if source[0] == m.ITEM:
        return source[2] in names
    return (source[1] if source[0] == m.ATTR else source) in names
