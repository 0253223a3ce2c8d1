"""Generators that wait, some for ever: who keeps one keeps its frame, and in that what its variables have."""

from __future__ import annotations

from ..facts import model as m
from ..facts.exhausted import polls
from ..facts.walk import ALWAYS, statements
from .frames import Frame
from .machine import Machine
from .values import Obj, Tensor, Value

_LOCALS = "$locals"


def keep_locals(machine: Machine, made: Obj, frame: Frame) -> None:
    """Note what a generator has in its variables where it waits, if nothing in its text ends it, or somebody goes on
    with it as he likes."""
    if _never_ends(frame) or polls(machine.facts):
        held = tuple(atom for name in sorted(frame.vars) for atom in frame.vars[name] if type(atom) is Tensor)
        machine.put(made.fields, _LOCALS, held)


def held_while_waiting(value: Value) -> list[Tensor]:
    """What the variables of generators have, in a value that is put away."""
    found = (atom.fields.get(_LOCALS, ()) for atom in value if type(atom) is Obj and atom.kind == "generator")
    return [atom for part in found for atom in part if type(atom) is Tensor]


def _never_ends(frame: Frame) -> bool:
    last = frame.facts.body[-1]
    if last[0] != m.WHILE or last[2] not in ALWAYS:
        return False
    return not any(one[0] in (m.RETURN, m.RAISE) or (one[0] == m.JUMP and one[2]) for one in statements(last[3]))
