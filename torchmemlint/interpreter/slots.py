"""What Qt's signals hand over: `job.ready.connect(self.show)` and `self.ready.emit(mask)` call `show(mask)`."""

from __future__ import annotations

from typing import Any

from ..facts import model as m
from ..facts.model import Expr, Site
from .frames import Frame
from .machine import EVALUATE, Machine
from .qt_objects import note_slot
from .threads import in_thread
from .values import ON, Bound, Function, Obj, Partial, Value, is_light

Signal = tuple[Obj, str]  # of one object, under its name

_MOST = 4  # values or slots of a signal, each of which is handed over


def connect(machine: Machine, frame: Frame, callee: Expr, args: list[Value], site: Site) -> None:
    """`job.ready.connect(self.show)`: what was emitted already comes now, for a thread runs where it is started."""
    slots = tuple(atom for atom in (args[0] if args else ()) if type(atom) in (Bound, Function, Partial))
    signals = _signals(machine, frame, callee) if slots else []
    note_slot(machine, frame, callee, slots, [sender for sender, _ in signals], site)
    for signal in signals:
        known, emitted = machine.signals.setdefault(signal, ([], []))
        if slots in known or len(known) >= _MOST:
            continue
        known.append(slots)
        for given, moment in tuple(emitted):
            with machine.at(moment):
                _deliver(machine, frame, slots, given, site)


def emit(machine: Machine, frame: Frame, callee: Expr, args: list[Value], site: Site) -> None:
    """`self.ready.emit(mask)`: a number says nothing, and what nobody is connected to may be, later."""
    if all(map(is_light, args)):
        return
    for signal in _signals(machine, frame, callee):
        known, emitted = machine.signals.setdefault(signal, ([], []))
        if len(emitted) < _MOST:
            emitted.append((args, machine.moment()))
        for slots in tuple(known):
            _deliver(machine, frame, slots, args, site)


def _signals(machine: Machine, frame: Frame, callee: Expr) -> list[Signal]:
    """The signals that are meant: attributes of objects in sight."""
    if callee[1][0] != m.ATTR:
        return []
    owners = EVALUATE[callee[1][1][0]](machine, frame, callee[1][1])
    return [(atom, callee[1][2]) for atom in owners if type(atom) is Obj]


def _deliver(machine: Machine, frame: Frame, slots: Value, args: list[Value], site: Site) -> None:
    """A slot runs in the thread of its object [docs of Qt: Qt::AutoConnection], outside of what the sender is in."""
    if any(type(atom) is Bound and _is_moved(atom) for atom in slots):
        in_thread(machine, frame, slots, args, site)
        return
    outside: dict[str, Any] = {"grad": ON, "module_depth": 0, "threads": 0, "context": None}
    with machine.at(outside):
        machine.call(frame, slots, args, {}, site)


def _is_moved(slot: Bound) -> bool:
    return isinstance(slot.receiver, Obj) and "$moved" in slot.receiver.fields
