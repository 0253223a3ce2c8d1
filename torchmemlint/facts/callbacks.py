"""What callbacks keep alive: the objects of bound methods, arguments of partials, closures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from . import model as m
from .events import Plain
from .holders import heavy_objects
from .knowledge import MODEL_NAMES
from .machine import Frame, Machine
from .values import Bound, Class, Function, Obj, Partial, Value
from .walk import calls, heads, last_name, nodes, statements

_OWNERS = MODEL_NAMES | {"state", "trainer", "engine", "pipeline", "agent", "learner"}


class Held(NamedTuple):
    """An object that a registered callback keeps."""

    what: str  # in words
    heavy: bool
    again: bool  # made more than once
    watched: bool  # it is the object that a finalizer watches
    weight: int


def held_by(machine: Machine, note: Plain) -> Iterator[Held]:
    """The objects that a registration keeps, the heaviest first."""
    values: list[Value] = note.detail
    watched = values[0] if note.kind == "finalize" and values else ()
    found: list[Held] = []
    for obj in _objects(machine, values[1:] if note.kind == "finalize" else values):
        heavy = obj.kind in ("module", "optimizer") or bool(heavy_objects((obj,)) or machine.reach((obj,)))
        made = any(loop.kind == "loop" for loop in obj.birth) or any(loop.kind == "loop" for loop in note.loops)
        named = any(name in _OWNERS for name in obj.fields) or _takes_owner(obj)
        if not heavy and not named and obj not in watched:
            continue
        what = f"the {obj.cls.facts.name}" if isinstance(obj.cls, Class) else f"the {obj.kind}"
        again = made or (obj.unknown and _in_constructor(note.frame))
        weight = 3 if heavy and made else 2
        found.append(Held(f"{what} and all that it owns", heavy, again, obj in watched, weight))
    if not any(held.again for held in found) and note.kind == "registered" and _in_constructor(note.frame):
        for name in _argument_names(note):
            if name in _OWNERS:
                found.append(Held(f"what is passed as `{name}`", False, True, False, 2))
    return iter(sorted(found, key=lambda held: (-held.weight, not held.heavy)))


def _argument_names(note: Plain) -> Iterator[str]:
    """The names of what a callback is registered with."""
    for statement, _ in statements(note.frame.facts.body):
        for call in calls(statement):
            if call[1] == note.site:
                yield from (last_name(argument) for argument in call[3][1:])


def _in_constructor(frame: Frame) -> bool:
    return frame.name in ("__init__", "__post_init__", "__enter__", "setup", "start")


def _takes_owner(obj: Obj) -> bool:
    """Whether the class of an object is constructed with something that is called a model or a trainer."""
    if not isinstance(obj.cls, Class):
        return False
    return any(
        param.name in _OWNERS
        for member in obj.cls.find("__init__") or ()
        if type(member) is Function
        for param in member.facts.params
    )


def _objects(machine: Machine, values: list[Value]) -> Iterator[Obj]:
    for value in values:
        for atom in value:
            if type(atom) is Obj:
                yield atom
            elif type(atom) is Bound and type(atom.receiver) is Obj:
                yield atom.receiver
            elif type(atom) is Partial:
                yield from _objects(machine, [atom.callee, *atom.args, *(part for _, part in atom.kwargs)])
            elif type(atom) is Function and atom.facts.owner < 0:
                yield from _objects(machine, [part for _, part in _captured(machine, atom)])


def _captured(machine: Machine, function: Function) -> Iterator[tuple[str, Value]]:
    """The variables of outer functions that an inner one refers to."""
    if function.frame.function is None:
        return
    own = {param.name for param in function.facts.params}
    names: set[Any] = {
        node[1]
        for statement, _ in statements(function.facts.body)
        for head in heads(statement)
        for node in nodes(head)
        if node[0] == m.NAME
    }
    for name in sorted(names - own):
        value = function.frame.vars.get(name)
        if value:
            yield name, value
