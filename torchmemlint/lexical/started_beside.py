"""Methods that start a thread of the object anew and leave the one before running.

A constructor starts a thread that goes round until a flag of the object tells it to stop, and `reset()` starts it once
more without a word to the first: both look at the same flag, and who binds the attribute anew has lost the handle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import ALWAYS, blocks, calls, calls_of, last_name, loops, nodes, statements, with_tests
from .endless import SELF, leaves, until_told, work_of
from .once import ONCE

# What ends a thread, asks whether there is one, or may do so: `self.stop.set()`, `self.thread.join()`.
_TELLS = frozenset("set join stop cancel terminate kill shutdown quit close is_alive isAlive notify notify_all".split())
# Methods that start what somebody has ended before.
_AFTER_AN_END = frozenset(
    "start run begin open launch connect resume unpause reopen reconnect continue enable iter enter call".split()
)
_LEVELS = 3  # of methods that methods call


class StartedBeside(NamedTuple):
    """A thread that a method starts beside the one before."""

    site: Site
    target: str
    flag: str  # the attribute that both look at
    again: str  # the method that starts one more


def started_beside(program: Program) -> Iterator[StartedBeside]:
    """Of the methods that a constructor and another method call."""
    if "Thread" not in program.called:
        return
    for place in program.places:
        if not place.cls or "Thread" not in place.facts.calls or place.facts.name == "__init__":
            continue
        own = {one.facts.name: one.facts for one in program.places if one.cls == place.cls}
        again = _again(own, place.facts)
        for site, target, flag in _until_told(program, place) if again is not None else ():
            if again is not None and not _tells(own, again, flag):
                yield StartedBeside(site, target, flag, again.name)


def _again(own: dict[str, FunctionFacts], start: FunctionFacts) -> FunctionFacts | None:
    """The method that starts the thread once more, where the constructor has started it."""
    if "__init__" not in own or start.name not in _asked_always(own["__init__"]):
        return None
    for method in own.values():
        first = method.name.strip("_").partition("_")[0]
        if method.name in ONCE or first in _AFTER_AN_END or method is start:
            continue
        if start.name in _asked_always(method):
            return method
    return None


def _asked_always(method: FunctionFacts) -> set[str]:
    """The methods of the object that a method calls whatever the case."""
    if any(one[0] == m.IF and _gives_up(one) for one in statements(method.body)):
        return set()
    always = (one for one, tests in with_tests(method.body) if not tests)
    return {call[2][2] for one in always for call in calls_of(one) if call[2][:2] == (m.ATTR, SELF)}


def _gives_up(branch: m.Stmt) -> bool:
    return any(one[0] in (m.RETURN, m.RAISE) for suite in blocks(branch) for one in suite)


def _until_told(program: Program, place: Place) -> Iterator[tuple[Site, str, str]]:
    """The threads that a method starts in any case, which only a flag of the object ends: where, what, which flag."""
    if any(one[0] == m.IF and _gives_up(one) for one in statements(place.facts.body)):
        return
    for statement, tests in with_tests(place.facts.body):
        for call in calls_of(statement) if not tests else ():
            target = keyword(call, "target", 1) if call[2][-1] == "Thread" else None
            work = work_of(program, place, call, target) if target is not None else None
            if work is None or work.cls != place.cls or work.function.generator:
                continue
            for loop, _ in loops(work.function.body):
                flag = _flag(loop[2]) if loop[0] == m.WHILE and until_told(loop[2]) else ""
                if flag and not leaves(next(blocks(loop))):
                    yield call[1], work.function.name, flag


def _flag(test: Expr) -> str:
    """`running` of `self.running`, `stopped` of `not self.stopped.is_set()`."""
    found = [part[2] for part in nodes(test) if part[:2] == (m.ATTR, SELF)] if test not in ALWAYS else []
    return str(found[0]) if len(set(found)) == 1 else ""


def _tells(own: dict[str, FunctionFacts], method: FunctionFacts, flag: str) -> bool:
    """Whether a method, or one of the object's that it calls, tells the thread before to stop, or may do so."""
    asked, seen = {method.name}, set[str]()
    for _ in range(_LEVELS):
        bound = {target for name in asked for one in statements(own[name].body) for target in targets(one)}
        if (m.ATTR, SELF, flag) in bound:
            return True
        told = [call[2] for name in asked for call in calls(own[name].body) if last_name(call[2]) in _TELLS]
        if any(not _waits_for_items(own, callee) for callee in told):
            return True
        seen |= asked
        asked = {called for name in asked for called in own[name].calls if called in own} - seen
    return False


def _waits_for_items(own: dict[str, FunctionFacts], callee: Expr) -> bool:
    """`self.pages.join()` of a queue, which waits until all that is in it is done."""
    if callee[0] != m.ATTR or callee[2] != "join" or callee[1][:2] != (m.ATTR, SELF):
        return False
    bound = [one for method in own.values() for one in statements(method.body) if callee[1] in targets(one)]
    values = [one[3] if one[0] == m.ASSIGN else one[4] for one in bound if one[0] in (m.ASSIGN, m.ANNOTATE)]
    made = [last_name(value[2]) for value in values if value is not None and value[0] == m.CALL]
    return bool(made) and all(name.endswith("Queue") for name in made)
