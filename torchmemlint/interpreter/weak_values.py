"""Values of weak mappings that keep their keys, where nothing is seen of the key: by the text that makes the value.

`adapter = Adapter(layer)`, `self.adapters[layer] = adapter`, whoever calls this with whatever layer.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.walk import last_name, statements
from .frames import Frame
from .holders import free_names
from .machine import Machine
from .values import Class, Function

_DEPTH = 3


def is_made_with(machine: Machine, frame: Frame, key: Expr, value: Expr, site: Site, depth: int = _DEPTH) -> bool:
    """Whether what a statement stores was made with the key of its entry and keeps it."""
    if key[0] != m.NAME or not depth:
        return False
    if value[0] == m.NAME and value != key:
        return any(is_made_with(machine, frame, key, one, site, depth - 1) for one in _bound(frame, value, site))
    if value[0] == m.NEW:
        return any(part == key or is_made_with(machine, frame, key, part, site, depth - 1) for part in value[3])
    if value[0] == m.LAMBDA:
        return key[1] in free_names(frame.unit.facts.functions[value[1]])
    if value[0] != m.CALL:
        return False
    given = [*value[3], *(one for _, one in value[4])]
    if key not in given:
        return False
    if last_name(value[2]) in ("partial", "partialmethod"):
        return True
    made = machine.eval(frame, value[2]) if value[2][0] in (m.NAME, m.ATTR) else ()
    return any(type(atom) is Class and _keeps_its(atom, key, value) for atom in made)


def _bound(frame: Frame, name: Expr, site: Site) -> Iterator[Expr]:
    """What a name was bound to before."""
    for one in statements(frame.facts.body):
        if one[0] == m.ASSIGN and name in one[2] and one[1] < site:
            yield one[3]


def _keeps_its(cls: Class, key: Expr, call: Expr) -> bool:
    """Whether the constructor puts what it is given in the key's place on the object."""
    for atom in cls.find("__init__") or ():
        if type(atom) is not Function or not atom.facts.params:
            continue
        params = [param.name for param in atom.facts.params]
        names = {params[number] for number, one in enumerate(call[3], 1) if one == key and number < len(params)}
        names |= {name for name, one in call[4] if one == key}
        for one in statements(atom.facts.body):
            if one[0] == m.ASSIGN and one[3][0] == m.NAME and one[3][1] in names:
                return any(target[0] == m.ATTR and target[1] == (m.NAME, params[0]) for target in one[2])
    return False
