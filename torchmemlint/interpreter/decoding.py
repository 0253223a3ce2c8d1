"""Tensors that torchvision and torchaudio make of files and images."""

from __future__ import annotations

from ..facts import knowledge
from ..facts.model import Site
from .frames import Frame
from .machine import Machine
from .tensors import free
from .values import LIGHT, External, Value

ROOTS = ("torchvision", "torchaudio")
_TO_TENSOR = "torchvision.transforms.functional.to_tensor"


def decode(machine: Machine, frame: Frame, dotted: str, args: list[Value], site: Site) -> Value | None:
    """What a call of one of the two makes, if it is a tensor, or something that will make one."""
    package, tail = dotted.rsplit(".", 1)
    if dotted == "torchaudio.load":
        pair = machine.allocate(frame, ("loaded", site), "tuple")
        pair.fields = {"[0]": free(machine, 3), "[1]": LIGHT}
        return (pair,)
    if ".transforms" in package:
        if tail in knowledge.TO_TENSOR:
            return (External(_TO_TENSOR),)
        if tail == "Compose" and args:
            made = machine.elements(frame, args[0])
            return (External(_TO_TENSOR),) if External(_TO_TENSOR) in made else None
    makes = ".transforms" in package and tail in knowledge.TO_TENSOR_CALLS
    reads = package.startswith("torchvision.io") and tail in knowledge.PICTURE_READERS
    if makes or reads:
        return free(machine, 3)
    return None
