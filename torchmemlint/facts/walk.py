"""Going through the facts of a function as text: statements with what they stand in, expressions."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, Final, TypeVar

from . import model as m
from .model import Expr, Site, Stmt

K = TypeVar("K")
T = TypeVar("T")

_IN_STATEMENT = m.CALLS_PER_STATEMENT - 1
_site = itemgetter(1)
_KEPT = 8192
_COMPOUND = frozenset((m.FOR, m.WHILE, m.IF, m.WITH, m.TRY))


def once(work: Callable[[K], T]) -> Callable[[K], T]:
    """Does it once for each block or function, of the last thousands: dozens of questions are put to the same ones.
    They are told apart by identity, for to compare or hash one is as long as to go through it."""
    known: dict[int, tuple[K, T]] = {}

    def look_up(facts: K) -> T:
        found = known.get(id(facts))
        if found is None:
            if len(known) >= _KEPT:
                known.clear()
            found = known[id(facts)] = facts, work(facts)  # keeps the facts, so that their identity stays their own
        return found[1]

    return look_up


ALWAYS: Final = ((m.CONST, True), (m.CONST, 1))  # tests of loops that go on until something leaves them


def blocks(statement: Stmt) -> Iterator[tuple[Stmt, ...]]:
    """The suites of a compound statement."""
    op = statement[0]
    if op == m.FOR:
        yield from statement[4:6]
    elif op in (m.WHILE, m.IF):
        yield from statement[3:5]
    elif op == m.WITH:
        yield statement[3]
    elif op == m.TRY:
        yield statement[2]
        yield from (handler[2] for handler in statement[3])
        yield from statement[4:6]


def heads(statement: Stmt) -> list[Expr]:
    """The expressions that stand in a statement itself, not in its suites."""
    op = statement[0]
    if op == m.FOR:
        parts: Any = statement[2:4]
    elif op in (m.WHILE, m.IF):
        parts = statement[2:3]
    elif op == m.WITH:
        parts = [part for item in statement[2] for part in item]
    elif op == m.TRY:
        parts = [handler[0] for handler in statement[3]]
    elif op in (m.DEF, m.CLASS, m.IMPORT, m.FROM, m.GLOBAL, m.NONLOCAL, m.JUMP):
        parts = ()
    elif op in (m.ASSIGN, m.DELETE):
        parts = [*statement[2], *statement[3:]]
    elif op == m.AUGMENT or op == m.ANNOTATE:
        parts = (statement[2], statement[4])
    else:
        parts = statement[2:]
    return [part for part in parts if part is not None]


def statements(block: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of a block and of the suites in it, as they are written, without those of functions and classes
    inside."""
    return iter(_statements(block))


def _flattened(block: tuple[Stmt, ...], found: list[Stmt]) -> list[Stmt]:
    for statement in block:
        found.append(statement)
        if statement[0] in _COMPOUND:
            for suite in blocks(statement):
                _flattened(suite, found)
    return found


@once
def _statements(block: tuple[Stmt, ...]) -> list[Stmt]:
    return _flattened(block, [])


@once
def _calls(block: tuple[Stmt, ...]) -> list[Expr]:
    return [call for statement in _statements(block) for call in _calls_of(statement)]


def with_tests(block: tuple[Stmt, ...], tests: tuple[Expr, ...] = ()) -> Iterator[tuple[Stmt, tuple[Expr, ...]]]:
    """The same, each with the tests of the `if`s that it stands in."""
    for statement in block:
        yield statement, tests
        inner = (*tests, statement[2]) if statement[0] == m.IF else tests
        for suite in blocks(statement):
            yield from with_tests(suite, inner)


def with_conditions(
    block: tuple[Stmt, ...], literals: tuple[tuple[Expr, bool], ...] = ()
) -> Iterator[tuple[Stmt, tuple[tuple[Expr, bool], ...]]]:
    """The same, each with the conditions that hold where it stands, or do not: also after a branch that has left."""
    for statement in block:
        yield statement, literals
        if statement[0] == m.IF:
            yield from with_conditions(statement[3], (*literals, (statement[2], True)))
            yield from with_conditions(statement[4], (*literals, (statement[2], False)))
            if statement[3] and statement[3][-1][0] in m.LEAVES and not statement[4]:
                literals = (*literals, (statement[2], False))
        else:
            for suite in blocks(statement):
                yield from with_conditions(suite, literals)


def in_loops(block: tuple[Stmt, ...], looped: bool = False) -> Iterator[tuple[Stmt, bool]]:
    """Every statement of a block, with whether it runs in each round of a loop."""
    for statement in block:
        yield statement, looped
        for number, suite in enumerate(blocks(statement)):
            yield from in_loops(suite, looped or (statement[0] in (m.FOR, m.WHILE) and number == 0))


def loops(block: tuple[Stmt, ...]) -> list[tuple[Stmt, list[Stmt]]]:
    """Every loop with all the statements in it, the innermost first. Not to be changed."""
    return _loops(block)


def _looped(block: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, list[Stmt]]]:
    for statement in block:
        if statement[0] in _COMPOUND:
            for suite in blocks(statement):
                yield from _looped(suite)
            if statement[0] in (m.FOR, m.WHILE):
                yield statement, _statements(next(blocks(statement)))


@once
def _loops(block: tuple[Stmt, ...]) -> list[tuple[Stmt, list[Stmt]]]:
    return list(_looped(block))


def nodes(expr: Expr) -> Iterator[Expr]:
    """An expression and all that it is made of."""
    stack: list[Any] = [expr] if expr and type(expr) is tuple else []
    while stack:
        node = stack.pop()
        if type(node[0]) is int:
            yield node
        for part in node:
            if part and type(part) is tuple:
                stack.append(part)


@once
def expressions_of(statement: Stmt) -> list[Expr]:
    """The expressions that stand in a statement itself, each with all that it is made of. Not to be changed."""
    return [node for head in heads(statement) for node in nodes(head)]


def calls_of(statement: Stmt) -> Iterator[Expr]:
    """The calls in a statement itself."""
    return iter(_calls_of(statement))


@once
def _calls_of(statement: Stmt) -> list[Expr]:
    found: list[Expr] = []
    stack: list[Any] = [head for head in heads(statement) if type(head) is tuple][::-1]
    while stack:
        node = stack.pop()
        if node[0] == m.CALL and len(node) == 5:
            found.append(node)
        for part in node:
            if part and type(part) is tuple:
                stack.append(part)
    return found


def calls(block: tuple[Stmt, ...]) -> Iterator[Expr]:
    """Every call in a block."""
    return iter(_calls(block))


def call_at(block: tuple[Stmt, ...], site: Site) -> Expr | None:
    """The call in a block that has this site. Statements are numbered as they are written, so that suites which end
    before it or begin after it need no look; but for calls in an `except` itself, which come with the one before."""
    inside: tuple[Stmt, ...] = block
    while inside:
        index = bisect.bisect_right(inside, site | _IN_STATEMENT, key=_site) - 1
        if index < 0:
            break
        if inside[index][1] | _IN_STATEMENT == site | _IN_STATEMENT:
            found = next((call for call in calls_of(inside[index]) if call[1] == site), None)
            if found is not None:
                return found
            break
        inside = next((suite for suite in reversed([*blocks(inside[index])]) if suite and suite[0][1] <= site), ())
    return next((call for call in calls(block) if call[1] == site), None)


def last_name(expr: Expr | None) -> str:
    """`history` of `self.history`, `history`, `history[key]` and `history()`."""
    while expr is not None and expr[0] in (m.ITEM, m.CALL):
        expr = expr[1] if expr[0] == m.ITEM else expr[2]
    return str(expr[-1]) if expr is not None and expr[0] in (m.ATTR, m.NAME) else ""


def is_count(iterated: Expr) -> bool:
    """`range(n)`: a loop over it goes over numbers, as often as is known before."""
    return bool(iterated[0] == m.CALL and last_name(iterated) in ("range", "trange"))


def places_with_values(assignment: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """What each place gets: `self.seen, self.keeps = [], False`."""
    value = assignment[3]
    for target in assignment[2]:
        if target[0] == value[0] == m.NEW and len(target[3]) == len(value[3]):
            yield from zip(target[3], value[3], strict=True)
        else:
            yield target, value


def root_of(place: Expr) -> Expr:
    """`self` of `self.rows[0].values`."""
    while place[0] in (m.ATTR, m.ITEM):
        place = place[1]
    return place


def names_of(block: tuple[Stmt, ...]) -> set[str]:
    """The names that a block reads or binds."""
    return {node[1] for statement in statements(block) for node in expressions_of(statement) if node[0] == m.NAME}


def _asks_whether_it_trains(block: tuple[Stmt, ...]) -> bool:
    own = (m.ATTR, (m.NAME, "self"), "training")
    return any(own in nodes(statement[2]) for statement in statements(block) if statement[0] == m.IF)


# Whether a method does one thing in training and another in evaluation, `if self.training:`: such are passes.
asks_whether_it_trains = once(_asks_whether_it_trains)
