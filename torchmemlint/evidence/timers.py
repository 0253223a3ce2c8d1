"""Timers that keep an object until they fire, which its owner dropped long before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import FunctionFacts, Site
from ..facts.program import Program, keyword, targets, text
from ..facts.walk import calls, calls_of, last_name, nodes, statements
from ..interpreter.callbacks import objects_in
from ..interpreter.events import Plain
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Obj, Value, functions_behind
from ..interpreter.weights import heavy

_TAKES_OUT = frozenset("pop remove discard popitem clear".split())
_LONG = ("ttl", "timeout", "expir", "idle", "lifetime", "linger", "grace", "keep", "max_age", "inactiv")
_SECONDS = 20


class LeftTimer(NamedTuple):
    """A running timer that keeps an object which is done with."""

    site: Site
    what: str  # the class of the object
    dropped: Site  # where the object is dropped before its time
    callback: str


def left_timers(machine: Machine, program: Program) -> Iterator[LeftTimer]:
    """Timers for a long time, each with an object of its own, that nobody cancels when the object is dropped."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "timer" or note.site in seen or not machine.is_home(note.site):
            continue
        target, given = note.detail
        kept = _own_object(machine, note, [target, *given])
        callback = next(functions_behind(target), None)
        if kept is None or callback is None or not _is_long(note) or _is_cancelled(program, note):
            continue
        dropped = _dropped_early(program, callback)
        if dropped is not None:
            seen.add(note.site)
            yield LeftTimer(note.site, kept, dropped, callback.name)


def _own_object(machine: Machine, note: Plain, values: list[Value]) -> str | None:
    """The class of a heavy object that is made for this timer: in the same round, or that makes it."""
    for obj in objects_in(machine, values):
        own = obj is note.frame.receiver if note.frame.name == "__init__" else _is_of_round(obj, note)
        if own and isinstance(obj.cls, Class) and heavy(machine, (obj,), 4)[0] in ("tensor", "array", "module"):
            return obj.cls.facts.name
    return None


def _is_of_round(obj: Obj, note: Plain) -> bool:
    """Whether an object was made by the function that starts the timer."""
    return bool(note.loops) and any(made is obj for made in note.frame.allocs.values())


def _is_long(note: Plain) -> bool:
    """Whether the time is long, by its number or its name."""
    call = next((one for one in calls(note.frame.facts.body) if one[1] == note.site), None)
    interval = keyword(call, "interval", 0) if call is not None else None
    if interval is None:
        return False
    if interval[0] == m.CONST:
        return isinstance(interval[1], int) and interval[1] >= _SECONDS
    return any(word in last_name(part).lower() for part in nodes(interval) for word in _LONG)


def _is_cancelled(program: Program, note: Plain) -> bool:
    """Whether anything cancels what the timer is bound to, or hands it to somebody who may."""
    bound = {
        last_name(target)
        for one in statements(note.frame.facts.body)
        if one[0] in (m.ASSIGN, m.ANNOTATE) and any(call[1] == note.site for call in calls_of(one))
        for target in targets(one)
    }
    if bound & {"", None}:
        return True
    for place in program.places:
        for one in statements(place.facts.body):
            for call in calls_of(one):
                if last_name(call[2]) == "cancel" and call[2][0] == m.ATTR and last_name(call[2][1]) in bound:
                    return True
                if any(
                    part[0] in (m.NAME, m.ATTR) and part[-1] in bound for part in (*call[3], *dict(call[4]).values())
                ):
                    return True
    return False


def _dropped_early(program: Program, callback: FunctionFacts) -> Site | None:
    """Where something else takes out of a table what the timer's callback, or what it calls, would take out of it."""
    own = [callback, *(place.facts for name in callback.calls for place in program.by_name.get(name, ())[:1])]
    tables = {table for function in own for _, table in _taken_out(function)}
    names = {function.name for function in own}
    for place in program.places if tables else ():
        if place.facts.name in names or not names.isdisjoint(place.facts.calls) or "cancel" in place.facts.calls:
            continue
        for site, table in _taken_out(place.facts):
            if table in tables:
                return site
    return None


def _taken_out(function: FunctionFacts) -> Iterator[tuple[Site, str]]:
    """The tables that a function takes entries out of."""
    for one in statements(function.body):
        if one[0] == m.DELETE:
            yield from ((one[1], last_name(target[1])) for target in one[2] if target[0] == m.ITEM)
        for call in calls_of(one):
            if call[2][0] == m.ATTR and call[2][2] in _TAKES_OUT and text(call[2][1]):
                yield one[1], last_name(call[2][1])
