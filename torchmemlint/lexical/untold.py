"""Threads that go round until somebody tells them to stop, which nobody does, and whose objects are made again and
again: a flag that stays as it is, an event that is never set, a camera that nobody closes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, calls_of, heads, in_loops, last_name, loops, nodes, statements, with_tests
from .endless import SELF, leaves, tells, work_of
from .factories import with_factories
from .once import SETUPS, is_repeated
from .serving import goes_on
from .starters import Owner, setup_of

_THREADS = ("Thread", "QThread")
_OPEN = ("isOpened", "is_opened", "isOpen")  # of a capture: until somebody releases it
_MISSING: Expr = (m.CONST, None)


class Untold(NamedTuple):
    """An object whose thread nobody can tell to stop."""

    site: Site
    cls: str
    started: Site


def untold(program: Program) -> Iterator[Untold]:
    """Objects that are made again and again, each with a thread that stays for the rest of the process."""
    bases = {last_name(base) for cls in program.facts.classes for base in cls.bases}
    if (program.called | bases).isdisjoint(_THREADS) or "start" not in program.called:
        return
    owners = {cls.name: Owner("", site) for cls in program.facts.classes for site in _stays(program, cls)}
    makers = with_factories(program, owners)
    for place in program.places if makers else ():
        if makers.keys().isdisjoint(place.facts.calls) or place.cls in owners or place.facts.name in SETUPS:
            continue
        repeated = is_repeated(program, place)
        rounds = {statement[1] for statement, looped in in_loops(place.facts.body) if looped}
        for statement, tests in with_tests(place.facts.body):
            for call in calls_of(statement):
                cls = makers.get(last_name(call[2]), "")
                again = repeated or (statement[1] in rounds and _is_used_up(place, statement))
                if cls and again and not _is_missing(statement, tests):
                    yield Untold(call[1], cls, owners[cls].started)


def _stays(program: Program, cls: ClassFacts) -> Iterator[Site]:
    """Where the thread of an object is started that nothing can end, if it has one."""
    if "run" in cls.methods and any(last_name(base) in _THREADS for base in cls.bases):
        if _cannot_be_told(program, program.facts.functions[cls.methods["run"]], None):
            yield cls.site
        return
    setup, _ = setup_of(program, cls)
    if not any("start" in function.calls for function in setup):
        return
    for function in setup:
        for call in calls(function.body) if "Thread" in function.calls else ():
            target = keyword(call, "target", 1) if last_name(call[2]) == "Thread" else None
            work = work_of(program, Place(function, cls.name, ()), call, target) if target is not None else None
            if work is not None and _cannot_be_told(program, work.function, call):
                yield call[1]
                return


def _cannot_be_told(program: Program, worker: FunctionFacts, starting: Expr | None) -> bool:
    """Whether a thread goes round until it is told to stop, and nothing in the program tells it."""
    if worker.generator:
        return False
    asked = goes_on(worker)
    if asked is None:
        return "release" not in program.called and any(_is_open(loop) for loop, _ in loops(worker.body))
    if asked[0] == m.NAME:
        own = any(tells(head, asked[1], True) for one in statements(worker.body) for head in heads(one))
        given = None if own or starting is None else _given(worker, starting, asked[1])
        if given is None:
            return False
        asked = given
    return asked[:2] == (m.ATTR, SELF) and _nobody_tells(program, asked[2], starting)


def _is_open(loop: Stmt) -> bool:
    """`while cap.isOpened():`, `while cap.isOpened() and n < most:`, without another way out."""
    if loop[0] != m.WHILE or leaves(loop[3]):
        return False
    tests = loop[2][2] if loop[2][0] == m.BOOL and loop[2][1] == "and" else (loop[2],)
    return any(one[0] == m.CALL and one[2][0] == m.ATTR and one[2][2] in _OPEN for one in tests)


def _given(worker: FunctionFacts, starting: Expr, name: str) -> Expr | None:
    """What a thread's function is given for a parameter: `args=(self.queue, self.done)`."""
    params = [param.name for param in worker.params if param.name != "self"]
    named = keyword(starting, "kwargs")
    for key, value in named[2] if named is not None and named[0] == m.DICT else ():
        if key == (m.CONST, name):
            return value  # type: ignore[no-any-return]
    listed = keyword(starting, "args", 3)
    values = listed[3] if listed is not None and listed[0] == m.NEW else ()
    return next((value for param, value in zip(params, values, strict=False) if param == name), None)


def _nobody_tells(program: Program, flag: str, starting: Expr | None) -> bool:
    """Whether an attribute has one value whatever happens, or is an event that nobody sets or hands on."""
    values = set[Expr]()
    for place in program.places:
        for statement in statements(place.facts.body):
            if any(last_name(target) == flag for target in targets(statement)):
                given = statement[-1] if statement[0] in (m.ASSIGN, m.ANNOTATE) else None
                event = given is not None and given[0] == m.CALL and last_name(given[2]) == "Event"
                values.add((m.NAME, "Event") if event else given or (m.NAME, ""))
    event = (m.NAME, "Event") in values
    if not values or values - {(m.NAME, "Event"), _MISSING} if event else len(values) != 1:
        return False
    if not event and next(iter(values))[0] != m.CONST:
        return False
    return not any(
        tells(head, flag, event, starting)
        for place in program.places
        for statement in statements(place.facts.body)
        for head in heads(statement)
        if head not in targets(statement)
    )


def _is_used_up(place: Place, made: Stmt) -> bool:
    """Whether each round of a loop has done with the object that it has made: it goes over it, or asks it for things.
    One that is only started, or put with others, is one of a set of workers."""
    name = made[2][0] if made[0] == m.ASSIGN else None
    if name is None or name[0] != m.NAME:
        return False
    gone_over = any(one[0] == m.FOR and one[3] == name for one in statements(place.facts.body))
    given = (part for call in calls(place.facts.body) for part in (*call[3], *(value for _, value in call[4])))
    handed = [part for part in given if name in nodes(part)]
    own = {call[2][2] for call in calls(place.facts.body) if call[2][0] == m.ATTR and call[2][1] == name}
    return gone_over or (not handed and bool(own - {"start", "setDaemon", "join"}))


def _is_missing(made: Stmt, tests: tuple[Expr, ...]) -> bool:
    """Whether an object is made because it is not there yet: `if self.reader is None:`, `if key not in readers:`."""
    bound = [target[1] if target[0] == m.ITEM else target for target in targets(made)]
    return any(part in bound for test in tests for part in nodes(test)) or any(
        part[0] == m.COMPARE and _MISSING in (part[2], part[3]) for test in tests for part in nodes(test)
    )
