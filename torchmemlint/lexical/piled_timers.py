"""Timers for a long time that a method sets each time it runs, and binds to the attribute that had the one before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, keyword, targets
from ..facts.walk import calls, last_name, nodes, statements
from .once import ONCE

_SELF: Expr = (m.NAME, "self")
_SECONDS = 20
_LONG = frozenset(
    "ttl timeout expiry expire idle lifetime linger grace keepalive age inactivity cleanup unload evict".split()
)
_STARTS = frozenset("start run begin open launch connect".split())


class PiledTimer(NamedTuple):
    """A timer that goes on when the next one takes its place."""

    site: Site
    attribute: str
    method: str
    cancelled: str  # the method that cancels the last one


def piled_timers(program: Program) -> Iterator[PiledTimer]:
    """Where nothing cancels the timer before, though another method of the class cancels the last."""
    if not {"Timer", "cancel"} <= program.called:
        return
    for place in program.places:
        once = place.facts.name in ONCE or place.facts.name.strip("_").partition("_")[0] in _STARTS
        if not place.cls or once or "Timer" not in place.facts.calls or _cancels(program, place):
            continue
        asked = {part for one in statements(place.facts.body) if one[0] == m.IF for part in nodes(one[2])}
        for statement in statements(place.facts.body):
            attribute = _set_by(program, statement)
            if attribute is None or attribute in asked:  # `if self.timer is None:`
                continue
            end = _cancelled_by(program, place, attribute)
            if end and _is_long(statement[3]) and not _sets_again(program, place, statement[3]):
                yield PiledTimer(statement[1], attribute[2], place.facts.name, end)


def _set_by(program: Program, statement: Stmt) -> Expr | None:
    """`self.timer` of `self.timer = threading.Timer(...)`."""
    made = statement[3] if statement[0] == m.ASSIGN and statement[3][0] == m.CALL else None
    if made is None or program.dotted(made[2]) != "threading.Timer":
        return None
    return next((target for target in targets(statement) if target[:2] == (m.ATTR, _SELF)), None)


def _cancels(program: Program, place: Place) -> bool:
    """Whether a method cancels something, itself or by another one of its object."""
    own = (one for name in place.facts.calls for one in program.by_name.get(name, ()) if one.cls == place.cls)
    return "cancel" in place.facts.calls or any("cancel" in one.facts.calls for one in own)


def _cancelled_by(program: Program, place: Place, timer: Expr) -> str:
    for other in program.places:
        near = other.cls == place.cls and "cancel" in other.facts.calls
        if near and any(call[2] == (m.ATTR, timer, "cancel") for call in calls(other.facts.body)):
            return other.facts.name
    return ""


def _is_long(timer: Expr) -> bool:
    """Whether the time is long, by its number, its name or that of what is done then."""
    interval, function = keyword(timer, "interval", 0), keyword(timer, "function", 1)
    if interval is not None and interval[0] == m.CONST:
        return isinstance(interval[1], int) and interval[1] >= _SECONDS
    named = (last_name(part) for given in (interval, function) if given is not None for part in nodes(given))
    return any(not _LONG.isdisjoint(name.lower().split("_")) for name in named)


def _sets_again(program: Program, place: Place, timer: Expr) -> bool:
    """Whether it is the timer itself that sets the next one when its time has come."""
    function = last_name(keyword(timer, "function", 1))
    called = [function, *(name for one in program.by_name.get(function, ()) for name in one.facts.calls)]
    return place.facts.name in called
