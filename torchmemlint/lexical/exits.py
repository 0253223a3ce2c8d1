"""The ways out of a function: where it leaves something behind that it would have let go of further down."""

from __future__ import annotations

from collections.abc import Set

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import Place, Program
from ..facts.walk import calls_of, last_name, nodes, statements, with_tests

_ADDS = ("append", "add", "put", "setdefault", "callback", "push", "enter_context")


def left_before(place: Place, made: Stmt, frees: list[Stmt], names: Set[Expr]) -> Stmt | None:
    """The first `return` or `raise` between what is made and the statements that free it, if the function frees it
    itself, and neither in a `finally` nor right before it leaves."""
    body = list(statements(place.facts.body))
    if not frees or any(in_final(place, one) for one in frees) or moves(body, names, made):
        return None
    last = max(one[1] for one in frees)
    for leave in body:
        left = leave[0] in (m.RETURN, m.RAISE) and made[1] < leave[1] < last
        if left and not _tests(place, leave, names) and not stands_right_before(frees, leave, body):
            return leave
    return None


def in_final(place: Place, statement: Stmt) -> bool:
    return any(
        one[0] == m.TRY and any(inner is statement for inner in statements(one[5]))
        for one in statements(place.facts.body)
    )


def stands_right_before(frees: list[Stmt], leave: Stmt, body: list[Stmt]) -> bool:
    """Whether the statement right before a `return` is one of those that free."""
    before = [one for one in body if one[1] < leave[1]]
    return bool(before) and before[-1] in frees


def moves(body: list[Stmt], names: Set[Expr], made: Stmt) -> bool:
    """Whether what is made goes to somebody who may free it: an attribute, a container, the caller."""
    for one in body:
        if one is made:
            continue
        if one[0] == m.RETURN and one[2] is not None and any(part in names for part in _values_of(one[2])):
            return True
        if one[0] == m.ASSIGN and any(part in names for part in _values_of(one[3])):
            return True
        for call in calls_of(one):
            adds = last_name(call[2]) in _ADDS
            if adds and any(part in names for given in call[3] for part in nodes(given)):
                return True
    return False


def is_lost_by_callers(program: Program, place: Place) -> bool:
    """Whether what a function gives back ends with the names that its callers, all of them in this file, have for it:
    they hand it to a kernel, or bind it to a local that goes nowhere else."""
    name = place.facts.name
    found = [
        _loses(other, one, call)
        for other in program.places
        if name in other.facts.calls
        for one in statements(other.facts.body)
        for call in calls_of(one)
        if last_name(call[2]) == name
    ]
    return bool(found) and all(found)


def _loses(caller: Place, statement: Stmt, call: Expr) -> bool:
    if statement[0] == m.EXPR and statement[2][0] == m.CALL:
        taker = last_name(statement[2])  # `kernel(allocate(n))`, not `Buffer(allocate(n))`
        return not taker[:1].isupper() and taker not in _ADDS
    if statement[0] != m.ASSIGN or statement[3] != call or any(target[0] != m.NAME for target in statement[2]):
        return False
    return not moves(list(statements(caller.facts.body)), set(statement[2]), statement)


def _values_of(expr: Expr) -> tuple[Expr, ...]:
    return tuple(expr[3]) if expr[0] == m.NEW else (expr,)


def _compared(test: Expr) -> tuple[Expr, ...]:
    """What a test asks about, directly: `pointer`, `not pointer`, `pointer is None`, `status != 0`."""
    if test[0] == m.NOT:
        return _compared(test[1])
    return (test[2], test[3]) if test[0] == m.COMPARE else (test,)


def _tests(place: Place, leave: Stmt, names: Set[Expr]) -> bool:
    """Whether a `return` stands under a test of what is made, or of what making it said: there is nothing to free."""
    return any(
        one is leave and any(part in names for test in tests for part in _compared(test))
        for one, tests in with_tests(place.facts.body)
    )
