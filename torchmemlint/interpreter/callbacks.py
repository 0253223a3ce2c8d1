"""What callbacks keep alive: the objects of bound methods, arguments of partials, closures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.knowledge import MODEL_NAMES, PROCESS_CALLBACKS
from ..facts.model import Expr, FileFacts, FunctionFacts, statement_of
from ..facts.program import Program
from ..facts.walk import calls, calls_of, last_name, nodes, statements
from .events import Plain
from .frames import Frame
from .holders import captured, free_names, heavy_objects
from .imagined import is_module_by_use
from .machine import Machine
from .values import CONTAINERS, Bound, Class, Function, Method, Obj, Partial, Value

_SHOWS = frozenset("print debug info warning error exception log exit".split())
_AT_EXIT = "atexit.register"
_POOLS = ("pool", "executor", "mp-manager")
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
    for obj in objects_in(machine, values[1:] if note.kind == "finalize" else values):
        heavy = obj.kind in ("module", "optimizer") or bool(heavy_objects((obj,)) or machine.reach((obj,)))
        heavy = heavy or owns_workers(obj)
        made = any(loop.kind == "loop" for loop in (*obj.birth, *note.loops))
        made = made and statement_of(obj.site) not in note.frame.unit.outline.made_when_missing
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


def outlived_by(machine: Machine, note: Plain) -> Iterator[Held]:
    """The models of a function that has set a signal's handler, which knows them, and returns to who goes on."""
    frame, facts = note.frame, note.frame.facts
    given = {param.name for param in facts.params}
    if frame.function is None or facts.owner >= 0 or facts.name == "main" or not _goes_on(frame):
        return
    made = {
        part[1]
        for one in statements(facts.body)
        if one[0] == m.ASSIGN and one[3][0] == m.CALL
        for target in one[2]
        for part in nodes(target)
        if part[0] == m.NAME and part[1] not in given
    }
    known = list(objects_in(machine, note.detail[1:]))
    names = {
        name for value in note.detail[1:] for atom in value if type(atom) is Function for name in free_names(atom.facts)
    }
    for name in sorted(made):
        value = frame.vars.get(name, ())
        heavy = (atom for atom in value if type(atom) is Obj and atom.kind in ("module", "optimizer"))
        seen = any(obj in known for obj in heavy)
        if seen or (not value and name in names and _is_used_as_model(facts, name)):
            yield Held(f"`{name}` of `{facts.name}`", True, True, False, 2)


def _is_used_as_model(facts: FunctionFacts, name: str) -> bool:
    uses = facts.uses.get(name, ())
    return is_module_by_use(uses, name) or (name in MODEL_NAMES and "save_pretrained" in uses)


def registered_by(note: Plain) -> str:
    """What keeps a callback: `atexit.register`, also as a decorator."""
    for call in calls(note.frame.facts.body):
        if call[1] == note.site:
            name = last_name(call[2])
            return next(
                (known for known in (*PROCESS_CALLBACKS, "signal.signal") if known.endswith(f".{name}")), _AT_EXIT
            )
    return _AT_EXIT


def is_unregistered(program: Program, name: str) -> bool:
    """Whether something in the file takes a callback out again of what keeps it."""
    ending = PROCESS_CALLBACKS.get(name, "").rpartition(".")
    return ending[2] in program.called and (
        ending[0] == "atexit"
        or any(
            program.dotted(call[2]) == "".join(ending) for place in program.places for call in calls(place.facts.body)
        )
    )


def _goes_on(frame: Frame) -> bool:
    """Whether the caller of a function does more when that returns; one that is not seen is given something."""
    if frame.caller is None:
        back = (one[2] for one in statements(frame.facts.body) if one[0] == m.RETURN)
        return any(value is not None and value[0] != m.CONST for value in back)
    number = statement_of(frame.call_site)
    later = (one for one in statements(frame.caller.facts.body) if statement_of(one[1]) > number)
    return any(last_name(call[2]) not in _SHOWS for one in later for call in calls_of(one))


def is_restored(facts: FileFacts, note: Plain) -> bool:
    """Whether something puts another handler of the signal in the place of this one: the default, or what was there
    before, `signal.signal(number, previous)`; not one that it defines."""
    given = [call for call in calls(note.frame.facts.body) if call[1] == note.site and len(call[3]) == 2]
    own = {function.name for function in facts.functions}
    return any(
        last_name(call[2]) == "signal" and len(call[3]) == 2 and _puts_back(call, one, own)
        for one in given
        for function in facts.functions
        if "signal" in function.calls
        for call in calls(function.body)
    )


def _puts_back(call: Expr, registration: Expr, own: set[str]) -> bool:
    number, handler = call[3]
    same = number == registration[3][0] or last_name(number) == last_name(registration[3][0]) != ""  # `self.signum`
    same = same or (number[0] == m.NAME and not number[1].isupper())  # goes through them all
    known = handler[0] in (m.NAME, m.ATTR, m.ITEM, m.BOOL, m.COND) and last_name(handler) not in own
    return call[1] != registration[1] and same and known


def _argument_names(note: Plain) -> Iterator[str]:
    """The names of what a callback is registered with."""
    for statement in statements(note.frame.facts.body):
        for call in calls_of(statement):
            if call[1] == note.site:
                yield from (last_name(argument) for argument in call[3][1:])


def _in_constructor(frame: Frame) -> bool:
    return frame.name in ("__init__", "__post_init__", "__enter__", "setup", "start")


def owns_workers(obj: Obj) -> bool:
    """Whether an object is a pool of processes or threads, or has one: idle or closed, it has threads or pipes, until
    the object lets go of it."""
    if obj.kind in _POOLS:
        return True
    fields = obj.fields if obj.kind == "instance" and not obj.is_put_off else {}
    pools = [name for name, value in fields.items() if any(type(a) is Obj and a.kind in _POOLS for a in value)]
    return any(not _lets_go(obj, name) for name in pools)


def _lets_go(obj: Obj, name: str) -> bool:
    """Whether a method of an object sets one of its attributes to nothing: `self.pool = None`."""
    place = (m.ATTR, (m.NAME, "self"), name)
    return isinstance(obj.cls, Class) and any(
        one[0] == m.ASSIGN and one[3] == (m.CONST, None) and place in one[2]
        for cls in obj.cls.mro
        for method, index in cls.facts.methods.items()
        if method != "__init__"
        for one in statements(cls.frame.unit.facts.functions[index].body)
    )


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


def _is_called(obj: Obj) -> bool:
    """Whether an object is there to be called: `Handlers([self.save, self.stop])`"""
    return obj.kind == "instance" and isinstance(obj.cls, Class) and bool(obj.cls.find("__call__"))


def _listed(obj: Obj) -> Iterator[Value]:
    """What is in the containers of an object."""
    for value in () if obj.is_put_off else obj.fields.values():
        for atom in value:
            if type(atom) is Obj and atom.kind in CONTAINERS and not atom.is_put_off:
                yield from atom.fields.values()


def bound_to(functions: Value, receivers: Value) -> Value:
    """`types.MethodType(forward, model)`, `forward.__get__(model)`: a function as a method of one object."""
    return tuple(
        Bound(function, receiver)
        for function in functions
        if type(function) is Function
        for receiver in receivers
        if type(receiver) in (Obj, Class)
    )


def objects_in(machine: Machine, values: list[Value], depth: int = 4) -> Iterator[Obj]:
    """The objects that values refer to: themselves, receivers of bound methods, arguments of partials, closures,
    which may refer to one another; and what an object that is called in place of several functions has in its list."""
    if not depth:
        return
    for value in values:
        for atom in value:
            if type(atom) is Obj:
                yield atom
                if _is_called(atom):
                    yield from objects_in(machine, list(_listed(atom)), depth - 1)
            elif type(atom) in (Bound, Method) and type(atom.receiver) is Obj:
                yield atom.receiver
            elif type(atom) is Partial:
                given = [atom.callee, *atom.args, *(part for _, part in atom.kwargs)]
                yield from objects_in(machine, given, depth - 1)
            elif type(atom) is Function and atom.facts.owner < 0:
                yield from objects_in(machine, [part for _, part in captured(atom)], depth - 1)
