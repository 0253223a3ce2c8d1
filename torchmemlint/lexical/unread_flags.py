"""Loops beside the main one that go on after `stop()`, which sets a flag that nothing reads.

`self.running = False` in `stop()`, and the task that was started goes round in `while True`, with an `except` clause
that takes every error for a hitch: it looks for the next message of a connection that is gone, and keeps the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import ALWAYS, blocks, calls_of, expressions_of, last_name, loops, statements
from .endless import SELF, work_of

_STOPS = re.compile(r"(?:^|_)(?:stop|close|shutdown|disconnect|terminate|cleanup|finish|end)(?:_|$)")
_TASKS = ("create_task", "ensure_future")
_STARTS = frozenset((*_TASKS, "Thread"))
_ENDED_OTHERWISE = frozenset("cancel cancel_all terminate kill _exit TaskGroup create_task_group timeout".split())
_ASKS = ("getattr", "hasattr", "attrgetter")
_ANY = ("Exception", "BaseException")
_GONE = re.compile(r"Disconnect|Closed|Connection|Broken|Reset|OSError|EOFError")


class UnreadFlag(NamedTuple):
    """A task or thread that goes on when its object has been stopped."""

    site: Site
    work: str
    cls: str
    flag: str
    stop: str
    set: Site


def unread_flags(program: Program) -> Iterator[UnreadFlag]:
    """Tasks and threads of a class that has a flag for their end, which its `stop()` sets and nobody reads."""
    if program.called.isdisjoint(_STARTS) or not program.called.isdisjoint(_ENDED_OTHERWISE):
        return
    for place in program.places:
        if place.cls and not _STARTS.isdisjoint(place.facts.calls):
            for one in statements(place.facts.body):
                for call in calls_of(one):
                    work = _started(program, place, call)
                    flag = _flag(program, place) if work and _goes_on(program, place.cls, work) else None
                    if flag is not None:
                        yield UnreadFlag(call[1], work, place.cls, *flag)


def _started(program: Program, place: Place, call: Expr) -> str:
    """The method that a call sets to work: `create_task(self.listen())`, `Thread(target=self.listen)`."""
    if last_name(call[2]) in _TASKS and call[3] and call[3][0][0] == m.CALL:
        target = call[3][0][2]
        return str(target[2]) if target[0] == m.ATTR and target[1] == SELF else ""
    target = next((value for keyword, value in call[4] if keyword == "target"), None)
    work = work_of(program, place, call, target) if last_name(call[2]) == "Thread" and target is not None else None
    return work.function.name if work is not None and work.cls == place.cls else ""


def _goes_on(program: Program, cls: str, work: str) -> bool:
    """Whether a method goes round for ever, and an error tells it nothing."""
    return any(
        loop[0] == m.WHILE and loop[2] in ALWAYS and _is_undeterred(loop[3])
        for place in program.by_name.get(work, ())
        if place.cls == cls
        for loop, _ in loops(place.facts.body)
    )


def _is_undeterred(body: Block) -> bool:
    """Whether all that a round does is tried, and an error of the connection, or any, may lead to the next round."""
    work = [one for one in body if any(calls_of(one)) or any(blocks(one))]
    if len(work) != 1 or work[0][0] != m.TRY:
        return False
    clauses = work[0][3]
    return any(_is_of_the_end(kind) and not _leaves(clause) for kind, _, clause in clauses)


def _is_of_the_end(kind: Expr | None) -> bool:
    kinds = kind[3] if kind is not None and kind[0] == m.NEW else (kind,)
    return any(one is None or last_name(one) in _ANY or _GONE.search(last_name(one)) for one in kinds)


def _leaves(block: Block) -> bool:
    """Whether every way through an `except` clause leaves the loop."""
    if not block:  # `pass`
        return False
    last: Stmt = block[-1]
    if last[0] == m.IF:
        return _leaves(last[3]) and _leaves(last[4])
    return last[0] in (m.RETURN, m.RAISE) or (last[0] == m.JUMP and bool(last[2]))


def _flag(program: Program, starter: Place) -> tuple[str, str, Site] | None:
    """A flag that the constructor of a class sets one way and a method that stops it the other, if nothing reads it:
    not what starts the work, `start_stop_watcher()`."""
    cls = starter.cls
    first: dict[str, object] = {}
    for place in program.places:
        if place.cls == cls and place.facts.name == "__init__":
            first.update((target[2], value) for target, value, _ in _flags_set(place))
    for place in program.places:
        if place.cls == cls and _STOPS.search(place.facts.name) and place.facts is not starter.facts:
            for target, value, site in _flags_set(place):
                if first.get(target[2]) is (not value) and not _is_read(program, target[2]):
                    return target[2], place.facts.name, site
    return None


def _flags_set(place: Place) -> Iterator[tuple[Expr, bool, Site]]:
    for one in statements(place.facts.body):
        value = one[-1] if one[0] in (m.ASSIGN, m.ANNOTATE) else None
        if value in ((m.CONST, True), (m.CONST, False)) and type(value[1]) is bool:
            yield from ((t, value[1], one[1]) for t in targets(one) if t[0] == m.ATTR and t[1] == SELF)


def _is_read(program: Program, flag: str) -> bool:
    """Whether the file reads a flag of that name, of whatever object, or asks for it, `getattr(self, "running")`."""
    return any(
        (part[0] == m.ATTR and part[2] == flag and part not in targets(one))
        or (part[0] == m.CALL and last_name(part[2]) in _ASKS and (m.CONST, flag) in part[3])
        for place in program.places
        for one in statements(place.facts.body)
        for part in expressions_of(one)
    )
