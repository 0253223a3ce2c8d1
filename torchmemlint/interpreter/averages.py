"""Averages of weights that are written in place: into the parameters of a copy that does not train."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .passes import frozen
from .stores import store
from .tensors import arithmetic
from .values import ATTACHED, LEAF, MAYBE, UNKNOWN, Obj, Tensor

if TYPE_CHECKING:
    from ..facts.model import Site
    from .frames import Frame
    from .machine import Machine
    from .values import Value

_WEIGHTS = "$weights"  # of a module that does not train: what was computed into them


def frozen_owner(machine: Machine, value: Value) -> Obj | None:
    """The module that does not train whose parameter a value is."""
    for atom in value:
        label = machine.derivation.labels.get(atom.node) if type(atom) is Tensor else None
        if label is not None and label[0] == "parameters" and type(label[1]) is Obj and frozen(label[1]):
            return label[1]
    return None


def brings_graph(machine: Machine, given: Tensor) -> bool:
    """Whether what is computed in place from this carries a graph: a parameter that is trained needs no arithmetic."""
    if given.graph == LEAF:
        return frozen_owner(machine, (given,)) is None
    return given.graph == ATTACHED or (given.graph == MAYBE and bool(machine.derivation.parents[given.node]))


def write_average(machine: Machine, frame: Frame, held: Value, terms: tuple[Value, ...], site: Site) -> bool:
    """`p.mul_(1 - tau).add_(tau * q)` for the parameters of a frozen copy: they may be written to in place, and are
    no leaves any more. Each update goes back to the last one. Returns whether `held` is such a parameter."""
    module = frozen_owner(machine, held)
    if module is None:
        return False
    merged = arithmetic(machine, (module.fields.get(_WEIGHTS, UNKNOWN), *terms))
    machine.put(module.fields, _WEIGHTS, store(machine, frame, module, _WEIGHTS, merged, "inplace", site))
    return True
