"""Processes that serve a queue of the function which has started them, and that nobody tells that this was all.

`tasks = Queue()`, `Process(target=score, args=(tasks, results)).start()`: a worker that waits in `tasks.get()` has both
ends of the queue itself, so that it waits on when the function has returned. It ends with a mark, `tasks.put(None)`, or
by `terminate()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import PROCESSES
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import (
    ALWAYS,
    calls,
    calls_of,
    expressions_of,
    last_name,
    loops,
    nodes,
    places_with_values,
    statements,
)
from .endless import SELF, own_worker, work_of
from .once import SETUPS, is_repeated
from .process_per_pass import ELSEWHERE

_QUEUES = ("Queue", "SimpleQueue", "JoinableQueue")
_PUTS = ("put", "put_nowait")
_STARTS = ("start", "append", "add")


class LeftAtQueue(NamedTuple):
    """A process that waits for more when the call that has started it is over."""

    site: Site
    work: str
    queue: str


def left_at_queues(program: Program) -> Iterator[LeftAtQueue]:
    """Such processes of functions that are called again and again."""
    kinds = {*PROCESSES, *(cls.name for cls in program.facts.classes if own_worker(program, cls.name)[0] == "process")}
    if program.called.isdisjoint(kinds) or program.called.isdisjoint(_QUEUES) or program.called & ELSEWHERE:
        return
    for place in program.places:
        function = place.facts
        if kinds.isdisjoint(function.calls) or function.name in SETUPS or function.inner:
            continue
        queues = [target for one in statements(function.body) for target in _made_queue(one)]
        for call in calls(function.body) if queues else ():
            if last_name(call[2]) not in kinds or "start" not in function.calls:
                continue
            found = next((one for one in _served(program, place, call) if one[0] in queues), None)
            if found is None or _may_be_told(function, found[0], call) or _is_seen_to(function, call):
                continue
            if is_repeated(program, place):
                yield LeftAtQueue(call[1], found[1], found[0][1])


def _made_queue(statement: Stmt) -> Iterator[Expr]:
    for target, value in places_with_values(statement) if statement[0] == m.ASSIGN else ():
        if target[0] == m.NAME and value[0] == m.CALL and last_name(value) in _QUEUES:
            yield target


# -- what the worker does ---------------------------------------------------------------------------


def _served(program: Program, place: Place, call: Expr) -> Iterator[tuple[Expr, str]]:
    """The queues that a process is given and waits at, with the name of what it runs."""
    target = keyword(call, "target", 1)
    if target is not None and last_name(call[2]) in PROCESSES:
        work = work_of(program, place, call, target)
        listed = keyword(call, "args", 3)
        given = listed[3] if listed is not None and listed[0] == m.NEW else ()
        params = [] if work is None else [one.name for one in work.function.params if one.name != "self"]
        for name, value in zip(params, given, strict=False):
            if work is not None and _waits_at(work.function, (m.NAME, name)):
                yield value, work.function.name
        return
    _, work, _ = own_worker(program, last_name(call[2]))
    cls = next((one for one in program.facts.classes if one.name == last_name(call[2])), None)
    if work is None or cls is None or "__init__" not in cls.methods:
        return
    init = program.facts.functions[cls.methods["__init__"]]
    for index, param in enumerate(init.params[1:]):
        value = keyword(call, param.name, index)
        kept = [
            t
            for one in statements(init.body)
            if one[0] == m.ASSIGN
            for t, v in places_with_values(one)
            if v == (m.NAME, param.name) and t[:2] == (m.ATTR, SELF)
        ]
        if value is not None and any(_waits_at(work.function, own) for own in kept):
            yield value, cls.name


def _waits_at(worker: FunctionFacts, queue: Expr) -> bool:
    """Whether a function takes from a queue round after round, and leaves only when what it got says so."""
    taking = (m.ATTR, queue, "get")
    for loop, inside in loops(worker.body):
        if loop[0] == m.FOR:
            if loop[3][0] == m.CALL and loop[3][2] == (m.NAME, "iter") and loop[3][3][:1] == (taking,):
                return not _leaves(loop[4], set())
            continue
        got = {t for one in inside if one[0] == m.ASSIGN and _takes(one[3], taking) for t in _names(one)}
        if loop[2] in ALWAYS and got:
            return not _leaves(loop[3], got)
    return False


def _takes(value: Expr, taking: Expr) -> bool:
    return bool(value[0] == m.CALL and value[2] == taking and not value[3] and not value[4])


def _names(statement: Stmt) -> Iterator[Expr]:
    yield from (part for target in targets(statement) for part in nodes(target) if part[0] == m.NAME)


def _leaves(block: tuple[Stmt, ...], got: set[Expr]) -> bool:
    """Whether a loop ends for another reason than for what it has `got`."""
    for one in block:
        if one[0] in (m.RETURN, m.RAISE) or (one[0] == m.JUMP and one[2]):
            return True
        if one[0] == m.IF and any(part in got for part in nodes(one[2])):
            continue
        suites: tuple[tuple[Stmt, ...], ...] = ()
        if one[0] == m.TRY:
            suites = (one[2], *(clause for _, _, clause in one[3]), *one[4:6])
        elif one[0] == m.IF:
            suites = one[3:5]
        elif one[0] == m.WITH:
            suites = (one[3],)
        if any(_leaves(suite, got) for suite in suites):
            return True
    return False


# -- what becomes of it -------------------------------------------------------------------------------


def _may_be_told(function: FunctionFacts, queue: Expr, started: Expr) -> bool:
    """Whether the function puts a mark into the queue, or hands it to others than the process."""
    own = list(nodes(started))
    for one in statements(function.body):
        for call in calls_of(one):
            puts = call[2][0] == m.ATTR and call[2][1] == queue and call[2][2] in _PUTS
            if puts and any(part[0] == m.CONST or _is_mark(part) for given in call[3] for part in nodes(given)):
                return True
        received = sum(part[0] == m.ATTR and part[1] == queue for part in expressions_of(one))
        bound = sum(queue in nodes(target) for target in targets(one))
        lent = own.count(queue) if any(part == started for part in expressions_of(one)) else 0
        if sum(part == queue for part in expressions_of(one)) > received + bound + lent:
            return True
    return False


def _is_mark(part: Expr) -> bool:
    """`STOP`, `Command.STOP`"""
    return part[0] in (m.NAME, m.ATTR) and str(part[-1]).isupper()


def _is_seen_to(function: FunctionFacts, made: Expr) -> bool:
    """Whether a function does more with a process, or with the list that it is in, than to start it."""
    names: set[Expr] = set()
    every = list(statements(function.body))
    for _ in range(2):
        for one in every:
            if one[0] == m.ASSIGN and made in nodes(one[3]):
                names |= set(one[2])
            elif one[0] == m.FOR and one[3] in names:
                names.add(one[2])
            for call in calls_of(one):
                if call[2][0] == m.ATTR and call[2][2] in _STARTS[1:] and not {made, *names}.isdisjoint(call[3]):
                    names.add(call[2][1])
    if any(name[0] != m.NAME for name in names):
        return True  # an attribute, which others may end
    return any(_does_more(one, names) for one in every)


def _does_more(statement: Stmt, names: set[Expr]) -> bool:
    named = sum(part in names for part in expressions_of(statement))
    known = sum(target in names for target in targets(statement))
    known += statement[0] == m.FOR and statement[3] in names
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][1] in names and call[2][2] in _STARTS:
            known += 1 + sum(given in names for given in call[3])
    return bool(named > known)
