"""Tests of types in other words than `isinstance`: `type(x) is list`, `type(x).__name__ == "list"`."""

from __future__ import annotations

from collections.abc import Iterator

from . import model as m
from .model import Expr
from .walk import last_name

_SAME = {"Is": True, "Equal": True, "In": True, "IsNot": False, "NotEqual": False, "NotIn": False}


def as_isinstance(test: Expr) -> tuple[Expr, bool] | None:
    """The call of `isinstance` that a comparison stands for, and whether it is true where that is."""
    if test[1] not in _SAME or test[4:] not in ((), ((),)):
        return None
    asked, types = test[2], test[3]
    if asked[0] == m.ATTR and asked[2] == "__name__":
        asked, types = asked[1], _named(types)
    subject = _whose_type(asked)
    if subject is None or types is None or types[0] == m.CONST:
        return None
    return (m.CALL, -1, (m.NAME, "isinstance"), (subject, types), ()), _SAME[test[1]]


def _whose_type(expr: Expr) -> Expr | None:
    if expr[0] == m.ATTR and expr[2] == "__class__":
        owner: Expr = expr[1]
        return owner
    if expr[0] == m.CALL and expr[2] == (m.NAME, "type") and len(expr[3]) == 1 and not expr[4]:
        given: Expr = expr[3][0]
        return given
    return None


def _named(types: Expr) -> Expr | None:
    """The type that a text names, or those of a display of texts."""
    if types[0] == m.CONST and isinstance(types[1], str):
        return (m.NAME, types[1])
    if types[0] == m.NEW and all(item[0] == m.CONST and isinstance(item[1], str) for item in types[3]):
        return (*types[:3], tuple((m.NAME, item[1]) for item in types[3]))
    return None


def gone_through(iterated: Expr) -> Iterator[str]:
    """The names of the containers that a comprehension goes through: `args`, `(*args, *options.values())`."""
    if iterated[0] == m.NAME:
        yield iterated[1]
    elif iterated[0] == m.STAR:
        yield from gone_through(iterated[1])
    elif iterated[0] == m.NEW:
        for item in iterated[3]:
            yield from gone_through(item)
    elif iterated[0] == m.CALL and last_name(iterated) == "values" and iterated[2][0] == m.ATTR:
        yield from gone_through(iterated[2][1])
    elif iterated[0] == m.CALL and last_name(iterated) == "chain":
        for item in iterated[3]:
            yield from gone_through(item)
