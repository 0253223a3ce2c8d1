"""What is set on an object that was made without its constructor, by the text alone.

`cls._instance = cls.__new__(cls)`, then `cls._instance.entries = []` or `cls._instance.set_up()`: there is nothing yet
that this could replace. It does once what a constructor does, though in a method that has another name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from . import model as m
from .model import Expr, FileFacts, Stmt, statement_of
from .walk import blocks, calls


def set_on_bare_objects(facts: FileFacts) -> frozenset[int]:
    """The numbers of the statements that bind the first attributes of such objects, where they are made or in a method
    that nobody else calls."""
    found, helpers = set[int](), Counter[str]()
    for function in facts.functions:
        if "__new__" in function.calls:
            _gather(function.body, found, helpers)
    if helpers:
        every = Counter(call[2][2] for one in facts.functions for call in calls(one.body) if call[2][0] == m.ATTR)
        alone = {name for name, times in helpers.items() if every[name] == times}
        for function in facts.functions:
            if function.name in alone and function.owner >= 0:
                found |= {statement_of(one[1]) for one in function.body if _sets_part_of(one, _SELF)}
    return frozenset(found)


_SELF: Expr = (m.NAME, "self")


def _gather(block: tuple[Stmt, ...], found: set[int], helpers: Counter[str]) -> None:
    bare = set[Expr]()  # the places that have had nothing but such an object since
    for statement in block:
        for suite in blocks(statement):
            _gather(suite, found, helpers)
        if statement[0] == m.ASSIGN and _is_bare(statement[3]):
            bare.update(statement[2])
        elif any(_sets_part_of(statement, place) for place in bare):
            found.add(statement_of(statement[1]))
        elif statement[0] == m.ASSIGN:
            bare.difference_update(statement[2])
        else:
            helpers.update(_helpers_of(statement, bare))


def _is_bare(value: Expr) -> bool:
    """`super().__new__(cls)`, `object.__new__(cls)`, `cls.__new__(cls)`"""
    return bool(value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] == "__new__")


def _sets_part_of(statement: Stmt, place: Expr) -> bool:
    """`place.entries = []`"""
    op = statement[0]
    bound = statement[2] if op == m.ASSIGN else (statement[2],) if op == m.ANNOTATE else ()
    return bool(bound) and all(target[0] == m.ATTR and target[1] == place for target in bound)


def _helpers_of(statement: Stmt, bare: set[Expr]) -> Iterator[str]:
    """`place.set_up()`"""
    call: Expr = statement[2] if statement[0] == m.EXPR else ()
    if call[:1] == (m.CALL,) and call[2][0] == m.ATTR and call[2][1] in bare:
        yield call[2][2]
