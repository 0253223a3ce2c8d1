"""Objects that collect until they say that they are done, as a search does, and then go with their function."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, FileFacts, FunctionFacts, Stmt
from ..facts.program import keyword, targets
from ..facts.walk import blocks, calls, calls_of, expressions_of, heads, last_name, nodes, root_of, statements

_DEEPEST = 3


def ended_by_itself(facts: FileFacts, function: FunctionFacts, place: Expr) -> bool:
    """Whether all that a function, and the helpers of its file that it gives a local to, do with that is to ask it for
    something, and the rounds in which they do end when it says so: `while not search.done: search.advance(scores)`."""
    asking = list(_asking(facts, function, place, _DEEPEST))
    return None not in asking and any(ends for one in asking if one is not None for ends in one)


def _asking(facts: FileFacts, function: FunctionFacts, place: Expr, depth: int) -> Iterator[list[bool] | None]:
    """Of a function and its helpers the loops that fill what the place has, each with True; None if one of them goes on
    without asking, or if something keeps what it is given."""
    inner = (one for index in function.inner for one in statements(facts.functions[index].body))
    if not depth or any(place in expressions_of(one) for one in inner):
        yield None
        return
    for statement in statements(function.body):
        if statement[0] in (m.GLOBAL, m.NONLOCAL) and place[1] in statement[2]:
            yield None
        found = expressions_of(statement)
        asked = sum(node[:2] == (m.ATTR, place) for node in found)
        bound = targets(statement).count(place) if statement[0] == m.ASSIGN else 0
        given = [call for call in calls_of(statement) if place in (*call[3], *(value for _, value in call[4]))]
        if found.count(place) != asked + bound + len(given):
            yield None  # it is returned, or put somewhere
        for call in given:
            for helper, name in _helpers(facts, call, place) or ((function, ""),):
                yield from _asking(facts, helper, (m.NAME, name), depth - 1) if name else (None,)
    ends = list(_ends(function.body, place))
    yield ends if all(ends) else None


def _helpers(facts: FileFacts, call: Expr, place: Expr) -> list[tuple[FunctionFacts, str]]:
    """The functions of the file that a call may mean, `self.decode(batch, search)`, each with the name that it has for
    what is given; none if that is not seen for each."""
    method = call[2][0] == m.ATTR
    if method and call[2][1] != (m.NAME, "self"):
        return []
    found: list[tuple[FunctionFacts, str]] = []
    helpers = [one for one in facts.functions if one.name == last_name(call[2]) and (one.owner >= 0) == method]
    for helper in helpers:
        params = enumerate(helper.params[method:])
        names = [param.name for at, param in params if keyword(call, param.name, at) == place and not param.kind]
        if len(names) != 1:
            return []
        found.append((helper, names[0]))
    return found


def _ends(block: tuple[Stmt, ...], place: Expr) -> Iterator[bool]:
    """Of each outermost loop in which the place is given something, and not made, whether the place ends it."""
    for statement in block:
        if statement[0] in (m.FOR, m.WHILE) and not _makes(statement, place):
            if _is_filled(statement, place):
                yield _is_ended(statement, place)
        else:
            for suite in blocks(statement):
                yield from _ends(suite, place)


def _makes(loop: Stmt, place: Expr) -> bool:
    return any(one[0] == m.ASSIGN and place in targets(one) for one in statements((loop,)))


def _is_filled(loop: Stmt, place: Expr) -> bool:
    """Whether a loop calls a method of what the place has, or hands it on: what only reads adds nothing."""
    given = any(place in (*call[3], *(value for _, value in call[4])) for call in calls((loop,)))
    return given or any(call[2][0] == m.ATTR and root_of(call[2]) == place for call in calls((loop,)))


def _is_ended(loop: Stmt, place: Expr) -> bool:
    """`while not search.done`, and `if search.done: break`"""
    tests = heads(loop) if loop[0] == m.WHILE else []
    for one in statements(next(blocks(loop))):
        if one[0] == m.IF and one[3] and (one[3][-1][0] == m.RETURN or (one[3][-1][0] == m.JUMP and one[3][-1][2])):
            tests += heads(one)
    return any(node[:2] == (m.ATTR, place) for test in tests for node in nodes(test))
