"""Attributes that go: `del self.model`, and by their names, `delattr(self, name)`."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import CALLS_PER_STATEMENT, Site
from ..facts.program import expressions
from .attributes import note_dropped_part
from .frames import Frame
from .machine import Machine
from .values import UNKNOWN, Const, Obj, Value


def delete(machine: Machine, frame: Frame, owner: Obj, name: str, site: Site) -> None:
    """`del owner.name`"""
    note_dropped_part(machine, frame, owner, name, site)
    machine.reset(frame, owner, name, "clear")
    machine.put(owner.fields, name, UNKNOWN)


def delete_by_name(machine: Machine, frame: Frame, args: list[Value], site: Site) -> None:
    """`delattr(self, name)`, `setattr(self, name, None)`: of several names, `for name in ("model", "optimizer")`, all;
    of a name that is not known, `for name, value in vars(self).items()`, the models, which such a loop looks for."""
    atoms = args[1] if len(args) > 1 else UNKNOWN
    names = [atom.value for atom in atoms if type(atom) is Const and isinstance(atom.value, str)]
    told = len(names) == len(atoms) > 0
    kinds = ("module",) if told or _asks_for_modules(frame) else ("module", "optimizer")
    for owner in args[0] if args else ():
        if type(owner) is not Obj or owner.is_put_off or owner.kind not in ("instance", "module"):
            continue
        at = site - site % CALLS_PER_STATEMENT
        gone = names if told else [key for key, value in owner.fields.items() if _is_one(key, value, kinds)]
        machine.note("deleted-together", at, frame, gone)
        for name in gone:
            delete(machine, frame, owner, name, at)


def _is_one(key: str, value: Value, kinds: tuple[str, ...]) -> bool:
    return key[:1] not in ("$", "<") and any(type(atom) is Obj and atom.kind in kinds for atom in value)


def _asks_for_modules(frame: Frame) -> bool:
    """`isinstance(value, nn.Module)`, and nothing of optimizers."""
    named = (str(part[-1]) for part in expressions(frame.facts.body) if part[0] in (m.NAME, m.ATTR))
    return "isinstance" in frame.facts.calls and not any("optim" in one.lower() for one in named)
