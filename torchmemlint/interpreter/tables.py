"""What is taken for a tensor, until a text is used as a key of it to write: then it is a table of them."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Site
from .frames import Frame
from .loaders import part_of_batch
from .machine import Machine
from .stores import renew
from .values import ATTACHED, LIGHT, Tensor, Value


def as_table(machine: Machine, frame: Frame, target: Expr, key: object, value: Value, site: Site) -> None:
    """`batch["features"] = net(batch["image"])`: the labels beside them have no part in it."""
    place = target[1]
    if place[0] != m.NAME or place[1] not in frame.vars or not isinstance(key, str):
        return
    held = frame.vars[place[1]]
    if not any(type(part) is Tensor and part.graph == ATTACHED for part in machine.reach(value)):
        return
    tensors = [atom for atom in held if type(atom) is Tensor]
    if not tensors or any(machine.derivation.labels.get(tensor.node, ("",))[0] == "step" for tensor in tensors):
        return
    table = renew(machine, machine.allocate(frame, ("table", site), "dict"))
    table.unknown = True
    machine.put(table.fields, "$table", LIGHT)
    machine.put(table.fields, "*", tuple(part_of_batch(machine, tensor, "") for tensor in tensors))
    others = tuple(atom for atom in held if type(atom) is not Tensor)
    table.home = (frame, place[1])
    machine.put(frame.vars, place[1], (table, *others))
