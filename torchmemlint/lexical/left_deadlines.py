"""Timers that watch over one piece of work, and go on when it is done.

`timer = Timer(seconds, on_timeout)`, `timer.start()`, `run(job)`: nothing has the timer that could cancel it, so each
piece of work leaves a thread, and what `on_timeout` refers to, until the time is over. A timer that is to do something
later looks the same but for its words: of a deadline the function says that the time is over, or fails the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.answering import answers_requests
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls_of, expressions_of, in_loops, last_name, nodes, places_with_values, statements
from ..interpreter.holders import free_names
from .once import ONCE, callers_of, is_repeated

_SECONDS = 20
_OVER = ("timeout", "timedout", "deadline", "watchdog", "overdue")
_FAILS = frozenset("kill terminate abort fail cancel interrupt set_exception".split())
_TAKES_OUT = frozenset("pop remove discard popitem clear close unload evict".split())
_OF_TIMERS = frozenset("start daemon name setDaemon setName".split())
_MANAGERS = ("contextmanager", "asynccontextmanager")
_STARTS = frozenset("start begin open launch connect init setup schedule arm".split())
_ASIDE = frozenset("print debug info warning error exception append is_alive len start Timer".split())


class LeftDeadline(NamedTuple):
    """A timer that nobody cancels when the work which it watches over is done."""

    site: Site
    function: str  # what it would call
    kept: str  # what that refers to
    thread: bool  # or the event loop has it


def left_deadlines(program: Program) -> Iterator[LeftDeadline]:
    """Of functions that do one piece of work after another."""
    if program.called.isdisjoint(("Timer", "call_later")):
        return
    for place in program.places:
        if {"Timer", "call_later"}.isdisjoint(place.facts.calls):
            continue
        for statement, looped in in_loops(place.facts.body):
            for call in calls_of(statement):
                found = _left(program, place, statement, call)
                if found is not None and (looped or _is_done_again(program, place)):
                    yield found


def _left(program: Program, place: Place, statement: Stmt, call: Expr) -> LeftDeadline | None:
    thread = program.dotted(call[2]) == "threading.Timer"
    if not thread and (last_name(call[2]) != "call_later" or call[2][0] != m.ATTR):
        return None
    interval = keyword(call, "interval" if thread else "delay", 0)
    target = keyword(call, "function" if thread else "callback", 1)
    if interval is None or target is None or not _is_dropped(program, place.facts, statement, call):
        return None
    closures = _closures(program, place.facts, target)
    bodies = closures or _named(program, target)
    if place.facts.name in _called(bodies) or not _is_deadline(program, bodies, call, target, (interval, statement)):
        return None
    kept = _referred_to(place.facts, closures, call, interval)
    if not kept or _is_short(program, place, interval):
        return None
    if not _goes_on(place.facts, statement, kept) and not _is_gone_on_from(program, place, kept):
        return None
    name = last_name(_without_arguments(target)) or "its function"
    return LeftDeadline(call[1], name, min(kept, key=lambda one: (one == "self", one)), thread)


def _is_done_again(program: Program, place: Place) -> bool:
    """Whether a function does its work for one thing after another."""
    starts = place.facts.name in ONCE or place.facts.name.strip("_").partition("_")[0] in _STARTS
    return not starts and (is_repeated(program, place) or answers_requests(place.facts))


def _is_dropped(program: Program, function: FunctionFacts, made: Stmt, call: Expr) -> bool:
    """Whether nobody has the timer but a variable of the function, of which it is only started."""
    if made[0] == m.EXPR:
        return bool(made[2] == call or (made[2][0] == m.CALL and made[2][2] == (m.ATTR, call, "start")))
    if made[0] != m.ASSIGN or made[3] != call or len(made[2]) != 1 or made[2][0][0] != m.NAME:
        return False
    timer = made[2][0]
    inner = (program.facts.functions[index].body for index in function.inner)
    if any(timer in expressions_of(one) for body in inner for one in statements(body)):
        return False
    parts = [part for one in statements(function.body) if one is not made for part in expressions_of(one)]
    started = [part for part in parts if part[:2] == (m.ATTR, timer) and part[2] in _OF_TIMERS]
    return len(started) == parts.count(timer)


def _closures(program: Program, function: FunctionFacts, target: Expr) -> list[FunctionFacts]:
    """What a timer would run: lambdas, and functions that are defined beside it."""
    functions = program.facts.functions
    named = {part[1] for part in nodes(target) if part[0] == m.NAME}
    inner = [functions[index] for index in function.inner if functions[index].name in named]
    return [functions[part[1]] for part in nodes(target) if part[0] == m.LAMBDA] + inner


def _named(program: Program, target: Expr) -> list[FunctionFacts]:
    """... or other functions and methods of the file."""
    named = sorted({last_name(part) for part in nodes(target) if part[0] in (m.NAME, m.ATTR)})
    return [one.facts for name in named for one in program.by_name.get(name, ())]


def _called(bodies: list[FunctionFacts]) -> set[str]:
    return {name for one in bodies for name in one.calls}


def _is_deadline(
    program: Program, bodies: list[FunctionFacts], call: Expr, target: Expr, told_by: tuple[Expr, Stmt]
) -> bool:
    """Whether a timer's function makes an error of it that the time is over, says so by its name, or fails the work
    under a time or a timer with such a name; what takes something out of a table may be there to do so later."""
    near = [two.facts for one in bodies for name in one.calls for two in program.by_name.get(name, ())]
    made = _called([*bodies, *near]) | {last_name(part) for part in _parts(call)}
    if any(_is_over(name) for name in made if name[:1].isupper() and not name.isupper()):
        return True
    if not _TAKES_OUT.isdisjoint(made):
        return False
    interval, statement = told_by
    named = [last_name(one) for one in (*targets(statement), *nodes(interval))]
    own = {last_name(_without_arguments(target))} | _called([one for one in bodies if one.name == "<lambda>"])
    fails = not _FAILS.isdisjoint(own | _called(bodies))
    return any(map(_is_over, own)) or (fails and any(map(_is_over, named)))


def _without_arguments(target: Expr) -> Expr:
    """`job.fail` of `partial(job.fail, "late")`"""
    partial = target[0] == m.CALL and last_name(target) == "partial" and target[3]
    return target[3][0] if partial else target


def _is_over(name: str) -> bool:
    plain = name.lower().replace("_", "")
    return any(word in plain for word in _OVER)


def _parts(call: Expr) -> Iterator[Expr]:
    """The expressions in the arguments of a call."""
    for value in (*call[3], *(value for _, value in call[4])):
        yield from nodes(value)


def _referred_to(function: FunctionFacts, closures: list[FunctionFacts], call: Expr, interval: Expr) -> set[str]:
    """The parameters and variables of a function that a timer's function refers to, or is given."""
    own = {param.name for param in function.params}
    own |= {place[1] for one in statements(function.body) for place in targets(one) if place[0] == m.NAME}
    names = {part[1] for part in _parts(call) if part[0] == m.NAME}
    names -= {part[1] for part in nodes(interval) if part[0] == m.NAME and part[1] != "self"}
    return (names | {name for body in closures for name in free_names(body)}) & own


def _is_short(program: Program, place: Place, interval: Expr | None) -> bool:
    """Whether the time is known, and so short that not much piles up."""
    if interval is None:
        return True
    if interval[:2] == (m.ATTR, (m.NAME, "self")):
        own = (one for one in program.places if one.cls == place.cls and one.facts.name == "__init__")
        return any(
            place_set == interval and _is_short(program, init, value)
            for init in own
            for one in statements(init.facts.body)
            for place_set, value in (places_with_values(one) if one[0] == m.ASSIGN else ())
        )
    if interval[0] == m.NAME:
        told = next((param.default for param in place.facts.params if param.name == interval[1]), None)
        body = place.facts.body if any(interval in targets(one) for one in statements(place.facts.body)) else None
        module = program.facts.functions[0].body if body is None else body
        set_ = (one[3] for one in statements(module) if one[0] == m.ASSIGN and interval in one[2])
        value = told if told is not None else next(set_, None)
        return value is not None and value != interval and _is_short(program, place, value)
    return bool(interval[0] == m.CONST and isinstance(interval[1], int) and interval[1] < _SECONDS)


def _goes_on(function: FunctionFacts, made: Stmt, kept: set[str]) -> bool:
    """Whether the work comes after the timer: a call with what the timer keeps, or the `with` block of a manager."""
    managed = function.generator and any(last_name(one) in _MANAGERS for one in function.decorators)
    for one in statements(function.body):
        if one[1] > made[1]:
            if any(_works_with(call, kept) for call in calls_of(one)):
                return True
            if managed and any(part[0] == m.YIELD for part in expressions_of(one)):
                return True
    return False


def _works_with(call: Expr, names: set[str]) -> bool:
    return last_name(call[2]) not in _ASIDE and any(part[0] == m.NAME and part[1] in names for part in nodes(call))


def _is_gone_on_from(program: Program, place: Place, kept: set[str]) -> bool:
    """Whether the function only sets the timer, and who calls it goes on with what it has given to it."""
    if len(program.by_name.get(place.facts.name, ())) != 1 or kept <= {"self"}:
        return False
    for other, _ in callers_of(program, {place.facts.name}):
        for one in statements(other.facts.body):
            for call in calls_of(one):
                if last_name(call[2]) == place.facts.name and one[0] == m.EXPR:
                    given = {part[1] for part in _parts(call) if part[0] == m.NAME} - {"self"}
                    if given and _goes_on(other.facts, one, given):
                        return True
    return False
