"""Graphs that a training loop leaves on its samples: `for sample in samples: sample.hidden = model(sample.x)`."""

from __future__ import annotations

from ..interpreter.drawn_items import draws
from ..interpreter.events import Store
from ..interpreter.frames import Loop
from ..interpreter.holders import heavy_objects
from ..interpreter.keys import KNOWN
from ..interpreter.machine import Machine
from ..interpreter.values import ATTACHED, Obj


def is_left_on_item(store: Store, loop: Loop) -> bool:
    """Whether each round of a loop, which goes back through what it computes, puts it on another object that was there
    before: none of them is asked for it again. One that has a model, such as an agent, is no sample."""
    owner = store.owner
    if not loop.backward or not (store.how == "set" or (store.how == "keyed" and store.key_kind == KNOWN)):
        return False
    if not isinstance(owner, Obj) or not draws(loop, owner):
        return False
    return not any(heavy_objects((holder,)) for holder in owner.holders if holder in loop.drawn)


def was_there(machine: Machine, store: Store) -> bool:
    """Whether a place gets a container of what it had already, `self.data = dict(self.data)`."""
    if store.how != "set" or store.nesting == 0:
        return False
    attached = [tensor.node for tensor in store.tensors if tensor.graph == ATTACHED]
    return all(_is_from(machine, node, store) for node in attached)


def _is_from(machine: Machine, node: int, store: Store, depth: int = 6) -> bool:
    """Whether a tensor is what was put into a container that the place of a store had before, as it was read on any
    way from there."""
    label = machine.derivation.labels.get(node)
    if label is not None:
        if label[0] != "write" or not isinstance(label[1], Obj):
            return False
        if not isinstance(store.owner, Obj) or not set(label[1].made) <= set(store.owner.made):
            return False  # one that this round has made
        place = (store.owner, store.key)
        return label[1:3] == place or any(isinstance(one, Obj) and one.home == place for one in label[1].holders)
    before = machine.derivation.written.get(node, ()) if depth else ()
    return bool(before) and all(_is_from(machine, one, store, depth - 1) for one in before)


def is_of_one_item(store: Store, growing: list[Loop]) -> bool:
    """Whether another object gets it in each round, so that nothing goes from one round to the next."""
    owner = store.owner
    return isinstance(owner, Obj) and bool(growing) and all(draws(loop, owner) for loop in growing)
