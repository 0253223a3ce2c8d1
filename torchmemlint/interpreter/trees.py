"""`torch.utils._pytree`: functions that are applied to the leaves of nested containers."""

from __future__ import annotations

from typing import Any

from ..facts import model as m
from ..facts.model import Site
from .frames import Frame
from .machine import Machine
from .stores import renew
from .unknown import unknown_call
from .values import CONTAINERS, UNKNOWN, External, Kwargs, Obj, Tensor, Value

_DEEPEST = 4
_MAPS = {"tree_map": (0, 1), "tree_map_only": (1, 2)}  # where the function and the tree are among the arguments


def tree_map(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value | None:
    """`tree_map(function, tree)`, `tree_map_only(Tensor, function, tree)`; None for other functions."""
    if name not in _MAPS:
        return None
    places = dict(zip(("func", "tree"), _MAPS[name], strict=True))
    given = {key: kwargs.get(key, args[place] if place < len(args) else UNKNOWN) for key, place in places.items()}
    if not given["func"]:
        return unknown_call(machine, frame, (m.NAME, name), args, kwargs, site)
    if name == "tree_map_only" and not _takes_tensors(args[:1]):
        return given["tree"]

    def applied(value: Value, depth: int) -> Value:
        made: Value = UNKNOWN
        for atom in value:
            if type(atom) is Obj and atom.kind in CONTAINERS and depth:
                copy = renew(machine, machine.allocate(frame, ("tree", site, atom.serial), atom.kind))
                for key, part in atom.fields.items():
                    if key[:1] != "$":
                        machine.put(copy.fields, key, applied(part, depth - 1))
                made = machine.join(made, (copy,))
            elif name == "tree_map" or type(atom) is Tensor:
                made = machine.join(made, _leaf(machine, frame, given["func"], atom, site))
            else:
                made = machine.join(made, (atom,))
        return made

    return applied(given["tree"], _DEEPEST)


def _takes_tensors(kinds: list[Value]) -> bool:
    """Whether `tree_map_only` is asked for tensors, alone or among others."""
    return any(type(atom) is not External or atom.dotted.endswith("Tensor") for kind in kinds for atom in kind)


def _leaf(machine: Machine, frame: Frame, function: Value, atom: Any, site: Site) -> Value:
    """What a function makes of one leaf; of what a module gave, of each of those that it may hold."""
    if type(atom) is not Tensor or not atom.bundle:
        return machine.call(frame, function, [(atom,)], {}, site)
    made = machine.call(frame, function, [(atom._replace(bundle=False),)], {}, site)
    return tuple(one._replace(bundle=True) if type(one) is Tensor else one for one in made)
