"""Descriptors of the project: objects of a class that decide what an attribute of another class's objects is.

`rate = Parameter(0.1)` in a class body, with `__get__` and `__set__` in `Parameter`: where the value goes is for these
to say, and it need not be the object that has the attribute.
"""

from __future__ import annotations

from typing import Any

from .machine import Machine
from .values import Class, Function, Obj, Value

METHODS = ("__get__", "__set__")


def describes(value: Value) -> bool:
    """Whether a class binds a descriptor."""
    return any(type(atom) is Obj and any(method_of(atom, name) is not None for name in METHODS) for atom in value)


def method_of(atom: Any, name: str) -> Function | None:
    """A descriptor's method of this name."""
    if type(atom) is not Obj or not isinstance(atom.cls, Class):
        return None
    found = atom.cls.find(name)
    return next((one for one in found or () if type(one) is Function), None)


def setters(machine: Machine, owner: Obj, name: str) -> list[tuple[Obj, Function]]:
    """The descriptors that setting an attribute calls."""
    if name not in machine.described or not isinstance(owner.cls, Class):
        return []
    found = ((atom, method_of(atom, "__set__")) for atom in owner.cls.find(name) or ())
    return [(atom, method) for atom, method in found if type(atom) is Obj and method is not None]
