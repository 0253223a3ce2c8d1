"""Queues that who puts into them keeps short: only as long as few items wait, `if self.jobs.qsize() < self.limit`, or
by taking the oldest out.

while self.limit is not None and self.jobs.qsize() >= self.limit:
    self.jobs.get_nowait()
self.jobs.put(job)

A limit that is None, or 0, for the object or the call at hand keeps nothing short.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import targets
from ..facts.walk import blocks, calls, calls_of, last_name, nodes, statements, with_conditions
from ..interpreter.frames import Frame
from ..interpreter.machine import Machine
from ..interpreter.settings import is_told, made_with
from ..interpreter.values import UNKNOWN, Obj, constant

_TAKES = ("get_nowait", "popleft")
_NOTHING = (m.CONST, None)
_MORE = ("GreaterThan", "GreaterThanEqual")
_LESS = ("LessThan", "LessThanEqual")


def keeps_short(machine: Machine, frame: Frame, site: Site) -> bool:
    """Whether the function that puts something at a site does so, if at all, when few items are there."""
    body = frame.facts.body
    put = next((call for call in calls(body) if call[1] == site and call[2][0] == m.ATTR), None)
    if put is None:
        return False
    queue: Expr = put[2][1]
    lengths = frozenset(_lengths(body, queue))
    limits = frozenset(_limits(body, lengths))
    for statement, conditions in with_conditions(body):
        said = [(limit_says(machine, frame, test), outcome, _place(test) in limits) for test, outcome in conditions]
        never = any(known is (not outcome) for known, outcome, _ in said)
        if any(call[1] == site for call in calls_of(statement)):
            unsure = any(known is None and of_limit for known, _, of_limit in said)
            bounded = (_bounds(machine, frame, test, outcome, lengths) for test, outcome in conditions)
            if never or unsure or any(bounded):
                return True
        leaves = statement[0] == m.IF and statement[1] < site and statement[3][-1][0] in m.LEAVES
        if leaves and not never and _bounds(machine, frame, statement[2], False, lengths):
            asked = frozenset(nodes(statement[2]))
            if all(queue in nodes(test) or _place(test) in asked for test, _ in conditions):
                return True
    return _takes_out(machine, frame, site, queue)


def limit_not_given(machine: Machine, frame: Frame, site: Site) -> Expr | None:
    """The limit by which the function would keep the queue short, `self.jobs.qsize() >= self.limit`, and which is None,
    or 0, for the call at hand."""
    body = frame.facts.body
    put = next((call for call in calls(body) if call[1] == site and call[2][0] == m.ATTR), None)
    lengths = frozenset(() if put is None else _lengths(body, put[2][1]))
    return next((limit for limit in _limits(body, lengths) if _written(machine, frame, limit) in (None, 0)), None)


def _limits(body: tuple[Stmt, ...], lengths: frozenset[Expr]) -> Iterator[Expr]:
    """What the length of a queue is compared with."""
    tests = (one[2] for one in statements(body) if one[0] in (m.IF, m.WHILE))
    for part in (part for test in tests for part in nodes(test) if part[0] == m.COMPARE):
        yield from (other for one, other in (part[2:4], part[3:1:-1]) if one in lengths)


def limit_says(machine: Machine, frame: Frame, test: Expr) -> bool | None:
    """The outcome of a test that asks whether there is a limit at all, if that is known: `self.limit is not None`,
    `limit > 0`, `self.limit and self.jobs.qsize() >= self.limit`."""
    if test[0] == m.NOT:
        inner = limit_says(machine, frame, test[1])
        return None if inner is None else not inner
    if test[0] == m.BOOL:
        found = [limit_says(machine, frame, one) for one in test[2]]
        decides = test[1] == "or"
        return decides if decides in found else None
    place, operator = (test[2], test[1]) if test[0] == m.COMPARE else (test, "")
    limit = _written(machine, frame, place)
    if limit is not None and type(limit) is not int:
        return None
    if operator in ("Is", "IsNot") and test[3] == _NOTHING:
        return (limit is None) is (operator == "Is")
    if operator == "GreaterThan" and test[3] == (m.CONST, 0):
        return bool(limit and limit > 0)
    return bool(limit) if not operator else None


def _written(machine: Machine, frame: Frame, place: Expr) -> object:
    """The number, or None, that an attribute of the object or a parameter was given; `Ellipsis` if none is known."""
    if place[0] == m.NAME and is_told(frame, place[1]):
        return constant(frame.vars.get(place[1], UNKNOWN))
    receiver = frame.receiver
    if place[0] == m.ATTR and place[1] == (m.NAME, "self") and isinstance(receiver, Obj):
        return made_with(machine, receiver, place)
    return ...


def _lengths(body: tuple[Stmt, ...], queue: Expr) -> Iterator[Expr]:
    """What stands for the length of a queue: `jobs.qsize()`, `len(jobs)`, and the names that have it."""
    asked = [call for call in calls(body) if last_name(call[2]) in ("qsize", "len") and queue in nodes(call)]
    yield from asked
    for one in statements(body):
        if one[0] == m.ASSIGN and one[3] in asked:
            yield from targets(one)


def _bounds(machine: Machine, frame: Frame, test: Expr, outcome: bool, lengths: frozenset[Expr]) -> bool:
    """Whether a test comes out so only while the queue is short."""
    if test[0] == m.NOT:
        return _bounds(machine, frame, test[1], not outcome, lengths)
    if test[0] == m.BOOL:
        found = any(_bounds(machine, frame, one, outcome, lengths) for one in test[2])
        if (test[1] == "and") is outcome:
            return found
        return found and all(limit_says(machine, frame, one) is not outcome for one in test[2])
    if test[0] != m.COMPARE:
        return False
    left, right = (any(part in lengths for part in nodes(side)) for side in test[2:4])
    return (left and test[1] in (_LESS if outcome else _MORE)) or (right and test[1] in (_MORE if outcome else _LESS))


def _takes_out(machine: Machine, frame: Frame, site: Site, queue: Expr) -> bool:
    """Whether it has taken from the queue before, whatever else is so: only the queue itself is asked whether there is
    anything, and whether it has a limit."""
    return any(
        call[1] < site and call[2][0] == m.ATTR and call[2][2] in _TAKES and call[2][1] == queue
        for statement, tests in _with_tests(frame.facts.body)
        if _asks_only(machine, frame, tests, queue)
        for call in calls_of(statement)
    )


def _asks_only(machine: Machine, frame: Frame, tests: tuple[Expr, ...], queue: Expr) -> bool:
    said = [(test, limit_says(machine, frame, test)) for test in tests]
    asked = {part for test in tests if queue in nodes(test) for part in nodes(test)}
    return all(known is not False and (queue in nodes(test) or _place(test) in asked) for test, known in said)


def _place(test: Expr) -> Expr:
    """Of which a test asks whether it is set."""
    place: Expr = test[2] if test[0] == m.COMPARE else test
    return place


def _with_tests(block: tuple[Stmt, ...], tests: tuple[Expr, ...] = ()) -> Iterator[tuple[Stmt, tuple[Expr, ...]]]:
    """Every statement with the tests of the `if`s that it stands in, and of those loops that a limit may end."""
    for statement in block:
        yield statement, tests
        inner = tests
        if statement[0] == m.IF or (statement[0] == m.WHILE and statement[2][0] in (m.BOOL, m.COMPARE)):
            inner = (*tests, statement[2])
        for suite in blocks(statement):
            yield from _with_tests(suite, inner)
