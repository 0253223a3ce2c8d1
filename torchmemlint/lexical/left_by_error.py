"""Queues that a context manager takes off a list of listeners after its `yield`, and not in a `finally`.

`self.listeners.add(queue)`, `yield queue`, `self.listeners.remove(queue)`: an exception in the `with` block, as when a
client hangs up or its task is cancelled, is raised at the `yield` [docs]. The queue stays on the list, and whoever
goes through the list fills it for nobody. An entry of a table, `self.listeners[key] = queue`, stays likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Program, targets, text
from ..facts.walk import calls, calls_of, expressions_of, last_name, loops, nodes, root_of, statements

_MANAGERS = ("contextmanager", "asynccontextmanager")
_QUEUES = ("Queue", "SimpleQueue", "LifoQueue", "PriorityQueue", "deque")
_ADDS = ("add", "append", "appendleft")
_REMOVES = ("remove", "discard", "pop")
_FILLS = ("put", "put_nowait", "append", "appendleft", "send_nowait")
_LIMITS = ("maxsize", "maxlen")


class LeftByError(NamedTuple):
    """A statement that adds a queue to a list, which an error in the `with` block leaves there."""

    site: Site
    listeners: str
    at: Site  # the `yield` at which the error is raised
    taken: Site


def left_by_error(program: Program) -> Iterator[LeftByError]:
    """Queues without a limit that somebody fills for as long as they are on a list which outlives the function."""
    if program.called.isdisjoint(_QUEUES):
        return
    for place in program.places:
        if place.facts.generator and any(last_name(one) in _MANAGERS for one in place.facts.decorators):
            yield from _left(program, place.facts)


def _left(program: Program, function: FunctionFacts) -> Iterator[LeftByError]:
    before, asked, after = _around_the_yield(function.body)
    if asked is None:
        return
    queues = {target for one in before for target in _bound_to_queue(one)}
    gone = {(_list_of(place), entry): one[1] for one in after for place, entry in _removed(one)}
    for one in before:
        for place, entry in _added(one, queues):
            listeners = _list_of(place)
            taken = gone.get((listeners, entry))
            if taken is not None and _outlives(function, listeners) and _is_gone_through(program, listeners):
                yield LeftByError(one[1], text(listeners), asked[1], taken)


def _added(statement: Stmt, queues: set[Expr]) -> Iterator[tuple[Expr, Expr]]:
    """What gets a queue, and by what it is found there: `listeners.add(queue)`, `listeners[key] = queue`."""
    if statement[0] == m.ASSIGN and statement[3] in queues:
        yield from (target[1:] for target in statement[2] if target[0] == m.ITEM)
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in _ADDS and len(call[3]) == 1 and call[3][0] in queues:
            yield call[2][1], call[3][0]


def _around_the_yield(body: Block) -> tuple[list[Stmt], Stmt | None, list[Stmt]]:
    """What is done before the `yield` of a context manager, and after it if the `with` block ends as it should; a `try`
    around it may see to an error."""
    before: list[Stmt] = []
    for at, one in enumerate(body):
        if _yields(one):
            return before, one, list(statements(body[at + 1 :]))
        if one[0] == m.WITH and any(
            part[0] == m.YIELD for inner in statements(one[3]) for part in expressions_of(inner)
        ):
            inside, asked, after = _around_the_yield(one[3])
            return before + inside, asked, after + list(statements(body[at + 1 :]))
        before += statements((one,))
    return before, None, []


def _yields(statement: Stmt) -> bool:
    return any(part[0] == m.YIELD for part in expressions_of(statement))


def _bound_to_queue(statement: Stmt) -> Iterator[Expr]:
    """The names that a statement binds to a new queue without a limit."""
    if statement[0] not in (m.ASSIGN, m.ANNOTATE) or statement[-1] is None:
        return
    made = statement[-1]
    limited = made[0] == m.CALL and (made[3] or any(keyword in (*_LIMITS, "") for keyword, _ in made[4]))
    if made[0] == m.CALL and last_name(made[2]) in _QUEUES and not limited:
        yield from (target for target in targets(statement) if target[0] == m.NAME)


def _removed(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    if statement[0] == m.DELETE:
        yield from (target[1:] for target in statement[2] if target[0] == m.ITEM)
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in _REMOVES and call[3]:
            yield call[2][1], call[3][0]


def _list_of(place: Expr) -> Expr:
    """`self.listeners` of `self.listeners[channel]` and of `self.listeners.setdefault(channel, set())`."""
    while True:
        if place[0] == m.ITEM:
            place = place[1]
        elif place[0] == m.CALL and place[2][0] == m.ATTR and place[2][2] in ("setdefault", "get"):
            place = place[2][1]
        else:
            return place


def _outlives(function: FunctionFacts, listeners: Expr) -> bool:
    """Whether a list is one of an object or of the module."""
    root = root_of(listeners)
    own = {param.name for param in function.params if param.name not in ("self", "cls")}
    bound = {target for one in statements(function.body) for target in targets(one)}
    return root[0] == m.NAME and root[1] not in own and root not in bound


def _is_gone_through(program: Program, listeners: Expr) -> bool:
    """Whether a loop over the list puts something into each of its queues."""
    wanted = last_name(listeners)
    return any(
        loop[0] == m.FOR
        and any(part[0] in (m.NAME, m.ATTR) and part[-1] == wanted for part in nodes(loop[3]))
        and any(last_name(call[2]) in _FILLS for call in calls(loop[4]))
        for place in program.places
        for loop, _ in loops(place.facts.body)
    )
