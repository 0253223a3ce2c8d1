"""Tasks that go round for ever beside the work of a coroutine, one for each call of it, and that nobody cancels.

`asyncio.create_task(watch())` beside a connection, where `watch` is `while True: await asyncio.sleep(1); ...`: the
connection ends, and the task does not. It keeps what its coroutine refers to: the arguments, the object whose method it
is, the variables of the function that it is defined in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.answering import answers_requests
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import ALWAYS, blocks, calls_of, expressions_of, last_name, nodes, root_of, statements
from .done_once import is_done_once
from .endless import work_of
from .once import is_repeated

_STARTS = frozenset(("create_task", "ensure_future"))
_GROUPS = frozenset(("TaskGroup", "create_task_group", "timeout", "move_on_after"))  # which cancel what still runs
_PAUSES = ("sleep", "get", "wait", "acquire")  # which go on some time, and raise nothing of their own
_CANCELLED = "CancelledError"


class EndlessTask(NamedTuple):
    """A task that each call of a function leaves behind."""

    site: Site  # where it is started
    starter: str
    coroutine: str


def endless_tasks(program: Program) -> Iterator[EndlessTask]:
    """Of the coroutines of a file that are called again and again."""
    if program.called.isdisjoint(_STARTS) or not program.called.isdisjoint(_GROUPS):
        return
    starts = _STARTS | set(_starting(program))
    for place in program.places:
        if starts.isdisjoint(place.facts.calls) or place.facts.name in starts:
            continue
        for one in statements(place.facts.body):
            call = _started(one, starts)
            coroutine: Expr = call[3][0] if call is not None and call[3] else (m.CONST, None)
            if call is None or coroutine[0] != m.CALL or len(coroutine) != 5:
                continue
            work = work_of(program, place, coroutine, coroutine[2])
            if work is None or not work.function.coroutine or not _goes_round(work.function.body):
                continue
            if not _works_beside(place.facts, call) or _serves_many(work.function, place.facts):
                continue
            if _is_seen_to(program, place, one) or is_done_once(program, place, one[1]):
                continue
            if is_repeated(program, place) or answers_requests(place.facts):
                yield EndlessTask(call[1], place.facts.name, work.function.name)


def _starting(program: Program) -> Iterator[str]:
    """The functions that only make a task of the coroutine that they are given: `def spawn(coroutine)`."""
    for place in program.places:
        facts = place.facts
        given = facts.params[bool(place.cls) :]
        if not given or _STARTS.isdisjoint(facts.calls) or len(program.by_name.get(facts.name, ())) != 1:
            continue
        for one in statements(facts.body):
            for call in calls_of(one):
                if last_name(call[2]) in _STARTS and call[3][:1] == ((m.NAME, given[0].name),):
                    yield facts.name


def _started(statement: Stmt, starts: frozenset[str]) -> Expr | None:
    """The call of `create_task(watch())`, `task = create_task(watch())`, `self.task = ...`."""
    if statement[0] == m.ASSIGN:
        value = statement[3]
    elif statement[0] == m.ANNOTATE:
        value = statement[4]
    else:
        value = statement[2] if statement[0] == m.EXPR else None
    if value is None or value[0] != m.CALL or len(value) != 5 or last_name(value[2]) not in starts:
        return None
    return value  # type: ignore[no-any-return]


def _works_beside(function: FunctionFacts, call: Expr) -> bool:
    """Whether a coroutine goes on to wait for something else: what only sets tasks going does so for the program."""
    later = (one for one in statements(function.body) if one[1] > call[1])
    return function.coroutine and any(part[0] == m.AWAIT for one in later for part in expressions_of(one))


def _serves_many(worker: FunctionFacts, starter: FunctionFacts) -> bool:
    """Whether a task takes from a queue that is not of this call: one of a pool of workers."""
    own = {target[1] for one in statements(starter.body) for target in targets(one) if target[0] == m.NAME}
    for one in statements(worker.body):
        for part in expressions_of(one):
            taken = part[0] == m.AWAIT and part[1][0] == m.CALL and last_name(part[1][2]) in ("get", "acquire")
            if taken and root_of(part[1][2])[-1] not in own:
                return True
    return False


def _goes_round(body: Block) -> bool:
    """Whether a coroutine comes to a loop that nothing leaves, but who cancels it."""
    for one in body:
        if one[0] == m.WHILE and one[2] in ALWAYS and not _leaves(one[3]) and _only_pauses(one[3]):
            return True
        if one[0] in (m.TRY, m.WITH) and _goes_round(one[2] if one[0] == m.TRY else one[3]):
            return True
        if one[0] in (m.RETURN, m.RAISE):
            return False
    return False


def _leaves(block: Block, *, inner: bool = False) -> bool:
    """Whether anything leaves a loop: `break`, `return`, `raise`; but for what is done when the task is cancelled."""
    for one in block:
        if one[0] in (m.RETURN, m.RAISE) or (one[0] == m.JUMP and one[2] and not inner):
            return True
        if one[0] == m.TRY:
            clauses = [clause for kind, _, clause in one[3] if not _is_cancelling(kind)]
            if any(_leaves(suite, inner=inner) for suite in (one[2], *clauses, *one[4:6])):
                return True
        elif any(_leaves(suite, inner=inner or one[0] in (m.FOR, m.WHILE)) for suite in blocks(one)):
            return True
    return False


def _is_cancelling(kind: Expr | None) -> bool:
    kinds = kind[3] if kind is not None and kind[0] == m.NEW else (kind,)
    return any(one is not None and last_name(one) == _CANCELLED for one in kinds)


def _only_pauses(block: Block) -> bool:
    """Whether all that a loop waits for is time, or what somebody gives it: a connection that is gone raises an error,
    unless that is caught."""
    for one in block:
        if one[0] == m.TRY and any(_is_any(kind) for kind, _, _ in one[3]):
            continue
        for part in expressions_of(one):
            if part[0] == m.AWAIT and not (part[1][0] == m.CALL and last_name(part[1][2]) in _PAUSES):
                return False
        if not all(map(_only_pauses, blocks(one))):
            return False
    return True


def _is_any(kind: Expr | None) -> bool:
    kinds = kind[3] if kind is not None and kind[0] == m.NEW else (kind,)
    return any(one is None or last_name(one) in ("Exception", "BaseException") for one in kinds)


def _is_seen_to(program: Program, place: Place, started: Stmt) -> bool:
    """Whether anybody has the task who might cancel it, or waits for it."""
    if started[0] == m.EXPR:
        return False
    bound: tuple[Expr, ...] = started[2] if started[0] == m.ASSIGN else (started[2],)
    if len(bound) != 1 or bound[0][0] not in (m.NAME, m.ATTR):
        return True
    name = bound[0]
    if name[0] == m.NAME:
        inner = [program.facts.functions[index] for index in place.facts.inner]
        near = [place.facts, *inner]
    else:
        near = list(program.facts.functions)
    return any(_uses(function, name, started, "cancel" in program.called) for function in near)


def _uses(function: FunctionFacts, task: Expr, started: Stmt, cancels: bool) -> bool:
    """Whether a function does something with a task, where the file cancels any; else, whether it waits for it or
    hands it back."""
    for one in statements(function.body):
        if one is started:
            continue
        for part in expressions_of(one):
            if not _is_it(part, task):
                continue
            if cancels or one[0] == m.RETURN:
                return True
        waits = (part for part in expressions_of(one) if part[0] == m.AWAIT)
        if any(_is_it(inner, task) for part in waits for inner in nodes(part)):
            return True
    return False


def _is_it(part: Expr, task: Expr) -> bool:
    return part == task or (task[0] == m.ATTR and part[0] == m.ATTR and part[2] == task[2])
