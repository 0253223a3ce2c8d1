"""Methods of lists, dictionaries, sets, queues and exit stacks."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Site
from .branching import gathering
from .cycles import note_own_entry
from .frames import Frame
from .holders import note_cleared
from .keys import UNSURE
from .machine import Machine
from .stores import errors_in, store
from .tensors import arithmetic
from .threads import is_given, waits_for
from .unknown import unknown_call
from .values import (
    ATTACHED,
    LIGHT,
    NAMED,
    OFF,
    UNKNOWN,
    Class,
    Kwargs,
    Light,
    Mode,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
    is_light,
)
from .weak_keys import note_first, note_inside

_GROW = ("append", "appendleft", "add", "insert", "put", "put_nowait", "extend", "extendleft", "update", "push")
_ROOMY = 1000  # entries, as replay memories have them
_LEAVE = ("close", "aclose", "pop_all")  # an `ExitStack`, before the end of its `with`
_CALL_LATER = ("callback", "push", "push_async_callback", "push_async_exit")
_POP = ("pop", "popleft", "popitem", "remove", "discard", "get_nowait")


def _empty(machine: Machine, obj: Obj) -> None:
    """Take everything out of a container. A defaultdict makes what it starts an entry with again, empty."""
    start = obj.fields.get("$default", UNKNOWN)
    for field in list(obj.fields):
        if field != "$default":
            machine.put(obj.fields, field, UNKNOWN)
    for atom in start:
        if type(atom) is Obj:
            _empty(machine, atom)
    if start:
        machine.put(obj.fields, "*", start)


def container_method(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    if "$stack" in obj.fields:
        return _stack_method(machine, frame, obj, name, args, kwargs, site)
    if name == "append" and args and _is_back_propagated(machine, frame, obj, args[0]):
        node = machine.derivation.node(tuple(machine.nodes(args[0])), ("differentiated", site, ""))
        args = [(Tensor(ATTACHED, 3, node, "scalar"),)]
    if name == "update" and len(args) == 1 and _takes_attributes(machine, obj, args[0]):
        return LIGHT
    if name in _GROW:
        made = _grow(machine, frame, obj, name, args, kwargs, site)
        if obj.kind == "queue":
            is_given(machine, frame, obj, site)
        return made
    if name == "setdefault":
        value = args[1] if len(args) > 1 else UNKNOWN
        key = constant(args[0]) if args else ...
        field = "*" if key is ... else f"[{key}]"
        if "$weak" in obj.fields and args:
            note_first(machine, args[0], value)
        machine.grow(frame, obj, value, site, field, "keyed")
        return machine.elements(frame, (obj,))
    if name == "__setitem__" and len(args) == 2:  # `super().__setitem__(key, value)`
        machine.key_kind = UNSURE
        machine.grow(frame, obj, args[1], site, "*", "keyed")
        return LIGHT
    if name == "clear":
        note_cleared(machine, frame, (obj,), site)
        machine.reset(frame, obj, "*", "clear")
        _empty(machine, obj)
        return LIGHT
    if obj.kind == "queue" and name in ("get", "get_nowait"):
        waits_for(machine, obj)
        machine.note("queue-received" if machine.context is None else "queue-get", site, frame, obj)
    if name in _POP or (name == "get" and obj.kind == "queue"):
        field = f"[{constant(args[0])}]" if name == "pop" and obj.kind == "dict" and args else ""
        if obj.fields.get(field):
            taken = obj.fields[field]
            machine.reset(frame, obj, "*", "pop")
            machine.put(obj.fields, field, UNKNOWN)
            return taken
        machine.reset(frame, obj, "*", "pop", args[0] if args and name in ("remove", "discard") else UNKNOWN)
        taken = machine.elements(frame, (obj,))
        return _entry(machine, frame, obj, site, LIGHT, taken) if name == "popitem" and obj.kind == "dict" else taken
    if name == "get":
        key = constant(args[0]) if args else ...
        found = obj.fields.get(f"[{key}]") if key is not ... else None
        if found is None and key is not ...:
            found = obj.fields.get("$other")  # `group.get("eps", 0)`
        if found is None and key is not ... and obj.kind == "dict" and not obj.unknown:
            found = obj.fields.get("*", UNKNOWN)  # no other entry than one under a key that is not known
        value = machine.elements(frame, (obj,)) if found is None else found
        return machine.join(value, args[1]) if len(args) > 1 else value
    if name == "values":
        return as_list(machine, frame, obj, site, machine.elements(frame, (obj,)))
    if name == "keys":
        return as_list(machine, frame, obj, site, keys_of(obj))
    if name == "items":
        entry = _entry(machine, frame, obj, site, keys_of(obj), machine.elements(frame, (obj,)))
        return as_list(machine, frame, obj, site, entry)
    if name == "copy":
        copy = machine.allocate(frame, ("copy", site, obj.serial), obj.kind)
        for field, part in obj.fields.items():
            machine.put(copy.fields, field, part)
        return (copy,)
    if name in ("popleft", "pop", "send", "__next__"):
        return machine.elements(frame, (obj,))
    if obj.unknown:
        machine.escape(tuple(atom for value in args for atom in value))
    return LIGHT


def _takes_attributes(machine: Machine, table: Obj, given: Value) -> bool:
    """`clone.__dict__.update(self.__dict__)`: the one object gets all that the other has."""
    if table.home is None or table.home[1] != "__dict__" or type(table.home[0]) is not Obj:
        return False
    clone = table.home[0]
    others = [atom.home for atom in given if type(atom) is Obj and atom.home is not None and atom.kind == "dict"]
    found = [home[0] for home in others if home[1] == "__dict__" and type(home[0]) is Obj and home[0] is not clone]
    for other in found:
        for name, value in list(other.fields.items()):
            if name[:1] != "$" and name != "__dict__":
                machine.put(clone.fields, name, machine.join(clone.fields.get(name, UNKNOWN), value))
    return bool(found)


def _is_back_propagated(machine: Machine, frame: Frame, obj: Obj, value: Value) -> bool:
    """Whether what nothing is known of goes into a variable's list, one of whose entries is back-propagated there:
    `losses.append(step()); losses[-1].backward()`."""
    home, name = obj.home or (None, "")
    if home is not frame or machine.grad == OFF or any(type(atom) is not Opaque for atom in value):
        return False
    return "backward" in frame.facts.uses.get(f"{name}[]", ())


def set_limit(obj: Obj, args: list[Value], kwargs: Kwargs) -> None:
    """What a `deque` is made with says whether it lets go by itself [docs: collections.deque]."""
    given = len(args) > 1 or "maxlen" in kwargs
    most = constant(args[1] if len(args) > 1 else kwargs.get("maxlen", UNKNOWN))
    obj.bounded = given and most is not None
    obj.roomy = isinstance(most, int) and most >= _ROOMY


def start_entries(machine: Machine, frame: Frame, obj: Obj, start: Value, site: Site) -> None:
    """What a `defaultdict` makes for a key that it has not had."""
    if not start or is_light(start):
        return
    made = machine.call(frame, start, [], {}, site)
    machine.put(obj.fields, "*", machine.join(obj.fields.get("*", UNKNOWN), made))
    machine.put(obj.fields, "$default", made)
    for atom in made:
        if type(atom) is Obj:
            atom.home = atom.home or (obj, "*")


def _stack_method(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """An `ExitStack` keeps what was entered until it is left itself, and what it is to call then."""
    if name in _LEAVE:
        machine.reset(frame, obj, "*", "clear")
        _empty(machine, obj)
        return UNKNOWN
    for atom in args[0] if name == "enter_context" and args else ():
        if type(atom) is Mode:  # until the stack is left, see `statements._enter_context`
            machine.entered.add(atom.site)
            machine.grad = atom.grad
            return LIGHT
        if type(atom) is Obj and isinstance(atom.cls, Class) and atom.cls.find("__enter__") is not None:
            entered = machine.call_method(frame, atom, "__enter__", [], {}, site)
            _keep_in_stack(machine, frame, obj, args[:1], site)
            return entered
    if name in _CALL_LATER:
        _keep_in_stack(machine, frame, obj, [*args, *kwargs.values()], site)
        return args[0] if args else UNKNOWN
    if name in ("enter_context", "enter_async_context") and args and all(is_light(value) and value for value in args):
        machine.grow(frame, obj, args[0], site)
        return args[0]
    return unknown_call(machine, frame, (m.ATTR, (m.NAME, "self"), name), args, kwargs, site, receiver=(obj,))


def _keep_in_stack(machine: Machine, frame: Frame, stack: Obj, values: list[Value], site: Site) -> None:
    """What a stack gets that is an object's, or an object itself: one that a function has is left when that returns."""
    if isinstance(stack.cls, Class) or (stack.home is not None and type(stack.home[0]) is Obj):
        for value in values:
            machine.grow(frame, stack, value, site)


def a_key_of(obj: Obj) -> Light:
    """A key that a dictionary has: to bind it there replaces an entry."""
    return Light(f"key of {obj.serial}")


def each_of(obj: Obj) -> Light:
    """The key of an entry that stands for all those that are not told apart: to bind it there replaces them."""
    return Light(f"each of {obj.serial}")


def keys_of(obj: Obj) -> Value:
    """What the keys of a dictionary may be."""
    keys = [key for key in obj.fields if key[:1] != "$"]
    seen = keys and not obj.unknown and all(key[:1] == "[" for key in keys)
    return (NAMED,) if seen else (a_key_of(obj),)


def _entry(machine: Machine, frame: Frame, obj: Obj, site: Site, key: Value, value: Value) -> Value:
    """A dictionary's `(key, value)`."""
    pair = machine.allocate(frame, ("pair", site, obj.serial), "tuple")
    machine.put(pair.fields, "[0]", key)
    machine.put(pair.fields, "[1]", value)
    return (pair,)


def as_list(machine: Machine, frame: Frame, obj: Obj, site: Site, value: Value) -> Value:
    listed = machine.allocate(frame, ("listed", site, obj.serial), "list")
    machine.put(listed.fields, "*", value)
    return (listed,)


def _grow(machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    if name in ("extend", "extendleft"):
        over = args[0] if args else UNKNOWN
        with gathering(machine, frame, over, site):
            machine.grow(frame, obj, machine.iterate(frame, over), site)
    elif name == "update":
        for value in args:
            for atom in value:
                if type(atom) is Obj:
                    for field, part in list(atom.fields.items()):
                        if field == "*":
                            machine.grow(frame, obj, part, site, field)
                        elif field[:1] == "[":
                            _replace(machine, frame, obj, field, _with(machine, obj, field, part), site)
        for key, value in kwargs.items():
            _replace(machine, frame, obj, f"[{key}]", _with(machine, obj, f"[{key}]", value), site)
    else:
        value = args[-1] if name == "insert" and args else (args[0] if args else UNKNOWN)
        if obj.kind == "queue" and obj.cls == "multiprocessing" and any(errors_in(value)):
            value = LIGHT  # a pickled exception has no traceback
        note_inside(machine, frame, obj, value, site)
        note_own_entry(machine, frame, obj, value, site)
        machine.grow(frame, obj, value, site)
    return LIGHT


def _with(machine: Machine, obj: Obj, field: str, value: Value) -> Value:
    """What the update of an entry leaves there: of a `Counter` the sum."""
    return arithmetic(machine, (obj.fields.get(field, LIGHT), value)) if "$adds" in obj.fields else value


def _replace(machine: Machine, frame: Frame, obj: Obj, field: str, value: Value, site: Site) -> None:
    """The entry of a key that is there: it takes the place of the last one."""
    if len(machine.loops) > len(obj.birth):
        value = store(machine, frame, obj, field, value, "set", site)
    machine.put(obj.fields, field, value)
