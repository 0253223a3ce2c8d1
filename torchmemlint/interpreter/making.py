"""How classes come to be and make their objects: by a metaclass, or by a `__new__` of their own.

Both are where objects are kept so that they are not made twice: `cls._instances[key] = super().__call__(key)`.
"""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Site
from .frames import Frame
from .functions import call_function
from .machine import Machine
from .values import LIGHT, UNKNOWN, Bound, Class, Function, Kwargs, Value

_STORES = m.GROWS | m.KEEPS


def tell_metaclass(machine: Machine, frame: Frame, klass: Class) -> None:
    """A new class is given to the `__init__` of its metaclass, which may enter it somewhere, or give it a table."""
    for member in (klass.meta.find("__init__") if klass.meta is not None else None) or ():
        if type(member) is Function:
            call_function(machine, frame, member, klass, [LIGHT, UNKNOWN, UNKNOWN], {}, klass.facts.site + m.DECORATORS)


def attribute_of_metaclass(klass: Class, name: str) -> Value:
    """What a class has under a name that neither it nor its bases bind."""
    found = klass.meta.find(name) if klass.meta is not None else None
    return tuple(Bound(atom, klass) if type(atom) is Function else atom for atom in found or ())


def made_by_class(
    machine: Machine, frame: Frame, cls: Class, args: list[Value], kwargs: Kwargs, site: Site
) -> Value | None:
    """What a class gives when it is called, where its metaclass or its `__new__` stores something; None if there is
    nothing of the kind, or this is what that one asks for."""
    if cls in machine.making:
        return None
    calls = _storing(cls.meta, "__call__")
    news = () if calls else _storing(cls, "__new__")
    if not (calls or news) or machine.too_deep:
        return None
    if calls:
        machine.making.append(cls)
    result: Value = UNKNOWN
    for member in calls:
        result = machine.join(result, call_function(machine, frame, member, cls, args, kwargs, site))
    for member in news:
        result = machine.join(result, call_function(machine, frame, member, None, [(cls,), *args], kwargs, site))
    if calls:
        machine.making.pop()
    return result or None


def _storing(cls: Class | None, name: str) -> tuple[Function, ...]:
    found = cls.find(name) if cls is not None else None
    return tuple(atom for atom in found or () if type(atom) is Function and atom.facts.flags & _STORES)
