"""`contextvars.ContextVar`: a default is one object for all contexts that have set nothing of their own."""

from __future__ import annotations

from ..facts.model import Site
from .frames import Frame
from .machine import Machine
from .values import LIGHT, UNKNOWN, Kwargs, Obj, Value

KIND = "context-variable"


def context_variable(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    variable = machine.allocate(frame, ("context-variable", site), KIND)
    default = kwargs.get("default", UNKNOWN)
    for atom in default:
        if type(atom) is Obj and atom.home is None:
            atom.home = (variable, "*")
    machine.put(variable.fields, "*", default)
    return (variable,)


def variable_method(machine: Machine, variable: Obj, name: str, args: list[Value]) -> Value:
    if name == "set" and args:
        machine.put(variable.fields, "*", args[0])
        machine.put(variable.fields, "$set", LIGHT)
        return LIGHT
    if name == "get" and ("$set" in variable.fields or not _is_set_unseen(variable)):
        value = variable.fields.get("*", UNKNOWN)
        return value or (args[0] if args else UNKNOWN)
    return UNKNOWN


def _is_set_unseen(variable: Obj) -> bool:
    """Whether the file of a variable gives each context a value of its own, where the run has not come to: then it is
    not the default that somebody gets."""
    scope, name = variable.home or (None, "")
    if not isinstance(scope, Frame):
        return True
    return any("set" in function.uses.get(name, ()) for function in scope.unit.facts.functions)
