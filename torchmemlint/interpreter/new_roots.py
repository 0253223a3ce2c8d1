"""`self.root = self.root.children[move]`: a node of a tree in the place of the one above it, to which it refers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts.model import Site
from .events import Store
from .frames import Frame
from .machine import Machine
from .stores import event_at
from .values import CONTAINERS, Class, Obj, Value


class NewRoot(NamedTuple):
    """A node that takes the place of one above it."""

    node: Obj
    back: str  # the attribute by which it refers to that


def note_new_root(machine: Machine, frame: Frame, owner: Obj, name: str, node: Obj, site: Site) -> None:
    """Note it where nobody but the place has the tree: a cursor goes down a tree that is there anyway."""
    if node.kind != "instance" or not isinstance(node.cls, Class) or owner.kind != "instance" or not machine.loops:
        return
    above = [atom for atom in owner.fields.get(name, ()) if type(atom) is Obj and atom.cls is node.cls]
    for old in above:
        back = next((key for key, held in node.fields.items() if key[:1] not in "$*" and old in held), None)
        if back is None or not _is_below(old, node, back):
            continue
        if _has_tree(owner, name, old.cls) or _is_at_hand(frame, owner, above):
            continue
        machine.note("new-root", site, frame, (event_at(machine, frame, owner, name, "set", site), NewRoot(node, back)))
        return


def _is_below(old: Obj, node: Obj, back: str) -> bool:
    """Whether a node is one of those that another one has, itself or in a container."""
    parts = (value for key, value in old.fields.items() if key != back)
    return any(node in value or node in _inside(value) for value in parts)


def _inside(value: Value) -> Iterator[object]:
    for atom in value:
        if type(atom) is Obj and atom.kind in CONTAINERS:
            for part in atom.fields.values():
                yield from part


def _has_tree(owner: Obj, name: str, cls: object) -> bool:
    """Whether an object has nodes in another attribute, too."""
    others = (value for key, value in owner.fields.items() if key != name)
    return any(type(atom) is Obj and atom.cls is cls for value in others for atom in (*value, *_inside(value)))


def _is_at_hand(frame: Frame, owner: Obj, nodes: list[Obj]) -> bool:
    """Whether somebody who has called, or the module, has one of the nodes."""
    around: Frame | None = frame
    while around is not None:
        if around.receiver is not owner and any(one in value for value in around.vars.values() for one in nodes):
            return True
        around = around.caller
    return any(one in value for value in frame.unit.frame.vars.values() for one in nodes)


def new_roots(machine: Machine) -> Iterator[tuple[Store, NewRoot]]:
    yield from (note.detail for note in machine.plain if note.kind == "new-root")
