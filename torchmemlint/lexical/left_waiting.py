"""Tasks that are still waiting when another one is done first, and that nobody cancels.

`await asyncio.wait([answer, stop], return_when=FIRST_COMPLETED)` leaves the other one as it is. Where that waits for an
event of the whole object, each call leaves one more, with all that its coroutine refers to. And a wait that is itself
cancelled ends none of the tasks that it waits for [docs]: what cancels them on the next line is not come to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.cancelled import cancelled_functions
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Place, Program, keyword, targets
from ..facts.walk import blocks, calls, calls_of, heads, last_name, nodes, statements
from .lent import is_given

_STARTS = ("create_task", "ensure_future")
_GROUPS = frozenset(("TaskGroup", "create_task_group"))  # which cancel what is still running


class LeftWaiting(NamedTuple):
    """A task that a function leaves behind."""

    site: Site  # where it is made
    task: str
    event: str  # the attribute that it waits for
    cls: str  # of the object that has the event
    waited: Site  # where another one may be done first
    cancelled: bool = False  # or where the wait is cancelled: else it sees to the task


def left_waiting(program: Program) -> Iterator[LeftWaiting]:
    """Of the methods that wait for the first of several tasks."""
    if "wait" not in program.called or program.called.isdisjoint(_STARTS):
        return
    for place in program.places:
        if not place.cls or set(_STARTS).isdisjoint(place.facts.calls):
            continue
        body = list(statements(place.facts.body))
        first = next((one for one in body if any(_is_first(program, call) for call in calls_of(one))), None)
        if first is None:
            yield from _cancelled_between(program, place, body)
            continue
        for made, call, task in _tasks(body, first):
            event = _event(program, call)
            if not event:
                continue
            name = task[1] if task is not None else ""
            if not _is_ended(body, made, first, task):
                yield LeftWaiting(call[1], name, event, place.cls, first[1])
            elif place.facts.name in cancelled_functions(program.facts) and _GROUPS.isdisjoint(place.facts.calls):
                reached = _if_cancelled(place.facts.body, first)
                if reached is not None and not _is_ended(reached, made, first, task):
                    yield LeftWaiting(call[1], name, event, place.cls, first[1], cancelled=True)


def _cancelled_between(program: Program, place: Place, body: list[Stmt]) -> Iterator[LeftWaiting]:
    """Tasks of a function that waits for something else and ends them then, on the next line: who cancels the function
    while it waits leaves them."""
    made = [(one, call, task) for one, call, task in _tasks(body, None) if task is not None and _event(program, call)]
    if not made or place.facts.name not in cancelled_functions(program.facts):
        return
    for bound, call, task in made:
        waited = next((one for one in body if one[1] > bound[1] and _awaits(one)), None)
        if waited is None or not _GROUPS.isdisjoint(place.facts.calls):
            continue
        if any(task in nodes(head) for head in heads(waited)):
            continue  # which goes with who waits for it
        reached = _if_cancelled(place.facts.body, waited)
        left = reached is not None and not _is_ended(reached, bound, waited, task, several=False)
        if left and _is_ended(body, bound, waited, task, several=False):
            yield LeftWaiting(call[1], task[1], _event(program, call), place.cls, waited[1], cancelled=True)


def _awaits(statement: Stmt) -> bool:
    return any(part[0] == m.AWAIT for head in heads(statement) for part in nodes(head))


def _tasks(body: list[Stmt], first: Stmt | None) -> Iterator[tuple[Stmt, Expr, Expr | None]]:
    """The calls that may make a task, and the local that has it: `stop = create_task(...)`, or right in the wait."""
    for one in body:
        if one is first:
            yield from ((one, call, None) for call in calls_of(one))
        elif one[0] == m.ASSIGN and one[2][0][0] == m.NAME and one[3][0] == m.CALL:
            yield one, one[3], one[2][0]


def _if_cancelled(block: Block, first: Stmt) -> list[Stmt] | None:
    """What a function comes to where its wait is cancelled: what stands before it, and the clauses around it. None
    where it does not wait always, or waits in a loop, each round of which sees to its own tasks."""
    found = list[Stmt]()
    for one in block:
        found.append(one)
        if one is first:
            return found
        if first not in statements((one,)):
            continue
        if one[0] not in (m.TRY, m.WITH):
            return None
        inside = next((done for suite in blocks(one) if (done := _if_cancelled(suite, first)) is not None), None)
        after = [*one[5], *(each for _, _, clause in one[3] for each in clause)] if one[0] == m.TRY else []
        return None if inside is None else [*found[:-1], *inside, *statements(tuple(after))]
    return None


def _is_first(program: Program, call: Expr) -> bool:
    """`asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)`."""
    when = keyword(call, "return_when")
    named = when is not None and (last_name(when) or when[-1]) == "FIRST_COMPLETED"
    return named and last_name(call[2]) == "wait" and program.dotted(call[2]) in ("asyncio.wait", "wait")


def _event(program: Program, call: Expr) -> str:
    """The attribute of the object whose `wait()` a task that is made here waits for, itself or in a method."""
    if last_name(call[2]) not in _STARTS or not call[3] or call[3][0][0] != m.CALL:
        return ""
    coroutine = call[3][0]
    own = _waits_for(coroutine)
    if own:
        return own
    callee = coroutine[2]
    if callee[0] != m.ATTR or callee[1] != (m.NAME, "self"):
        return ""
    found = [one.facts for one in program.by_name.get(callee[2], ()) if one.cls]
    return next(filter(None, map(_waits_for, _plain_calls(found[0]))), "") if len(found) == 1 else ""


def _plain_calls(function: FunctionFacts) -> Iterator[Expr]:
    """The calls that a coroutine makes whatever comes: it has no loop and no time of its own."""
    timed = {"wait_for", "timeout"} & set(function.calls)
    return iter(()) if timed else calls(tuple(one for one in function.body if one[0] in (m.EXPR, m.ASSIGN, m.TRY)))


def _waits_for(call: Expr) -> str:
    """`closing` of `self.closing.wait()`."""
    callee = call[2]
    waits = callee[0] == m.ATTR and callee[2] == "wait" and not call[3] and callee[1][0] == m.ATTR
    return str(callee[1][2]) if waits and callee[1][1] == (m.NAME, "self") else ""


def _is_ended(body: list[Stmt], made: Stmt, first: Stmt, task: Expr | None, *, several: bool = True) -> bool:
    """Whether the function cancels a task, waits for it, or hands it or what is still pending to somebody. `several`:
    what it waits for are tasks, which it gets back as those that are done and those that are not."""
    names = {task} if task is not None else set[Expr]()
    for one in body if task is not None else ():  # `tasks = [answer, stop]`
        if one[0] == m.ASSIGN and one is not made and one[3][0] == m.NEW and task in one[3][3]:
            names |= set(targets(one))
    found = first[2][0] if several and first[0] == m.ASSIGN else None
    if found is not None:
        if found[0] != m.NEW or len(found[3]) != 2:
            return True
        names.add(found[3][1])
    for one in body:
        if one is made or one is first or (one[0] == m.ASSIGN and names.issuperset(targets(one))):
            continue
        for head in heads(one):
            if any(part[0] == m.ATTR and part[1] in names and part[2] == "cancel" for part in nodes(head)):
                return True
            if any(is_given(head, name) for name in names) and not _asks_whether_done(head, names):
                return True
    return False


def _asks_whether_done(head: Expr, names: set[Expr]) -> bool:
    """`stop in done`."""
    return bool(head[0] == m.COMPARE and head[1] in ("In", "NotIn") and head[2] in names and head[3] not in names)
