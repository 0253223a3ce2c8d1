"""What is done only as long as a place is empty which the same branch fills: once for each object, or in the process.

`if not self.started: create_task(self.watch()); self.started = True`, `if self.graph is None: self.graph = capture()`:
however often the function is called, there is one task, and one graph.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import LEAVES, Expr, FunctionFacts, Site, statement_of
from ..facts.program import Block, Place, Program, targets
from ..facts.walk import blocks, calls_of, last_name, statements
from ..facts.when_missing import absent
from .once import is_repeated

_SELF = (m.NAME, "self")
_EMPTY = (None, False, 0)
_LETS_GO = ("clear", "pop", "popleft", "popitem")


def is_done_once(program: Program, place: Place, site: Site) -> bool:
    """Whether a statement of a function is done once, or each call of the function stands where that is so."""
    if _is_under_its_flag(program, place, site):
        return True
    name = place.facts.name
    asked = [
        _is_under_its_flag(program, other, one[1])
        for other in program.places
        if name in other.facts.calls
        for one in statements(other.facts.body)
        if any(last_name(call[2]) == name for call in calls_of(one))
    ]
    return bool(asked) and all(asked)


def _is_under_its_flag(program: Program, place: Place, site: Site) -> bool:
    number = statement_of(site)
    return not _is_made_anew(program, place) and any(
        not all(_is_emptied(program, flag) for flag in flags)
        for flags, branch in _guarded(place.facts.body, program, place)
        if any(statement_of(one[1]) == number for one in statements(branch))
    )


def _guarded(block: Block, program: Program, place: Place) -> Iterator[tuple[set[Expr], Block]]:
    """The branches that fill what they have found to be empty, each with these places."""
    for index, one in enumerate(block):
        if one[0] == m.IF:
            ways = [(_empty(one[2], True), one[3]), (_empty(one[2], False), one[4])]
            if one[3] and one[3][-1][0] in LEAVES:
                ways.append((_empty(one[2], False), block[index + 1 :]))  # `if self.started: return`
            for places, branch in ways:
                flags = {flag for flag in places if _lasts(flag, place.facts)}
                filled = flags & {*_filled(branch, program, place), *_counted(place.facts)} if flags else flags
                if filled:
                    yield filled, branch
        for suite in blocks(one):
            yield from _guarded(suite, program, place)


def _empty(test: Expr, holds: bool) -> Iterator[Expr]:
    """The places that are empty, or say no, where a test holds, or does not: `self.started is False`."""
    yield from absent(test, holds)
    if test[0] == m.COMPARE and test[3] == (m.CONST, 0) and type(test[3][1]) is int:
        if test[1] == ("Equal" if holds else "NotEqual"):
            yield test[2]
    elif test[0] == m.COMPARE and test[3][0] == m.CONST and type(test[3][1]) is bool:
        same = holds != test[3][1]  # what is not `True` says no, too
        if test[1] in (("Is", "Equal") if same else ("IsNot", "NotEqual")):
            yield test[2]


def _lasts(flag: Expr, function: FunctionFacts) -> bool:
    """Whether a place is an attribute or a global, and no variable of the call."""
    if flag[0] == m.NAME:
        return any(one[0] == m.GLOBAL and flag[1] in one[2] for one in statements(function.body))
    return bool(flag[0] == m.ATTR)


def _filled(branch: Block, program: Program, place: Place) -> Iterator[Expr]:
    """What a branch binds to anything but nothing, itself or by a method of its object."""
    for one in statements(branch):
        yield from _bound(one, empty=False)
        for call in calls_of(one):
            if call[2][0] == m.ATTR and call[2][1] == _SELF:
                for other in program.places:
                    if other.cls == place.cls and other.facts.name == call[2][2]:
                        for each in statements(other.facts.body):
                            yield from _bound(each, empty=False)


def _counted(function: FunctionFacts) -> Iterator[Expr]:
    """What each call of a function adds to, whatever the case: `self.steps += 1`."""
    return (one[2] for one in function.body if one[0] == m.AUGMENT and one[3] == "Add" and one[4][0] == m.CONST)


def _bound(statement: m.Stmt, *, empty: bool) -> Iterator[Expr]:
    """The places that a statement binds, to nothing or to something."""
    if statement[0] in (m.ASSIGN, m.ANNOTATE):
        value = statement[3] if statement[0] == m.ASSIGN else statement[4]
        nothing = value is None or value[0] == m.NOT or (value[0] == m.CONST and value[1] in _EMPTY)
        if nothing == empty:
            yield from targets(statement)
    elif statement[0] == m.DELETE and empty:
        yield from statement[2]
    for call in calls_of(statement) if empty else ():
        if call[2][0] == m.ATTR and call[2][2] in _LETS_GO:
            yield call[2][1]


def _is_emptied(program: Program, flag: Expr) -> bool:
    """Whether anything but a constructor empties the place again, after which it is all done once more."""
    later = [one for one in program.places if one.facts.name not in ("__init__", "<module>")]
    written = [one for other in later for one in statements(other.facts.body)]
    if any(_means(flag, bound) for one in written for bound in _bound(one, empty=True)):
        return True
    given = [one[3] for one in written if one[0] == m.ASSIGN and any(_means(flag, bound) for bound in targets(one))]
    return (m.CONST, True) in given and any(value[0] == m.NAME for value in given)  # `self.ready = ready`


def _means(flag: Expr, bound: Expr) -> bool:
    """`started` of `self.started`, `worker.started`."""
    return bound == flag or (flag[0] == m.ATTR and bound[0] == m.ATTR and bound[2] == flag[2])


def _is_made_anew(program: Program, place: Place) -> bool:
    """Whether a loop makes one object of the class after the other, each with a flag of its own."""
    init = next((one for one in program.places if one.cls == place.cls and one.facts.name == "__init__"), None)
    return bool(place.cls) and init is not None and is_repeated(program, init)
