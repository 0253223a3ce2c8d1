"""Parts of modules whose constructors are not run: what their text says that they make."""

from __future__ import annotations

from ..facts import model as m
from ..facts.walk import statements
from .machine import Machine
from .values import UNKNOWN, Class, External, Obj, Value


def written_part(machine: Machine, obj: Obj, name: str) -> Value:
    """`model.gru`, by `self.gru = nn.GRU(...)` in a class of another file that does nothing that a rule could
    speak about: its objects are not constructed, see `instances.is_dull`."""
    if obj.kind != "module" or not isinstance(obj.cls, Class) or not obj.cls.dull:
        return UNKNOWN
    for cls in obj.cls.mro:
        unit = cls.frame.unit
        index = cls.facts.methods.get("__init__")
        for one in statements(unit.facts.functions[index].body) if index is not None else ():
            if one[0] != m.ASSIGN or one[3][0] != m.CALL or (m.ATTR, (m.NAME, "self"), name) not in one[2]:
                continue
            for atom in machine.eval(unit.frame, one[3][2]):
                if type(atom) is External and atom.dotted.startswith("torch.nn.") and atom.dotted.count(".") <= 3:
                    ident = ("written", obj.serial, name)
                    part = machine.allocate(machine.module_frame, ident, "module", atom.dotted)
                    part.birth, part.home = obj.birth, part.home or (obj, name)
                    machine.put(obj.fields, name, (part,))
                    return (part,)
    return UNKNOWN
