"""Objects that have one table for their attributes: `self.__dict__ = self._shared_state`, the Borg pattern."""

from __future__ import annotations

from ..facts.model import Site
from ..facts.walk import with_tests
from .frames import Frame
from .machine import Machine
from .values import Const, Obj, Value

_COMMON = "$common"  # of a table that several objects have


def share(machine: Machine, obj: Obj, value: Value) -> None:
    """What has a table for its `__dict__` has its attributes there from now on, and they live as long as the table."""
    for atom in value:
        if type(atom) is Obj and atom.kind == "dict":
            machine.put(atom.fields, _COMMON, (Const(True),))
            obj.fields, obj.birth, obj.home = atom.fields, atom.birth, atom.home


def is_made_by_the_first(frame: Frame, obj: Obj, site: Site) -> bool:
    """Whether a container is made for all that share a table, `if "refs" not in self.__dict__: self.refs = []`."""
    if obj.is_put_off or _COMMON not in obj.fields:
        return False
    return any(one[1] == site and tests for one, tests in with_tests(frame.facts.body))
