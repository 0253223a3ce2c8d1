"""What functions of other packages do to tensors: those that compute with them, or show them in another shape."""

from __future__ import annotations

from ..facts import knowledge
from ..facts.model import Site
from .frames import Frame
from .machine import Machine
from .tensors import arithmetic
from .values import Kwargs, Tensor, Value


def computed(
    machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value | None:
    """The result of such a function, if it is given a tensor in sight."""
    package, _, tail = dotted.rpartition(".")
    if tail not in knowledge.COMPUTES.get(package, ()) or not args:
        return None
    values = [*args, *kwargs.values()]
    if not any(machine.reach(value, 2) for value in values):
        return None
    first = args[0][0] if len(args[0]) == 1 else None
    if dotted == "einops.rearrange" and type(first) is Tensor:
        return machine.call_method(frame, first, "reshape", [], {}, site)
    return arithmetic(machine, values)
