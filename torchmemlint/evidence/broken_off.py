"""Entries that only those leave which come to their end, where nobody tells the table of what is broken off.

`step()` takes a request out of its table when it is finished. The class has `abort(ids)` for the others, and where a
request is broken off, the method of that name, or a like one, is called of another object, but not of this one. Or it
is called, and takes the request out of other tables alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.filled_together import BREAKS_OFF, breaks_off_others
from ..facts.passed_by import PassedBy, called_when_finished, taken_when_finished
from ..facts.walk import calls
from .unreleased import may_be_asked, methods_of, methods_that, owner_of

if TYPE_CHECKING:
    from ..facts.releases import Releases
    from ..interpreter.events import Store
    from ..interpreter.machine import Machine
    from ..interpreter.values import Class

_WORDS = frozenset(("abort", "cancel", "disconnect"))


def not_told(machine: Machine, releases: Releases, store: Store, place: str) -> dict[str, PassedBy]:
    """The functions that take out of the table of a store only what has come to its end, if nobody calls the method
    that takes out the rest."""
    found = owner_of(store.owner)
    if found is None:
        return {}
    cls = found[1]
    letting_go = releases.of(place, cls.facts.name) - {"__init__"}
    breaking = {name for name in letting_go if not BREAKS_OFF.isdisjoint(re.split("_+", name))}
    if not breaking:
        return _left_out(machine, releases, cls, letting_go, place)
    if breaking == letting_go or not breaking <= methods_of(cls).keys():
        return {}
    if not all(_is_broken_off(machine, releases, name) for name in breaking):
        return {}
    if any(may_be_asked(machine, store.owner, name) for name in breaking):
        return {}
    ways = {}
    for name in letting_go - breaking:
        function = methods_of(cls).get(name)
        site = taken_when_finished(function, place) if function is not None else None
        if site is None:
            return {}
        ways[name] = PassedBy(site, name, "broken off")
    return ways


def _left_out(
    machine: Machine, releases: Releases, cls: Class, letting_go: set[str], place: str
) -> dict[str, PassedBy]:
    """Likewise, if what is broken off is taken out of other tables of the object, by a method that somebody calls, and
    not of this one."""
    methods = methods_of(cls)
    functions = [function for unit in machine.units.values() for function in unit.facts.functions]
    ways = {}
    for name in letting_go:
        function = methods.get(name)
        site = taken_when_finished(function, place) if function is not None else None
        site = called_when_finished(functions, name) if site is None and function is not None else site
        if site is None:
            return {}
        ways[name] = PassedBy(site, name, "broken off")
    breaking = [one for name, one in methods.items() if breaks_off_others(one) and releases.mentions(name)]
    told = letting_go.union(*(methods_that(cls, name) for name in letting_go))
    return ways if breaking and all(told.isdisjoint(one.calls) for one in breaking) else {}


def _is_broken_off(machine: Machine, releases: Releases, name: str) -> bool:
    """Whether anybody calls a method of this name, or tells another object in the same word which one is broken off:
    `engine.abort(ids)` beside `abort_requests(ids)`."""
    if releases.mentions(name):
        return True
    words = _WORDS.intersection(name.split("_"))
    functions = (function for unit in machine.units.values() for function in unit.facts.functions)
    return any(
        call[2][0] == m.ATTR and call[3] and not words.isdisjoint(call[2][2].split("_"))
        for function in functions
        if any(word in called for word in words for called in function.calls)
        for call in calls(function.body)
    )
