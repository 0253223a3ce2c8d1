"""Bounds that stand beside a container: what is asked is not its length, but something that goes with it.

if len(self.names) < LIMIT:       if self.count >= LIMIT:       if self.collecting:
    self.names.append(name)           return                        self.rows.append(row)
    self.rows.append(row)         self.rows.append(row)             self.collecting = len(self.rows) < LIMIT
                                  self.count += 1
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from . import model as m
from .model import Expr, FunctionFacts, Stmt
from .walk import blocks, calls_of, heads, last_name, nodes, statements

_ADDS = ("append", "appendleft", "add", "extend", "update", "setdefault", "put", "put_nowait")
_ORDERS = ("LessThan", "GreaterThan", "Equal", "NotEqual")
_LEAVES = (m.RETURN, m.RAISE)


def bounded_beside(function: FunctionFacts, let_go: Container[str], rebound: Mapping[str, set[str]]) -> Iterator[Expr]:
    """The containers that a function fills up to a bound that is asked of something else.

    `let_go`: the places that the file empties somewhere, which then say nothing of another that is not;
    `rebound`: the functions, constructors aside, that set an attribute: a counter that starts anew.
    """

    def lasts(name: str) -> bool:
        return not rebound.get(name, set()) - {function.name}

    if any(_orders(head) for statement in statements(function.body) for head in heads(statement)):
        flags = _flags(function.body)
        for suite, tests in _guarded(function.body, ()):
            grown = [place for statement in suite for place in _grown(statement)]
            counted = {place for statement in suite for place in _counted(statement)} if grown and tests else set()
            for place in grown:
                beside = {last_name(one) for one in grown} - {last_name(place)}
                for test in tests:
                    asked = _lengths(test) & {name for name in beside if name not in let_go}
                    by_count = {name for name in _compared(test) & counted if lasts(name)}
                    by_flag = {flag for flag in flags.get(last_name(place), ()) if lasts(flag) and flag in _names(test)}
                    if asked or by_count or by_flag:
                        yield place
                        break


def _guarded(block: tuple[Stmt, ...], tests: tuple[Expr, ...]) -> Iterator[tuple[tuple[Stmt, ...], tuple[Expr, ...]]]:
    """Every suite with the tests that decide whether it runs: of the `if`s around it and of those that leave before."""
    own = tests
    for statement in block:
        inner = (*own, statement[2]) if statement[0] == m.IF else own
        for suite in blocks(statement):
            yield from _guarded(suite, inner)
        if statement[0] == m.IF and not statement[4] and statement[3][-1:] and statement[3][-1][0] in _LEAVES:
            own = (*own, statement[2])
    yield block, own


def _grown(statement: Stmt) -> Iterator[Expr]:
    """The attributes and names that a statement adds to: `self.rows.append(row)`, `self.table[key] = row`."""
    if statement[0] == m.ASSIGN:
        yield from (target[1] for target in statement[2] if target[0] == m.ITEM and target[2][0] != m.SLICE)
    elif statement[0] == m.AUGMENT and statement[4][0] in (m.NEW, m.COMP):
        yield statement[2]
    elif statement[0] == m.EXPR:
        for call in calls_of(statement):
            if call[2][0] == m.ATTR and call[2][2] in _ADDS:
                yield call[2][1]


def _counted(statement: Stmt) -> Iterator[str]:
    """The attributes that a statement adds a number to: `self.count += 1`, `self.count = self.count + 1`."""
    if statement[0] == m.AUGMENT and statement[2][0] == m.ATTR and statement[4][0] not in (m.NEW, m.COMP):
        yield statement[2][2]
    elif statement[0] == m.ASSIGN and statement[3][0] == m.ARITH:
        yield from (target[2] for target in statement[2] if target[0] == m.ATTR and target == statement[3][2])


def _flags(body: tuple[Stmt, ...]) -> dict[str, set[str]]:
    """The attributes that a function sets by the length of a container, by the container's name:
    `self.collecting = len(self.rows) < limit`, `if len(self.rows) >= limit: self.done = True`."""
    found: dict[str, set[str]] = {}
    for statement in statements(body):
        if statement[0] == m.ASSIGN:
            for name in _lengths(statement[3]):
                found.setdefault(name, set()).update(t[2] for t in statement[2] if t[0] == m.ATTR)
        elif statement[0] == m.IF:
            for name in _lengths(statement[2]):
                for one in statements(statement[3]):
                    if one[0] == m.ASSIGN and one[3][0] == m.CONST:
                        found.setdefault(name, set()).update(t[2] for t in one[2] if t[0] == m.ATTR)
    return found


def _orders(expr: Expr) -> Iterator[Expr]:
    return (node for node in nodes(expr) if node[0] == m.COMPARE and node[1].startswith(_ORDERS))


def _lengths(test: Expr) -> set[str]:
    """The containers whose length a test compares."""
    sides = (side for node in _orders(test) for side in node[2:4])
    return {last_name(side[3][0]) for side in sides if side[0] == m.CALL and side[2] == (m.NAME, "len") and side[3]} - {
        ""
    }


def _compared(test: Expr) -> set[str]:
    """The attributes that a test compares: `self.count < limit`."""
    return {side[2] for node in _orders(test) for side in node[2:4] if side[0] == m.ATTR}


def _names(test: Expr) -> set[str]:
    return {node[2] for node in nodes(test) if node[0] == m.ATTR}
