"""Builtin functions: what they make of what they are given."""

from __future__ import annotations

import functools
from typing import Any

from ..facts.model import CALLS_PER_STATEMENT, Site
from .attributes import get_attribute, get_by_name, set_attribute, set_by_name
from .branching import gathering
from .deletion import delete_by_name
from .executed import execute
from .folds import for_each
from .frames import Frame
from .machine import Machine
from .stores import renew, settle, store
from .tensors import arithmetic, note_terms
from .values import (
    COUNT,
    IDENT,
    LEAF,
    LIGHT,
    NOTHING,
    UNKNOWN,
    Class,
    Const,
    Kwargs,
    Light,
    Obj,
    Tensor,
    Value,
    constant,
    is_light,
    is_loader,
)


def call_builtin(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    if name in (
        "float",
        "int",
        "len",
        "str",
        "bool",
        "repr",
        "print",
        "round",
        "isinstance",
        "hasattr",
        "format",
        "id",
        "hash",
        "hex",
    ):
        for value in args:
            for node in machine.nodes(value, 1):
                machine.derivation.consumed.add(node)
        if name == "round" and args:  # of a tensor it raises: torch.Tensor has no `__round__` [measured]
            machine.derivation.refuted.update(machine.nodes(args[0], 1))
            return LIGHT
        return _plain(name, args[0]) if args else LIGHT
    first = args[0] if args else UNKNOWN
    if name == "type" and len(args) == 1:
        return tuple(atom.cls for atom in first if type(atom) is Obj and isinstance(atom.cls, Class))
    if name in ("list", "set", "tuple", "frozenset", "dict", "sorted", "reversed"):
        return copy_container(machine, frame, name, args, kwargs, site)
    if name in ("zip", "enumerate"):
        parts = [LIGHT, first] if name == "enumerate" else args
        zipped = machine.allocate(frame, ("zipped", site), "zipped")
        for index, part in enumerate(parts):
            machine.put(zipped.fields, f"[{index}]", part)
        return (zipped,)
    if name == "abs" and is_light(first):
        return first
    if name in ("max", "min") and len(args) > 1 and "key" not in kwargs:
        return functools.reduce(machine.join, args)  # one of them, as it is
    if name in ("max", "min") and len(args) == 1 and "key" in kwargs:
        return machine.join(machine.iterate(frame, first), kwargs.get("default", LIGHT))
    if name in ("sum", "max", "min", "abs", "pow"):
        inner = machine.iterate(frame, first) if len(args) == 1 or name == "sum" else UNKNOWN
        nodes = tuple(node for value in args for node in machine.nodes(value))
        values = [inner] if inner else args
        made = arithmetic(machine, values)
        if name == "sum":
            note_terms(machine, "Add", inner, UNKNOWN, made)
        return tuple(
            atom._replace(node=machine.derivation.node((atom.node, *nodes))) if type(atom) is Tensor else atom
            for atom in made
        )
    if name in ("next", "iter"):
        if name == "next" and COUNT in first:
            return (COUNT,)
        if name == "iter" and len(args) == 2:  # `iter(queue.get, None)`: what each call gives
            given = machine.allocate(frame, ("given", site), "generator")
            machine.put(given.fields, "*", machine.call(frame, first, [], {}, site))
            return (given,)
        return machine.iterate(frame, first) if name == "next" else first
    if name in ("map", "filter"):
        over = [machine.iterate(frame, value) for value in args[1:]]
        mapped = machine.allocate(frame, ("mapped", site), "list")
        with for_each(machine, frame, args[1] if over else UNKNOWN, site):
            made = machine.call(frame, first, over, {}, site)
        made = over[0] if name == "filter" and over else made
        machine.put(mapped.fields, "*", made)
        return (mapped,)
    if name == "delattr":
        delete_by_name(machine, frame, args, site)
        return LIGHT
    if name in ("getattr", "setattr", "object.__setattr__"):
        return _dynamic_attribute(machine, frame, name.rpartition(".")[2].strip("_"), args, site)
    if name == "exec":
        execute(machine, frame, args)
    if name == "open":
        return (Light("handle"),)
    if name == "dict.fromkeys":
        table = machine.allocate(frame, ("fromkeys", site), "dict")
        machine.put(table.fields, "*", args[1] if len(args) > 1 else UNKNOWN)
        return (table,)
    if name == "vars" and len(first) == 1 and type(first[0]) is Obj:
        return get_attribute(machine, frame, first[0], "__dict__")
    if name in ("property", "staticmethod", "classmethod", "super", "vars", "object"):
        return UNKNOWN
    return LIGHT


def text_of(machine: Machine, frame: Frame, args: list[Value]) -> Value:
    """`", ".join(parts)`, `"{}".format(part)`, or the digest of a text: as new as the newest of them."""
    parts = [atom for value in args for atom in (*value, *machine.elements(frame, value))]
    return next(((kind,) for kind in (IDENT, COUNT) if kind in parts), LIGHT)


def _plain(name: str, value: Value) -> Value:
    """A number or a text made of a value: `str(count)`, `id(batch)`."""
    if name in ("id", "hash"):
        made = any(
            (type(atom) is Tensor and atom.graph != LEAF)  # parameters stay who they are
            or (type(atom) is Obj and any(loop.kind == "loop" for loop in atom.birth))  # each round makes another one
            for atom in value
        )
        return (IDENT,) if made or IDENT in value else LIGHT
    if name in ("str", "int", "repr", "format", "hex"):
        return next(((kind,) for kind in (IDENT, COUNT) if kind in value), LIGHT)
    return LIGHT


def copy_container(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    kind = name if name in ("set", "dict", "tuple") else "list"
    if name in ("list", "tuple") and args and is_loader(args[0]):
        machine.note("cycled", site, frame, (name, True))
    copy = renew(machine, machine.allocate(frame, ("copy", site), kind))
    for value in args[:1]:
        for atom in value:
            if type(atom) is Obj and kind == "dict" and atom.kind != "dict":
                part = _second(machine.iterate(frame, (atom,)))
                for one in part:
                    if type(one) is Obj and all(holder is one or _is_passing(holder) for holder in one.holders):
                        one.home = (copy, "*")
                machine.put(copy.fields, "*", machine.join(copy.fields.get("*", UNKNOWN), part))
            elif type(atom) is Obj and (kind == "dict" or atom.kind in ("list", "tuple")):
                for field, part in atom.fields.items():
                    machine.put(copy.fields, field, machine.join(copy.fields.get(field, UNKNOWN), part))
                    for one in part if atom.home is None else ():
                        if type(one) is Obj and one.home is not None and one.home[0] is atom:
                            one.home = (copy, field)  # nobody else has what it was copied from
            else:
                part = machine.iterate(frame, (atom,))
                if type(atom) is Obj and "$rounds" in atom.fields:
                    with gathering(machine, frame, (atom,), site):
                        part = store(machine, frame, copy, "*", part, "grow", site)
                machine.put(copy.fields, "*", machine.join(copy.fields.get("*", UNKNOWN), part))
    for key, value in kwargs.items():
        if kind == "dict":
            settle(copy, f"[{key}]", value)
            machine.put(copy.fields, f"[{key}]", value)
    return (copy,)


def start_as(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> None:
    """What an object starts with whose class is a dictionary or a list with methods of its own."""
    for made in copy_container(machine, frame, obj.kind, args, kwargs, site):
        for field, part in made.fields.items():
            machine.put(obj.fields, field, machine.join(obj.fields.get(field, UNKNOWN), part))
            for one in part:
                if type(one) is Obj and one.home is not None and one.home[0] is made:
                    one.home = (obj, field)


def _is_passing(holder: Any) -> bool:
    """Whether something goes when it has been gone through: a pair, a generator."""
    return type(holder) is Obj and holder.kind in ("tuple", "generator")


def _second(pairs: Value) -> Value:
    """The values of `dict(pairs)`."""
    return tuple(
        part
        for atom in pairs
        for part in (atom.fields.get("[1]", UNKNOWN) if type(atom) is Obj and atom.kind == "tuple" else (atom,))
    )


def _dynamic_attribute(machine: Machine, frame: Frame, name: str, args: list[Value], site: Site) -> Value:
    if len(args) < 2:  # which Python refuses
        return UNKNOWN
    key = constant(args[1])
    if not isinstance(key, str) or not key:  # no attribute is called ""
        if name == "setattr" and args[2:] == [NOTHING]:
            delete_by_name(machine, frame, args, site)
        elif name == "setattr" and len(args) > 2:
            set_by_name(machine, frame, args[0], args[2], site)
        names = [atom.value for atom in args[1] if type(atom) is Const and isinstance(atom.value, str) and atom.value]
        if name == "getattr" and names and len(names) == len(args[1]):  # one of these
            each = (get_attribute(machine, frame, atom, one) for atom in args[0] for one in names)
            return functools.reduce(machine.join, each, UNKNOWN)
        return get_by_name(machine, frame, args[0]) if name == "getattr" else UNKNOWN
    if name == "setattr" and len(args) > 2:
        at = site - site % CALLS_PER_STATEMENT if args[2] == NOTHING else site  # as `self.model = None` would be
        for atom in args[0]:
            set_attribute(machine, frame, atom, key, args[2], at, "set")
        return LIGHT
    result: Value = args[2] if len(args) > 2 else UNKNOWN
    for atom in args[0]:
        result = machine.join(result, get_attribute(machine, frame, atom, key))
    return result
