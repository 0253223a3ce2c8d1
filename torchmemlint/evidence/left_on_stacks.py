"""Stacks that one way through a round leaves an entry on, where the others take it off again.

`enter(batch)` at the head of a loop and `leave()` at its end are even, until a `continue` between them goes on to the
next round. `pop()` says no more than that it takes the last one, so the text must show that this is the very entry: in
a round that comes to it, it was always put there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt, statement_of
from ..facts.walk import calls_of, last_name, loops, statements
from ..facts.ways import THERE, LeftBehind, Ways
from .places import describe, last_part
from .ways_out import below, chain, common_frame

if TYPE_CHECKING:
    from ..facts.releases import Releases
    from ..interpreter.events import Reset, Store
    from ..interpreter.machine import Machine

_READERS = frozenset(("len", "list", "tuple", "reversed", "enumerate", "iter", "str", "repr", "bool", "print"))
_EXITS = ("__exit__", "__aexit__", "__del__")


def left_on_stack(machine: Machine, releases: Releases, store: Store, resets: Sequence[Reset]) -> LeftBehind | None:
    """The way out on which what was put on a stack stays there, and nothing but such `pop()` takes from it."""
    if store.how != "grow" or not resets or not all(reset.how == "pop" for reset in resets):
        return None
    own = [reset for reset in resets if not _ends_a_block(reset, store)]
    if any(map(_takes_the_oldest, own)):
        return None
    frame = common_frame(store.frame, own[0].frame) if own else None
    if frame is None or any(common_frame(store.frame, reset.frame) is not frame for reset in own):
        return None
    holder = describe(store.owner, store.key, machine)
    name = last_part(holder.text)
    if not releases.of(name, holder.owner) - {"__init__"} <= {reset.frame.name for reset in resets}:
        return None
    if frame.name in frame.facts.calls or _is_passed_around(machine, name):
        return None  # what calls itself may leave on purpose what says how it got there
    puts, takes = below(store.frame, store.site, frame), {below(reset.frame, reset.site, frame) for reset in own}
    ways = Ways(name, puts, takes)
    ways.through_function(frame.facts.body)
    if ways.met != {THERE}:
        return None
    goes_on = _next_rounds(frame.facts, puts)
    return next((way for way in ways.found if way.failed or way.site in goes_on), None)


def _takes_the_oldest(reset: Reset) -> bool:
    """`frames.pop(0)`, `frames.popleft()`: of a window, which is left to fill on the other ways."""
    number = statement_of(reset.site)
    here = (one for one in statements(reset.frame.facts.body) if statement_of(one[1]) == number)
    taking = [call for one in here for call in calls_of(one) if last_name(call[2]) in ("pop", "popleft")]
    return any(last_name(call[2]) == "popleft" or call[3][:1] == ((m.CONST, 0),) for call in taking)


def _ends_a_block(reset: Reset, store: Store) -> bool:
    """Whether it takes off what a `with` block has put there itself, and the store is not of one."""
    around = list(chain(store.frame))
    inner = [frame for frame in chain(reset.frame) if frame not in around]
    return any(frame.facts.generator or frame.name in _EXITS for frame in inner)


def _next_rounds(function: FunctionFacts, puts: int) -> set[Site]:
    """The `return` statements, and each `continue` of the loop that puts something there in each round: after a `break`
    somebody may look at what is left."""
    leaving = {one[1] for one in statements(function.body) if one[0] == m.RETURN}
    around = [inside for _, inside in loops(function.body) if any(statement_of(one[1]) == puts for one in inside)]
    for inside in around[:1]:
        leaving |= {one[1] for one in inside if one[0] == m.JUMP and not one[2]}
    return leaving


def _is_passed_around(machine: Machine, name: str) -> bool:
    """Whether somebody gets the list as a whole, who may take more off it than the last one."""
    return any(
        any(_is_place(whole, name) for whole in _wholes(statement))
        for unit in machine.units.values()
        for function in unit.facts.functions
        for statement in statements(function.body)
    )


def _wholes(statement: Stmt) -> Iterator[Expr]:
    """What a statement returns, binds to another name, or gives to a function."""
    if statement[0] in (m.RETURN, m.ASSIGN) and statement[-1] is not None:
        yield statement[-1]
    for call in calls_of(statement):
        if last_name(call[2]) not in _READERS:
            yield from call[3]
            yield from (value for _, value in call[4])


def _is_place(expr: Expr, name: str) -> bool:
    return bool(expr[0] in (m.ATTR, m.NAME) and expr[-1] == name)
