"""Frames of running functions that code asks for: each keeps its locals and, by `f_back`, those of who has called."""

from __future__ import annotations

from ..facts.model import Site
from .frames import Frame
from .machine import Machine
from .values import Caught, Value, constant

Kwargs = dict[str, Value]


def _of_caller(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`sys._getframe(1)`: so many calls further out; the own one if it is not told."""
    depth = constant(args[0]) if args else 0
    outer: Frame | None = frame
    for _ in range(depth if isinstance(depth, int) else 0):
        outer = None if outer is None else outer.caller
    return (_asked(machine, outer or frame, site),)


def _all(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`inspect.stack()`: a list of records, each of which has a frame [docs: inspect.FrameInfo]."""
    found = machine.allocate(frame, ("stack", site), "list")
    machine.put(found.fields, "*", (_asked(machine, frame, site),))
    return (found,)


def _asked(machine: Machine, frame: Frame, site: Site) -> Caught:
    machine.frames_asked_for.add(site)
    return machine.caught(frame, site)


STACK_FRAMES = {
    "inspect.currentframe": _of_caller,
    "sys._getframe": _of_caller,
    "inspect.stack": _all,
    "inspect.getouterframes": _all,
}
