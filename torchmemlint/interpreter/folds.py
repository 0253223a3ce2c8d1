"""Loops without the statement: `functools.reduce`, over a variable without a name, and `map`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Site
from .branching import begin_round, go_round, loop_at
from .frames import Frame
from .loops import loop_kind, take_steps
from .machine import Machine
from .values import UNKNOWN, Kwargs, Value

_SO_FAR = "reduce(...)"  # what messages call the variable
_NO_NAME = (m.CONST, None)


def fold(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`reduce(function, iterable, initial)`: what it has so far is there for the whole of it."""
    if len(args) < 2:
        return UNKNOWN
    function, over = args[:2]
    frame.births.pop(_SO_FAR, None)
    machine.assign(frame, (m.NAME, _SO_FAR), args[2] if len(args) > 2 else machine.iterate(frame, over), site)
    loop = loop_at(machine, frame, ("fold", site), loop_kind(machine, frame, _NO_NAME, over))

    def once() -> None:
        made = machine.call(frame, function, [frame.vars[_SO_FAR], machine.iterate(frame, over)], {}, site)
        machine.assign(frame, (m.NAME, _SO_FAR), made, site)

    go_round(machine, frame, loop, once)
    take_steps(machine, loop, over)
    return frame.vars.pop(_SO_FAR, UNKNOWN)


@contextlib.contextmanager
def for_each(machine: Machine, frame: Frame, over: Value, site: Site) -> Iterator[None]:
    """What is called for each item, as in a comprehension: `map(step, batches)`."""
    outer = machine.loops
    loop = loop_at(machine, frame, ("each", site), loop_kind(machine, frame, _NO_NAME, over))
    machine.loops = (*outer, loop)
    begin_round(machine, loop)
    yield
    take_steps(machine, loop, over)
    machine.loops = outer
