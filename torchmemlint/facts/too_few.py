"""Tests of a length that wait until there is enough, and bound nothing: what is filled goes on growing.

self.frames.append(frame)                     self.frames.append(frame)
if len(self.frames) < self.window:            if len(self.frames) >= self.window:
    return frame                                  return mean(self.frames[-self.window :])
return mean(self.frames[-self.window :])      return frame

That only the end is read, or that a few are drawn, says that more than enough may be there. Who reads all of it may
stop when there is enough.
"""

from __future__ import annotations

from . import model as m
from .model import Expr, FunctionFacts, Stmt
from .walk import blocks, calls_of, heads, nodes, statements

_PUTS = ("append", "extend", "add", "insert", "put", "update", "setdefault")
_DRAWS = ("sample", "choice", "choices")


def only_waits(function: FunctionFacts, test: Stmt, place: Expr) -> bool:
    """Whether the `if` that compares the length of a place only asks whether there is enough to go on."""
    if test[0] != m.IF or test[4] or not test[3]:
        return False
    few = _asks_for_few(test[2], place)
    if few is None or any(_puts(one, place) for one in statements(function.body) if one[1] >= test[1]):
        return False
    rest, looped = _after(test, function.body, looped=False) or ((), False)
    if few and not (test[3][-1][0] == m.RETURN or (test[3][-1][0] == m.JUMP and not test[3][-1][2])):
        return False
    enough = list(statements(rest if few else test[3]))
    return any(_reads_the_end(one, place) for one in enough) and not any(_ends(one, looped=looped) for one in enough)


def _asks_for_few(comparison: Expr, place: Expr) -> bool | None:
    """Whether there are too few, `len(place) < n`; or enough, `len(place) >= n`. None for all else."""
    if comparison[0] != m.COMPARE or not comparison[1].startswith(("LessThan", "GreaterThan")) or comparison[4]:
        return None
    less = comparison[1].startswith("LessThan")
    for side, few in ((comparison[2], less), (comparison[3], not less)):
        if side[0] == m.CALL and side[2] == (m.NAME, "len") and side[3] == (place,):
            return bool(few)
    return None


def _after(test: Stmt, block: tuple[Stmt, ...], *, looped: bool) -> tuple[tuple[Stmt, ...], bool] | None:
    """What follows a statement in its block, and whether that is in a loop; None if it is not in the block."""
    for index, statement in enumerate(block):
        if statement is test:
            return block[index + 1 :], looped
        for suite in blocks(statement):
            found = _after(test, suite, looped=looped or statement[0] in (m.FOR, m.WHILE))
            if found is not None:
                return found
    return None


def _puts(statement: Stmt, place: Expr) -> bool:
    if statement[0] == m.AUGMENT and statement[2] == place:
        return True
    callees = (call[2] for call in calls_of(statement))
    return any(callee[0] == m.ATTR and callee[1] == place and callee[2] in _PUTS for callee in callees)


def _ends(statement: Stmt, *, looped: bool) -> bool:
    """Whether a statement ends the filling, or says that it is to end: `break`, `self.full = True`."""
    if statement[0] == m.JUMP:
        return bool(statement[2])
    if statement[0] == m.ASSIGN:
        return statement[3][0] == m.CONST and isinstance(statement[3][1], bool)
    return statement[0] == m.RAISE or (looped and statement[0] == m.RETURN)


def _reads_the_end(statement: Stmt, place: Expr) -> bool:
    """`place[-n:]`, `place[-1]`, `list(place)[-n:]` of a deque, `random.sample(place, n)`"""
    return any(
        (node[0] == m.ITEM and place in (node[1], _listed(node[1])) and _is_from_the_end(node[2]))
        or (node[0] == m.CALL and node[2][-1] in _DRAWS and node[3][:1] == (place,))
        for head in heads(statement)
        for node in nodes(head)
    )


def _listed(sequence: Expr) -> Expr:
    """`place` of `list(place)`: a deque has no slices."""
    listed = sequence[0] == m.CALL and sequence[2] in ((m.NAME, "list"), (m.NAME, "tuple")) and sequence[3]
    return tuple(sequence[3][0]) if listed else ()


def _is_from_the_end(index: Expr) -> bool:
    if index[0] == m.SLICE:
        return index[1] is not None and index[2] is None and _is_from_the_end(index[1])
    if index[0] == m.ARITH:
        return _is_from_the_end(index[2])
    if index[0] == m.CONST:
        return isinstance(index[1], int) and index[1] < 0
    return bool(index[0] == m.UNARY)
