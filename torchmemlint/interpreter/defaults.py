"""Default arguments: made once, when the `def` runs, and kept by the function."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Param
from .machine import Machine
from .values import UNKNOWN, Function, Obj, Value

_MADE = (m.NEW, m.DICT, m.CALL)


def default_of(machine: Machine, function: Function, param: Param) -> Value:
    """What a parameter is when it is not given."""
    if param.default is None:
        return UNKNOWN
    if param.default[0] not in _MADE:
        return machine.eval(function.frame, param.default)
    key = ("defaults", id(function.facts))
    holder = function.frame.allocs.get(key)
    if holder is None:
        holder = Obj("defaults", function.facts.name, (), function.facts.site)
        function.frame.allocs[key] = holder
    if param.name not in holder.fields:
        outer = machine.loops, machine.journal, machine.site
        machine.loops, machine.journal = (), None
        value = machine.eval(function.frame, param.default)
        machine.loops, machine.journal, machine.site = outer
        for atom in value:
            if type(atom) is Obj and atom.home is None:
                atom.home = (holder, param.name)
        holder.fields[param.name] = value
    return holder.fields[param.name]
