"""Operators of the project's own classes: `total + step`, where both are metrics that can be added."""

from __future__ import annotations

from typing import Final

from .frames import Frame
from .machine import Machine
from .values import UNKNOWN, Class, Obj, Value

_METHODS: Final = {"Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "truediv", "BitOr": "or"}


def by_own_operator(machine: Machine, frame: Frame, operator: str, left: Value, right: Value) -> Value:
    """What the methods of the operands' classes make of it, `__add__` or `__radd__`; UNKNOWN if they have none."""
    name = _METHODS.get(operator)
    result: Value = UNKNOWN
    for prefix, side, other in (("", left, right), ("r", right, left)) if name is not None else ():
        method = f"__{prefix}{name}__"
        for atom in side:
            own = type(atom) is Obj and isinstance(atom.cls, Class) and atom.cls.find(method)
            if own and not result:
                result = machine.call_method(frame, atom, method, [other], {}, machine.site)
    return result
