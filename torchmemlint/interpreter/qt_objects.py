"""What Qt keeps of objects of the project: children of others, and objects that a function refers to which is
connected to a signal of their own, or of something that lives longer.

They are kept from C++, where Python's collector does not look (measured with PySide6 6.12: of five dialogs with a
parent, or with a lambda over `self` connected to a button of theirs, none was freed; with a bound method, all were).
"""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.walk import calls, statements
from .callbacks import objects_in
from .frames import Frame
from .machine import Machine
from .values import Class, Function, Kwargs, Obj, Partial, Value

_QT = ("PySide6.", "PySide2.", "PyQt6.", "PyQt5.", "qtpy.")
_SELF: Expr = (m.NAME, "self")


def is_qt(obj: object) -> bool:
    """Whether an object is of a class of the project that is one of Qt's."""
    return type(obj) is Obj and isinstance(obj.cls, Class) and any(base.startswith(_QT) for base in obj.cls.external)


def note_child(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> None:
    """`super().__init__(parent)`: the parent keeps its children [docs of Qt: QObject, "Object Trees & Ownership"]."""
    if is_qt(obj):
        given = kwargs.get("parent", args[-1] if args else ())
        for parent in given:
            if is_qt(parent) and parent is not obj:
                machine.note("qt-child", site, frame, (obj, parent))


def note_slot(machine: Machine, frame: Frame, callee: Expr, slots: Value, senders: list[Obj], site: Site) -> None:
    """`self.button.clicked.connect(lambda: self.save())`: what is connected refers to the object, which has the sender.
    Or something else sends the signal, and has what is connected as long as it lives itself: `settings.changed.connect(
    lambda: self.draw())`. A bound method is known to Qt by its object, and does not keep it."""
    owner, sender = frame.receiver, callee[1]
    functions = tuple(
        atom for atom in slots if type(atom) is Partial or (type(atom) is Function and atom.facts.owner < 0)
    )
    if not functions or sender[0] != m.ATTR:
        return
    kept = [one for one in objects_in(machine, [functions]) if isinstance(one.cls, Class)]
    if type(owner) is Obj and owner in kept and _is_of(frame, sender[1]):
        machine.note("qt-slot", site, frame, (owner, sender[2]))
        return
    for other in filter(is_qt, senders):
        for one in kept:
            if one is not other:
                machine.note("qt-slot-of-another", site, frame, (one, sender[2], other))


def _is_of(frame: Frame, sender: Expr) -> bool:
    """Whether an object has what sends a signal: itself, on an attribute, or made for it, `QAction("Save", self)`."""
    if sender == _SELF or sender[:2] == (m.ATTR, _SELF):
        return True
    if sender[0] == m.CALL:
        return sender[2][:2] == (m.ATTR, _SELF) or _SELF in sender[3]
    body = frame.facts.body
    made = [one[3] for one in statements(body) if one[0] == m.ASSIGN and sender in one[2] and one[3][0] == m.CALL]
    taken = (call for call in calls(body) if sender in call[3])
    return any(_is_of(frame, one) for one in made) or any(call[2][:2] == (m.ATTR, _SELF) for call in taken)
