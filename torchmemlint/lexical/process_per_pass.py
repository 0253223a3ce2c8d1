"""Processes without an end of their own that every pass starts anew, and that nobody keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import PROCESSES
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import ALWAYS, calls_of, last_name, loops, nodes, statements, with_conditions, with_tests
from .endless import SELF, Work, leaves, never_ends, own_worker, work_of
from .left_running import is_ended
from .lent import is_seen_to
from .once import called_as

ELSEWHERE = frozenset("active_children killpg _exit kill".split())  # by which processes end that nobody has a name for
_STEPS = frozenset("backward step train train_step train_epoch train_one_epoch".split())
_LEVELS = 3


class Started(NamedTuple):
    """A process that goes on when the pass that has started it is over."""

    site: Site
    work: str


def processes_per_pass(program: Program) -> Iterator[Started]:
    """`Process(target=read, daemon=True)` of a function that goes round for ever, in what each epoch calls, where the
    process is a local name, or an attribute that gets the next one, and nothing ends it: a daemon ends with the
    program."""
    kinds = {*PROCESSES, *(cls.name for cls in program.facts.classes if _is_process(cls.bases))}
    if program.called.isdisjoint(kinds) or program.called & ELSEWHERE:
        return
    for place in program.places:
        if kinds.isdisjoint(place.facts.calls) or "start" not in place.facts.calls:
            continue
        for statement, tests in with_tests(place.facts.body):
            call, name = _made(statement, kinds)
            work = _work(program, place, call) if call is not None and not tests else None
            if work is None or call is None or not never_ends(program, work):
                continue
            if not _is_seen_to(program, place, statement, name) and _is_each_time(program, place, statement):
                yield Started(call[1], work.function.name)


def _is_process(bases: tuple[Expr, ...]) -> bool:
    return any(last_name(base) in PROCESSES for base in bases)


def _is_seen_to(program: Program, place: Place, made: Stmt, bound: Expr | None) -> bool:
    """Whether anybody ends a process, or could: by its name, or by its attribute before that gets the next one."""
    if bound is None:
        return False
    if bound[0] == m.NAME:
        return is_seen_to(place, made, bound, program)
    return is_ended(program, bound[2], place, "terminate")


def _made(statement: Stmt, kinds: set[str]) -> tuple[Expr | None, Expr | None]:
    """The call that makes a process, and what it is bound to: `p = Process(...)`, `Process(...).start()`."""
    if statement[0] not in (m.ASSIGN, m.EXPR):
        return None, None
    value: Expr = statement[-1]
    if statement[0] == m.EXPR:
        starts = value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] == "start"
        value = value[2][1] if starts else value
    if value[0] != m.CALL or last_name(value[2]) not in kinds:
        return None, None
    bound = targets(statement)
    if not bound:
        return value, None
    own = bound[0][0] == m.NAME or bound[0][:2] == (m.ATTR, SELF)
    return (value, bound[0]) if len(bound) == 1 and own else (None, None)


def _work(program: Program, place: Place, call: Expr) -> Work | None:
    target = keyword(call, "target", 1)
    if target is not None and last_name(call[2]) in PROCESSES:
        return work_of(program, place, call, target)
    return own_worker(program, last_name(call[2]))[1]


def _is_each_time(program: Program, place: Place, made: Stmt) -> bool:
    """Whether each pass over something gets here: `__iter__`, or a loop that does more than to start some of them."""
    starting = _reached_again(program, place, {made[1]})
    seen: set[str] = set()
    found = [(place, starting)] if starting else []
    for _ in range(_LEVELS + 1):
        if any(_is_a_pass(one) or _in_a_working_loop(one, sites) for one, sites in found):
            return True
        names = {called_as(one) for one, _ in found} - seen
        seen |= names
        callers = (one for one in program.places if not names.isdisjoint(one.facts.calls))
        reached = ((one, _reached_again(program, one, _calling(one, names))) for one in callers)
        found = [(one, sites) for one, sites in reached if sites]
    return False


def _reached_again(program: Program, place: Place, sites: set[Site]) -> set[Site]:
    """Those of the statements that a function gets to each time: not by a test of what is known of its object, or of
    the program, which the first time changes, `if self.worker is None:`."""
    again = set[Site]()
    for statement, conditions in with_conditions(place.facts.body):
        if statement[1] in sites:
            asked = {part[-1] for test, _ in conditions for part in nodes(test) if part[0] in (m.ATTR, m.NAME)}
            if not asked or asked.isdisjoint(_changed(program)):
                again.add(statement[1])
    return again


def _changed(program: Program) -> set[str]:
    """The attributes that others than constructors bind, and the names that functions bind for the module."""
    changed = set[str]()
    for place in program.places:
        for one in statements(place.facts.body) if place.facts.name != "__init__" else ():
            changed |= {bound[2] for bound in targets(one) if bound[0] == m.ATTR}
            changed.update(one[2] if one[0] == m.GLOBAL else ())
    return changed


def _is_a_pass(place: Place) -> bool:
    """`__iter__` that comes to an end."""
    forever = (one[2] in ALWAYS and not leaves(one[3]) for one, _ in loops(place.facts.body) if one[0] == m.WHILE)
    return place.facts.name == "__iter__" and not any(forever)


def _calling(place: Place, names: set[str]) -> set[Site]:
    """The statements of a function that call something by one of these names."""
    found = statements(place.facts.body)
    return {one[1] for one in found if any(last_name(call[2]) in names for call in calls_of(one))}


def _in_a_working_loop(place: Place, starting: set[Site]) -> bool:
    """Whether one of these statements is in a loop that has work of its own, a step of something or another loop."""
    every = [(loop, {one[1] for one in inside}, inside) for loop, inside in loops(place.facts.body)]
    beside = {loop[1] for loop, sites, _ in every if starting.isdisjoint(sites)}
    return any(
        not beside.isdisjoint(sites) or any(last_name(call[2]) in _STEPS for one in inside for call in calls_of(one))
        for _, sites, inside in every
        if not starting.isdisjoint(sites)
    )
