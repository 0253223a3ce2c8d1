"""Whether objects are made, again and again, while the cyclic collector is turned off.

`gc.disable()` holds until `gc.enable()`. What counts is what loops make between the two, and whether anything there
collects by hand: a collection before them, `gc.collect(); gc.disable()`, frees nothing of what comes after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..facts import model as m
from ..facts.model import Site, Stmt
from ..facts.program import Place, Program
from ..facts.walk import calls, calls_of, last_name, loops, statements
from .once import called_as, callers_of

_LEVELS = 4
_BY_LOOPS = frozenset({"__iter__", "__next__", "__getitem__"})  # what `for x in loader` calls


def is_off(program: Program, made: str) -> bool:
    """Whether anything turns the collector off, and loops make objects of a class, or call a function, by then."""
    places = program.places if "disable" in program.called else ()
    return any(_leaves_off(program, place, made) for place in places if "disable" in place.facts.calls)


def _leaves_off(program: Program, place: Place, made: str) -> bool:
    start = min(_calls_of_gc(program, place, "disable"), default=None)
    if start is None:
        return False
    end = max((site for site in _calls_of_gc(program, place, "enable") if site > start), default=None)
    within = [one for one in statements(place.facts.body) if start < one[1] and (end is None or one[1] < end)]
    if "collect" in _reached(program, _names(within)):
        return False
    makes = made in ("", place.facts.name) or _loops_make(program, place.facts.body, within, made)
    if makes or (end is not None and not _is_entered(place)):
        return makes
    if end is not None or _is_turned_on(program):
        return any(_makes_by_then(program, *user, made) for user in _users(program, place))
    others = (other for other in program.places if other is not place)
    return not any("collect" in other.facts.calls for other in others) and not _collects_again(program, place)


def _calls_of_gc(program: Program, place: Place, name: str) -> Iterator[Site]:
    for call in calls(place.facts.body) if name in place.facts.calls else ():
        if last_name(call[2]) == name and program.dotted(call[2]) == f"gc.{name}":
            yield call[1]


def _is_entered(place: Place) -> bool:
    """Whether what a function does holds for a block of who calls it: `with quiet():`."""
    return place.facts.generator or place.facts.name == "__enter__"


def _is_turned_on(program: Program) -> bool:
    """Whether a function turns on again what it has not turned off: `pause(); work(); resume()`."""
    enabling = (place for place in program.places if any(True for _ in _calls_of_gc(program, place, "enable")))
    return any(not any(True for _ in _calls_of_gc(program, place, "disable")) for place in enabling)


def _collects_again(program: Program, place: Place) -> bool:
    """Whether a function that loops call collects, too, before it turns the collector off."""
    return "collect" in place.facts.calls and any(looped for _, looped in callers_of(program, {called_as(place)}))


def _users(program: Program, place: Place) -> Iterator[tuple[Place, list[Stmt]]]:
    """Who calls a function that turns the collector off, with what comes after that, or stands in its block."""
    names = {called_as(place), place.cls} - {""}
    for user, _ in callers_of(program, names):
        every = list(statements(user.facts.body))
        for number, one in enumerate(every):
            if names.isdisjoint(last_name(call[2]) for call in calls_of(one)):
                continue
            yield user, list(statements(one[3])) if one[0] == m.WITH else every[number + 1 :]


def _makes_by_then(program: Program, user: Place, within: list[Stmt], made: str) -> bool:
    if "collect" in _reached(program, _names(within)):
        return False
    return made == user.facts.name or _loops_make(program, user.facts.body, within, made)


def _loops_make(program: Program, body: tuple[Stmt, ...], within: list[Stmt], made: str, level: int = _LEVELS) -> bool:
    """Whether a loop among some statements of a function makes such objects, or one of what they call."""
    for loop, inner in loops(body):
        if loop in within:
            names = _names([loop, *inner])
            if loop[0] == m.FOR and loop[3][0] in (m.NAME, m.ATTR):
                names |= _BY_LOOPS
            if made in _reached(program, names):
                return True
    called = (other.facts.body for name in _names(within) for other in program.by_name.get(name, ())) if level else ()
    return any(
        _loops_make(program, inner, list(statements(inner)), made, level - 1) for inner in called if inner is not body
    )


def _names(block: Iterable[Stmt]) -> set[str]:
    """The names of what statements call, and of the classes whose methods they call: `Sample.load(path)`."""
    found = set[str]()
    for call in (call for statement in block for call in calls_of(statement)):
        found.add(last_name(call[2]))
        if call[2][0] == m.ATTR:
            found.add(last_name(call[2][1]))
    return found


def _reached(program: Program, names: set[str]) -> set[str]:
    """The same of what is called by these names in turn."""
    for _ in range(_LEVELS):
        inner = [place for name in names for place in program.by_name.get(name, ())]
        names = names.union(*(_names(statements(place.facts.body)) for place in inner))
    return names
