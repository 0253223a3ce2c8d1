"""Views that are kept: each keeps the whole tensor that it was taken from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import TAKES_APART
from ..facts.model import Expr
from ..facts.walk import calls, last_name, nodes, statements
from ..interpreter.events import Store
from ..interpreter.frames import Loop, kept_since
from ..interpreter.keys import KNOWN
from ..interpreter.machine import Machine
from ..interpreter.parts import ARRAYS, FEW, ROW, SOME, Part, parts_of, same
from ..interpreter.values import ANY, Obj
from .collected import collected_on_device
from .lifetimes import Lifetimes
from .origins import origins
from .places import Holder, describe, last_part

_SIZES = frozenset(("untyped_storage", "storage", "_typed_storage", "_is_view"))
# What has few columns, of which most are taken: `points[:, :3]`, `boxes[:, :4]`, or one of two: `probs[:, 1]`.
_COLUMNS = "probs? proba xyz xy uv rgb points? pts coords? boxes bboxes box dets? poses? homog\\w*"
_OF_COLUMNS = re.compile(rf"(?:^|_)(?:{_COLUMNS.replace(' ', '|')})(?:$|_)")
_OF_ALL = ((m.NAME, "list"), (m.NAME, "tuple"))
_LASTS = ("attribute", "global", "class", "closure", "default")


class View(NamedTuple):
    store: Store
    holder: Holder
    base: str
    growing: bool
    weight: int
    copied_by: str  # the method that makes a copy: an array's has another name


def kept(machine: Machine, lifetimes: Lifetimes) -> Iterator[View]:
    """Places that gain a part of a larger tensor in each round of a loop, `states[:, 0]`, as a view; and those of an
    object that keep one from call to call."""
    if not machine.derivation.parts:
        return
    elsewhere: set[int] | None = None
    said: list[Store] = []
    for store in machine.stores:
        if not store.tensors or not machine.is_home(store.site) or any(t.size != ANY for t in store.tensors):
            continue
        parts = [part for tensor in store.tensors for part in parts_of(machine, tensor.node)]
        if not parts:
            continue
        holder = describe(store.owner, store.key, machine)
        if store.how == "grow" and isinstance(store.owner, Obj) and store.owner.home is None:
            continue  # `torch.stack([model(x)[:, 0] for x in xs])`: it goes with the expression
        loops = _growing(store)
        if store.how == "keyed" and lifetimes.pops_in(store, loops):
            continue  # the entry of something that is at work, `self.tails[request]`: no more than one at a time
        part = _costly(store, holder, parts, loops)
        if part is None or _kept_whole(machine, store, part, bool(loops)) or _asks_for_size(store):
            continue
        if any(_comes_with(store, other) for other in said):
            continue
        if elsewhere is None:
            elsewhere = {found.store.site for found in collected_on_device(machine, machine.stores)}
        if store.site not in elsewhere:
            weight = min(max(tensor.weight for tensor in store.tensors), _of_models(machine, store))
            if holder.kind == "local" and any(loop.kind == "loop" for loop in kept_since(store.owner, store.birth)):
                weight = 1  # a list for one round of an outer loop
            said.append(store)
            labels = machine.derivation.labels
            copied = "copy()" if any(labels.get(tensor.node) == ARRAYS for tensor in store.tensors) else "clone()"
            yield View(store, holder, part.name, bool(loops), min(2, weight), copied)


def _comes_with(store: Store, other: Store) -> bool:
    """Whether a container gets the object as a whole that has a part, which is said where the object gets that."""
    if not isinstance(store.owner, Obj) or not isinstance(other.owner, Obj) or store.owner is other.owner:
        return False
    entries = [atom for value in store.owner.fields.values() for atom in value]
    return any(entry is holder for holder in other.owner.holders for entry in entries)


def _of_models(machine: Machine, store: Store) -> int:
    """How surely what a part is taken of comes from a model: by its name alone one does not know how wide that is."""
    labels = origins(machine, store.node)
    return min((label[1].weight for label in labels if label[0] == "ran" and label[1].unknown), default=3)


def _growing(store: Store) -> list[Loop]:
    """The loops whose rounds add to the place."""
    if store.how not in ("grow", "keyed"):
        return []
    return [loop for loop in store.loops if loop not in store.birth and loop.kind == "loop"]


def _costly(store: Store, holder: Holder, parts: list[Part], loops: list[Loop]) -> Part | None:
    """The first part whose base would go if the part did not keep it."""
    if any(_OF_COLUMNS.search(name) for part in parts for name in (last_part(holder.text), part.name)):
        return None
    if any(part.kind == SOME for part in parts):
        return None  # on another way it is a copy, and the part may be all that there is
    for part in parts:
        if any(loop in part.loops for loop in loops):
            if part.kind == FEW or (part.kind == ROW and holder.kind in _LASTS and _picked(store)):
                return part
        elif part.kind == FEW and part.made_here and _is_attribute(store, holder):
            return part
    return None


def _is_attribute(store: Store, holder: Holder) -> bool:
    """Whether a place is an attribute of an object that has been made, or its entry for a layer, `cache.keys[i]`."""
    made = store.frame.name not in ("__init__", "setup", "build")
    one_of_few = store.how == "set" or (store.how == "keyed" and store.key_kind == KNOWN)
    return made and one_of_few and holder.kind == "attribute" and isinstance(store.owner, Obj)


def _picked(store: Store) -> bool:
    """Whether only some of the rows get there: the loop over them goes on to the next without keeping this one."""
    if not store.loops or store.conditions <= store.loops[-1].conditions:
        return False
    body = store.frame.facts.body
    every = (call for call in calls(body) if call[1] == store.site)
    bound = [one for one in statements(body) if one[0] == m.ASSIGN and one[1] == store.site]
    if any(target in nodes(one[3]) for one in bound for target in one[2]):
        return False  # `rows[key] = rows[key][-8:]`: it cuts what was put there before
    values = (one[3] for one in bound)
    return all(last_name(call[2]) != "extend" for call in every) and not any(map(_are_all, values))


def _are_all(value: Expr) -> bool:
    """`list(torch.split(batch, 1))`, `batch.unbind()`: all parts of it."""
    return value[0] == m.CALL and (value[2] in _OF_ALL or last_name(value[2]) in TAKES_APART)


def _asks_for_size(store: Store) -> bool:
    """Whether the function asks how large the storage is: it copies what is a view."""
    return not _SIZES.isdisjoint(store.frame.facts.calls)


def _kept_whole(machine: Machine, view: Store, part: Part, collected: bool) -> bool:
    """Whether the whole tensor is kept as well, as the part is: then that costs nothing. Where one statement stores
    the part on one way and the whole on another, it is one or the other."""
    whole = {part.base, *same(machine, part.base)}
    return any(
        (store.how in ("grow", "keyed") if collected else isinstance(store.owner, Obj))
        and not (store.site == view.site and store.nesting <= 0)
        and not whole.isdisjoint(_near(machine, store))
        for store in machine.stores
    )


def _near(machine: Machine, store: Store) -> set[int]:
    nodes = {tensor.node for tensor in store.tensors if tensor.node not in machine.derivation.parts}
    return nodes | {other for node in nodes for other in same(machine, node)}
