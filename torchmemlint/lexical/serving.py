"""What a worker process does for as long as it is there: it serves others, or supplies them."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Place, Program
from ..facts.walk import ALWAYS, blocks, calls_of, last_name, loops, nodes, statements
from .endless import Work, never_ends, until_told


def serves(place: Place, *, to_the_end: bool = False) -> bool:
    """Whether a function takes work from a queue or pipe round after round: it ends when it is told to.
    `to_the_end`: or when its pipe ends."""
    waits = ("get",) if not to_the_end and _ends_with_its_pipe(place.facts) else ("get", "recv")
    for loop, inside in loops(place.facts.body):
        if loop[0] == m.WHILE:
            found = [call for one in (loop, *inside) for call in calls_of(one)]
            if any(call[2][0] == m.ATTR and call[2][2] in waits and not call[3] for call in found):
                return True
        elif loop[3][0] == m.CALL and loop[3][2] == (m.NAME, "iter") and len(loop[3][3]) == 2:
            return True
    return False


def supplies(program: Program, place: Place) -> bool:
    """Whether a function puts one thing after another into a queue, for as long as somebody takes them."""
    return "put" in place.facts.calls and never_ends(program, Work(place.facts, place.cls))


def _ends_with_its_pipe(function: FunctionFacts) -> bool:
    """Whether a worker closes the end of the pipe that is not its own, or takes its end for the end of the work."""
    caught = (handler[0] for one in statements(function.body) if one[0] == m.TRY for handler in one[3])
    closes = any(
        call[2][0] == m.ATTR and call[2][2] == "close" and call[2][1][0] == m.NAME
        for one in function.body
        if one[0] == m.EXPR
        for call in calls_of(one)
    )
    return closes or any(kind is None or "EOFError" in {last_name(part) for part in nodes(kind)} for kind in caught)


def goes_on(worker: FunctionFacts) -> Expr | None:
    """What a thread asks in each round, with nothing else that ends it: `self._done` of `while not
    self._done.wait(1):`, of `if self._done.is_set(): break`."""
    for loop, inside in loops(worker.body):
        if loop[0] != m.WHILE:
            continue
        leaving = [one for one in inside if one[0] == m.RETURN]
        if loop[2] not in ALWAYS and until_told(loop[2]) and not leaving and not _breaks(loop[3]):
            return _asked(loop[2])
        told = [one for one in inside if one[0] == m.IF and one[2] not in ALWAYS and until_told(one[2])]
        ways = [one for one in inside if one[0] == m.RETURN or (one[0] == m.JUMP and one[2])]
        if loop[2] in ALWAYS and told and ways and all(any(way in one[3] for one in told) for way in ways):
            return _asked(told[0][2])
    return None


def _asked(test: Expr) -> Expr:
    if test[0] == m.BOOL:
        test = next(filter(until_told, test[2]))
    while test[0] == m.NOT:
        test = test[1]
    return test[2][1] if test[0] == m.CALL else test


def _breaks(body: tuple[Stmt, ...]) -> bool:
    """Whether a loop's body breaks out of it: a `break` of a loop inside ends only that."""
    for one in body:
        if one[0] == m.JUMP and one[2]:
            return True
        if one[0] not in (m.FOR, m.WHILE) and any(_breaks(suite) for suite in blocks(one)):
            return True
    return False
