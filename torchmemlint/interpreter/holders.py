"""What heavy objects a value keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import FunctionFacts, Site
from ..facts.program import targets
from ..facts.walk import expressions_of, nodes, once, statements
from .frames import Frame
from .values import CONTAINERS, FREE, Bound, Caught, Class, Const, Function, Light, Obj, Partial, Tensor, Value
from .written_parts import PLAIN_BASES, makes_parts, makes_weights, only_notes

if TYPE_CHECKING:
    from .events import Loops
    from .machine import Machine

_DEPTH = 4


def heavy_objects(value: Value) -> tuple[Obj, ...]:
    """The modules and optimizers that a value keeps alive: itself, in containers, or as parts of instances."""
    found: list[Obj] = []
    _gather(value, _DEPTH, found, set())
    return tuple(found)


def note_cleared(machine: Machine, frame: Frame, table: Value, site: Site) -> None:
    """A table of an object lets go of all its models: note these, and what else the object has then."""
    tables = (atom for atom in table if type(atom) is Obj and atom.kind in CONTAINERS)
    entries = (one for each in tables for part in each.fields.values() for one in part)
    models = [one for one in entries if type(one) is Obj and one.kind == "module" and has_parameters(one)]
    if models and isinstance(frame.receiver, Obj):
        machine.note("cleared-models", site, frame, (models, tuple(frame.receiver.fields.items())))


def held_by_key(value: Value) -> tuple[list[Tensor], list[Obj]]:
    """The tensors, and the modules and optimizers, that a value keeps as part of a key, also what functions in it
    refer to."""
    tensors: list[Tensor] = []
    objects: list[Obj] = []
    _gather(value, _DEPTH + 2, objects, set(), tensors)
    return tensors, objects


def _gather(value: Value, depth: int, found: list[Obj], seen: set[int], tensors: list[Tensor] | None = None) -> None:
    for atom in value:
        if type(atom) is Tensor and tensors is not None:
            tensors.append(atom)
        elif type(atom) is not Obj:
            if depth:
                _gather(kept_by_callable(atom), depth - 1, found, seen, tensors)
        elif id(atom) not in seen:
            seen.add(id(atom))
            if atom.kind == "optimizer" or (atom.kind == "module" and (has_parameters(atom) or makes_weights(atom))):
                found.append(atom)
            elif depth and (atom.kind in (*CONTAINERS, "queue", "instance")):
                for key, part in atom.fields.items():
                    if part and key[0] != "$":
                        _gather(part, depth - 1, found, seen, tensors)


def kept_by_callable(atom: Any) -> Value:
    """A bound method keeps its object, a partial its arguments and what its function keeps, an inner function what it
    refers to."""
    kind = type(atom)
    if kind is Bound:
        return (atom.receiver,) if type(atom.receiver) is Obj else ()
    if kind is Partial:
        given = (atom.callee, *atom.args, *(value for _, value in atom.kwargs))
        parts = tuple(part for value in given for part in value)
        return parts + tuple(kept for part in parts if type(part) is Bound for kept in kept_by_callable(part))
    if kind is Function and atom.frame.function is not None and atom.facts.owner < 0:
        return tuple(part for _, value in captured(atom) for part in value)
    return ()


def called_back(instances: tuple[Obj, ...]) -> tuple[Obj, ...]:
    """The objects whose methods these ones have: a timer keeps the panel that it refreshes."""
    handlers = (atom for obj in instances if not obj.is_put_off for part in obj.fields.values() for atom in part)
    owners = (atom.receiver for atom in handlers if type(atom) is Bound)
    return tuple(
        owner for owner in owners if type(owner) is Obj and owner.kind == "instance" and owner not in instances
    )


def captured(function: Function) -> Iterator[tuple[str, Value]]:
    """The variables of the outer function that an inner one refers to."""
    if function.frame.function is None:
        return
    for name in free_names(function.facts):
        value = function.frame.vars.get(name)
        if value:
            yield name, value


@once
def free_names(facts: FunctionFacts) -> list[str]:
    """The names that a function reads and does not bind, in order."""
    own = {param.name for param in facts.params}
    for statement in statements(facts.body):
        own.update(target[1] for target in targets(statement) if target[0] == m.NAME)
    for statement in statements(facts.body):
        own.difference_update(statement[2] if statement[0] == m.NONLOCAL else ())
    names: set[Any] = {
        node[1] for statement in statements(facts.body) for node in expressions_of(statement) if node[0] == m.NAME
    }
    return sorted(names - own)


def has_parameters(module: Obj, seen: set[int] | None = None) -> bool:
    """Whether a module is more than an activation or a loss function: a class of the project, too, may set nothing
    on its objects that could be trained. What was `seen` on the way is not asked again."""
    if isinstance(module.cls, Class):
        seen = seen if seen is not None else set()
        seen.add(id(module))
        known = not module.unknown and all(base.startswith(PLAIN_BASES) for base in module.cls.external)
        parts = [part for key, part in module.fields.items() if key[0] != "$"]
        if not parts and module.cls.find("__init__") is not None:
            return not ("$settings" in module.fields and known and only_notes(module))  # it was not worth a run
        if makes_parts(module, missing=True):
            return True  # likewise, though its `forward` has been looked into
        return not known or any(_may_be_trained(part, seen) for part in parts)
    if not isinstance(module.cls, str):
        return True
    tail = module.cls.rsplit(".", 1)[-1]
    return not (tail in knowledge.PARAMETERLESS or tail.endswith("Loss"))


def _may_be_trained(value: Value, seen: set[int]) -> bool:
    for atom in value:
        if type(atom) is Obj:
            if id(atom) in seen:
                continue
            seen.add(id(atom))
            if atom.kind == "instance" or (atom.kind == "module" and has_parameters(atom, seen)):
                return True
            if atom.kind != "module" and any(_may_be_trained(part, seen) for part in atom.fields.values()):
                return True
        elif not (type(atom) in (Const, Light, Caught) or (type(atom) is Tensor and atom.graph == FREE)):
            return True
    return not value


def made_in(obj: Obj, loops: Loops) -> bool:
    """Whether an object was made in the innermost round of these loops, and is not somebody else's; a deep copy of
    something unknown is one's own."""
    return bool(loops) and loops[-1] in obj.birth and (not obj.unknown or "$copy" in obj.fields)


def made_since(obj: Obj, loops: Loops, birth: Loops) -> bool:
    """The same, or in a round of a loop that a place was made before: each of its rounds makes another one, whatever
    loop goes through them then."""
    return made_in(obj, loops) or any(made_in(obj, (loop,)) for loop in loops if loop not in birth)


def is_made_for(machine: Machine, obj: Obj, place: tuple[Obj | Frame, str]) -> bool:
    """Whether a container has no other place: a display, a comprehension, or the variable of a call that made it; or an
    object is the round's own, `state = State(cell(state.hidden))`, whatever a call that made it has named it."""
    home = obj.home
    of_call = home is not None and type(home[0]) is Frame and home[0].function is not None
    if obj.kind == "instance":
        named = of_call and home is not None and home[0] is not place[0] and _is_given_back(machine, place)
        return (home is None or named) and made_in(obj, machine.loops)
    return (home is None or home == place or of_call) and obj.kind in ("dict", "list")


def _is_given_back(machine: Machine, place: tuple[Obj | Frame, str]) -> bool:
    """Whether a variable gets what is made of what it has: `state = step(state, batch)`."""
    frame, name = place
    if not isinstance(frame, Frame):
        return False
    bound = (one for one in statements(frame.facts.body) if one[1] == machine.statement and one[0] == m.ASSIGN)
    return any((m.NAME, name) in nodes(one[3]) for one in bound)
