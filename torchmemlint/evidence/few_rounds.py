"""Loops that leave what they go over after a few rounds, `if i == 4: break`: a sample of it, however much there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import expressions
from ..facts.walk import last_name, loops, nodes
from ..interpreter.frames import Frame, Loop

_FEW = 64
_REACHES = ("Equal", "GreaterThan", "GreaterThanEqual")


def has_few_rounds(frame: Frame, loop: Loop) -> bool:
    """Whether a loop of a function ends by its count: of its rounds, or of what it has put away."""
    caller: Frame | None = frame
    while caller is not None:
        if any(_limits(caller.facts, loop.site)):
            return ends_after_a_few(caller.facts, loop.site)
        caller = caller.caller
    return False


def ends_after_a_few(function: FunctionFacts, site: Any) -> bool:
    """Likewise, of the loop or comprehension at a site of a function."""
    return any(_is_small(function, limit) for limit in _limits(function, site))


def _limits(function: FunctionFacts, site: Any) -> Iterator[Expr]:
    """`if i == limit: break`, `if len(rows) >= limit: return rows`; `islice(loader, limit)`"""
    if type(site) is int:
        found = [one for one, _ in loops(function.body) if one[0] == m.FOR and one[1] == site]
        gone_over = [one[3] for one in found]
    else:
        comps = (part for expr in expressions(function.body) for part in nodes(expr) if part[0] == m.COMP)
        found, gone_over = [], [iterable for comp in comps if comp[1] == site[1] for _, iterable, _ in comp[5]]
    yield from (over[3][1] for over in gone_over if over[0] == m.CALL and last_name(over) == "islice" and over[3][1:2])
    for one in (one for loop in found for one in loop[4]):
        if one[0] == m.IF and one[3] and _leaves(one[3][-1]) and one[2][0] == m.COMPARE and not one[2][4]:
            counts = one[2][2][0] == m.NAME or (one[2][2][0] == m.CALL and last_name(one[2][2]) == "len")
            if counts and one[2][1] in _REACHES:
                yield one[2][3]


def _leaves(statement: Stmt) -> bool:
    return statement[0] == m.RETURN or (statement[0] == m.JUMP and bool(statement[2]))


def _is_small(function: FunctionFacts, limit: Expr) -> bool:
    """Whether a limit is a small number, also as what a parameter is unless somebody says otherwise."""
    if limit[0] == m.NAME:
        defaults = (param.default for param in function.params if param.name == limit[1])
        limit = next((value for value in defaults if value is not None), limit)
    return limit[0] == m.CONST and type(limit[1]) is int and 0 < limit[1] <= _FEW
