"""Assignments that make what a place has longer: `x = cat([x, y])`."""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr, FunctionFacts, Stmt
from .walk import last_name, nodes, statements

JOINS = frozenset("cat concat concatenate stack vstack hstack append".split())


def adds_to(target: Expr, value: Expr, body: tuple[Stmt, ...] = ()) -> bool:
    """`x = x + [y]`, `x = [*x, y]`, `x = cat([x, y])`: it grows and lets go of nothing."""
    if value[0] == m.ARITH:
        return target in (value[2], value[3])
    if value[0] == m.NEW:
        return (m.STAR, target) in value[3] or joins(target, value, body)
    return joins(target, value, body)


def joins(target: Expr, value: Expr, body: tuple[Stmt, ...] = (), depth: int = 2) -> bool:
    """`x = y if x is None else torch.cat([x, y])`, `x = (torch.cat([x[0], y]), torch.cat([x[1], z]))`. A name that
    `value` is is looked up in `body`."""
    op = value[0]
    if op == m.NEW and value[2] in ("tuple", "list"):
        parts = enumerate(value[3])
        return any(joins((m.ITEM, target, (m.CONST, place)), part, body, depth) for place, part in parts)
    if op == m.COND:
        return any(node == target for node in nodes(value[1])) and (
            joins(target, value[2], body, depth) or joins(target, value[3], body, depth)
        )
    if op == m.CALL and value[3] and last_name(value[2]) in JOINS:
        parts = value[3][0][3] if value[3][0][0] == m.NEW else value[3]
        return any(part == target or _was(target, part, body) for part in parts)
    if op == m.NAME and depth and body:
        bindings = list(_bound_to(value, body))
        cut = any(bound[0] == m.ITEM and bound[1] == value for bound in bindings)  # `seen = seen[-16:]`
        return not cut and any(joins(target, bound, body, depth - 1) for bound in bindings)
    return False


def _was(target: Expr, value: Expr, body: tuple[Stmt, ...]) -> bool:
    """Whether a name is bound to what a place has, or, of a place in a pair, to one of those: `k, v = self.past`."""
    if value[0] == m.ITEM and target[0] == m.ITEM and value[2] == target[2]:
        return target[1] in _bound_to(value[1], body)
    if value[0] != m.NAME:
        return False
    return any(
        bound == target or (target[0] == m.ITEM and bound[:1] == (m.ITEM,) and _was(target, bound, body))
        for bound in _bound_to(value, body)
    )


def _bound_to(name: Expr, body: tuple[Stmt, ...]) -> Iterator[Expr]:
    """What a name is bound to; of what is unpacked, the part: `self.past[1]` of `k, v = self.past`."""
    for one in statements(body) if name[0] == m.NAME else ():
        target: Expr = one[2][0] if one[0] == m.ASSIGN and len(one[2]) == 1 else ()
        if target == name:
            yield one[3]
        elif target[:1] == (m.NEW,) and name in target[3]:
            place, value = target[3].index(name), one[3]
            if value[0] != m.NEW:
                yield (m.ITEM, value, (m.CONST, place))
            elif len(value[3]) == len(target[3]):
                yield value[3][place]


def joining(function: FunctionFacts) -> tuple[Stmt, ...]:
    """The body of a function that joins tensors: what a name is bound to there is of interest."""
    return () if JOINS.isdisjoint(function.calls) else function.body
