"""Workers of loaders: the methods of a data set that they run, and what is done in them."""

from __future__ import annotations

from typing import Any

from ..facts import model as m
from ..facts.model import Site
from .contexts import Context, in_worker
from .frames import Frame
from .loader_devices import none_by_default
from .machine import Machine
from .processes import method_of
from .values import (
    CONTAINERS,
    LIGHT,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Function,
    Kwargs,
    Obj,
    Tensor,
    Value,
    constant,
    is_light,
)

_TEXTS = frozenset(
    """path paths file files filename filenames fname fnames name names text texts caption captions url urls sentence
    sentences string strings meta metadata id ids uid uids uuid key keys""".split()
)


def loader(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> None:
    """`DataLoader(data, num_workers=...)`: its workers run the data set's methods [docs: torch.utils.data]."""
    workers = kwargs.get("num_workers", args[5] if len(args) > 5 else (Const(0),))
    count = constant(workers)
    if count == 0:
        return
    persistent = constant(kwargs["persistent_workers"]) if "persistent_workers" in kwargs else False
    if persistent:  # True, or an expression: mostly whether there are workers at all
        machine.put(obj.fields, "$persistent", (Const(persistent is True),))
    context = Context("loader", site, method=method_of(kwargs.get("multiprocessing_context", UNKNOWN)))
    idle = not isinstance(count, int) and none_by_default(frame, site)
    if idle:
        machine.put(obj.fields, "$idle", (Const(True),))
    if constant(kwargs.get("pin_memory", (Const(False),))) is False:
        machine.put(obj.fields, "$shares", (Const(True),))  # its tensors come as they are, in shared memory
    dataset = kwargs.get("dataset", args[0] if args else UNKNOWN)
    machine.note("loader-workers", site, frame, (dataset, 3 if isinstance(count, int) else 1 if idle else 2, context))
    items: Value = UNKNOWN
    for atom in dataset:
        if type(atom) is Obj and isinstance(atom.cls, Class):
            for name, given in (("__getitem__", [LIGHT]), ("__iter__", [])):
                for member in atom.cls.find(name) or ():
                    if type(member) is Function:
                        made = in_worker(machine, frame, (Bound(member, atom),), given, context)
                        items = machine.join(items, made)
    if items and "collate_fn" not in kwargs:
        machine.put(obj.fields, "$item", items)
    collate = kwargs.get("collate_fn", UNKNOWN)
    in_worker(machine, frame, collate, [UNKNOWN], context)
    if any(map(_hands_on, collate)) and items and all(_is_plain(machine, atom) for atom in items):
        obj.fields.pop("$shares", None)  # nothing makes tensors of them
    in_worker(machine, frame, kwargs.get("worker_init_fn", UNKNOWN), [LIGHT], context._replace(setup=True))


def _hands_on(atom: Any) -> bool:
    """`lambda batch: batch`"""
    if type(atom) is not Function or len(atom.facts.params) != 1 or len(atom.facts.body) != 1:
        return False
    only = atom.facts.body[0]
    return bool(only[0] == m.RETURN and only[2] == (m.NAME, atom.facts.params[0].name))


def _is_plain(machine: Machine, atom: Any) -> bool:
    """Whether an item is a number or a text, or a list of such."""
    if type(atom) is Obj:
        return atom.kind in CONTAINERS and not atom.unknown and bool(atom.fields) and not machine.reach((atom,))
    return type(atom) is Const or is_light((atom,))


def part_of_batch(machine: Machine, tensor: Tensor, name: object) -> Tensor:
    """A part of what workers have loaded, by its key or the name that it is given: that is the shared tensor itself,
    but for lists of texts, which the loader makes no tensor of, and for what an index picks and copies."""
    derivation = machine.derivation
    if not derivation.loaded or not derivation.comes_from(tensor.node, derivation.loaded):
        return tensor
    if type(name) is int or (type(name) is str and _TEXTS.isdisjoint(name.lower().split("_"))):
        return tensor
    if type(name) is str and _is_tensor_of_items(machine, tensor, f"[{name}]"):
        return tensor
    return tensor._replace(node=derivation.node((tensor.node,)))


def _is_tensor_of_items(machine: Machine, batch: Tensor, key: str) -> bool:
    """Whether the items of the data set have a tensor by this key, whatever its name says."""
    loaders = (machine.derivation.loaded.get(node) for node in machine.derivation.names_of(batch.node))
    items = (item for loader in loaders if loader is not None for item in loader.fields.get("$item", UNKNOWN))
    return any(
        type(item) is Obj and any(type(part) is Tensor for part in item.fields.get(key, UNKNOWN)) for item in items
    )
