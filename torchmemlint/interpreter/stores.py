"""What reaches a place: noted with all it was made from, and as it is read from there later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts.model import Site
from .contexts import keep, note_put
from .coroutines import held_while_waiting
from .events import NEVER, Loops, Store
from .frames import Frame, birth_of, kept_since
from .holders import heavy_objects, held_by_key, is_made_for, kept_by_callable, made_in, made_since
from .keys import IDENTITY
from .machine import OWN_STATE, Machine
from .values import (
    ATTACHED,
    CONTAINERS,
    COUNT,
    FEW,
    FREE,
    MAYBE,
    OFF,
    SCALAR,
    SERIES,
    UNKNOWN,
    VEILED,
    Bound,
    Caught,
    Class,
    Function,
    Kwargs,
    Obj,
    Opaque,
    Partial,
    Tensor,
    Value,
    is_light,
)

_CALLABLE = (Function, Bound, Partial)
_RECORDS = ("instance", "dict", "list")


def _is_given(frame: Frame, owner: Obj | Frame) -> bool:
    """Whether a function was given what it puts something into."""
    params = frame.facts.params[frame.receiver is not None :]
    return any(owner is atom for param in params for atom in frame.vars.get(param.name, ()))


def store(machine: Machine, frame: Frame, owner: Obj | Frame, key: str, value: Value, how: str, site: Site) -> Value:
    """Note that `value` goes to a place; returns the value as it is read from there later."""
    if machine.context is not None:
        keep(machine, frame, owner, key, value, how, site)
    elif isinstance(owner, Obj) and owner.kind == "queue":
        note_put(machine, frame, owner, value, site)
    if not value:
        return value
    if machine.tried:
        _note_errors(machine, frame, owner, key, value, how, site)
    if is_light(value):
        machine.innocent.add(site)
        machine.innocent.update(frame.trail())
        return value
    called = callables_in(value) if how in ("grow", "keyed") else ()
    if called:
        machine.note("listener", site, frame, (owner, key, called))
    new = value if how == "set" else tuple(atom for atom in value if not _is_in(atom, owner))
    reached = _news(machine, new, how)
    called = callables_in(new) if how != "set" else ()
    if called:
        as_key = how == "keyed" and machine.key_kind == IDENTITY
        reached += _referred_to(machine, owner, key, called if as_key else _of_others(frame, called))
    if how != "set" and not reached:
        reached = _of_this_round(machine, held_while_waiting(new), kept_since(owner, birth_of(owner, key)))
    objects = heavy_objects(value) if how != "set" and not reached else ()  # what replaces another does not pile up
    born = birth_of(owner, key)
    fresh = any(made_since(obj, machine.loops, born) for obj in objects)
    instances = _new_instances(machine, new, how) if not reached and not fresh else ()
    attached = [tensor.node for tensor in reached if tensor.graph == ATTACHED]
    veiled = _veiled_in(machine, new, reached) if machine.grad != OFF and not attached else []
    seen = reached or objects or instances
    if not seen and not veiled:
        return value
    trail = frame.trail()
    # what a pass computes, and leaves on its module, is as the caller has set the mode
    by_mode = machine.grad == OFF and machine.module_depth > 0 and not _is_given(frame, owner)
    if trail and reached and not by_mode and all(tensor.graph == FREE for tensor in reached):
        machine.innocent.add(site)  # what nobody calls says nothing of what its callers give
        machine.innocent.update(trail)
    machine.clock += 1
    # without a graph only what a loop adds to by concatenation is of interest
    traced = attached or veiled or (how == "set" and machine.grad == OFF and machine.loops and type(owner) is Frame)
    summed = carried = NEVER
    if how != "grow" and machine.loops:
        summed, carried = _made_of_what_was_there(machine, attached or veiled, owner, key)
    label = ("write", owner, key, machine.clock) if traced else None
    node = machine.derivation.node(tuple({*veiled, *(tensor.node for tensor in reached)}), label)
    if reached:
        machine.derivation.write(node, *(tensor.node for tensor in reached))
    parts: list[tuple[int, int]] = []
    place = (owner, key) if how == "set" else None
    own = None if len(reached) == 1 and not veiled else label
    changed = reached or veiled
    written = tuple(_as_written(machine, atom, node, own, place, parts) for atom in value) if changed else value
    if isinstance(owner, Obj):
        machine.placed.update((atom.node, (owner, key)) for atom in written if type(atom) is Tensor)
    event = event_at(machine, frame, owner, key, how, site)._replace(
        tensors=tuple(reached),
        node=node,
        summed=summed,
        carried=carried,
        objects=objects,
        fresh=fresh,
        instances=instances,
        parts=tuple(parts),
        nesting=_nesting(value),
    )
    if instances:  # of which a model that all of them share says nothing
        machine.later.append(event._replace(objects=()))
    if objects or (seen and not instances):
        machine.stores.append(event._replace(instances=()) if instances else event)
    if veiled:
        machine.veiled_stores.append((event, tuple(veiled)))
    return written


def callables_in(value: Value) -> Value:
    """The functions that a value is, or that a tuple in it has: `self.handlers.append((handler, args))`."""
    tuples = (atom for atom in value if type(atom) is Obj and _is_tuple(atom))
    parts = (value, *(part for atom in tuples for part in atom.fields.values()))
    return tuple(atom for part in parts for atom in part if type(atom) in _CALLABLE)


def event_at(machine: Machine, frame: Frame, owner: Obj | Frame, key: str, how: str, site: Site) -> Store:
    """A store as far as it is told by where and when it happens, not by what is stored."""
    return Store(
        site=site,
        trail=frame.trail(),
        owner=owner,
        key=key,
        how=how,
        tensors=(),
        node=-1,
        summed=NEVER,
        carried=NEVER,
        loops=machine.loops,
        starts=tuple(loop.started for loop in machine.loops),
        conditions=machine.conditions,
        frame=frame,
        grad=machine.grad,
        hook=bool(machine.in_hook),
        thread=bool(machine.threads),
        inside=bool(machine.module_depth),
        key_kind=machine.key_kind if how == "keyed" else "",
    )


def _note_errors(
    machine: Machine, frame: Frame, owner: Obj | Frame, key: str, value: Value, how: str, site: Site
) -> None:
    """Note where the exceptions go that a value is, or has as parts."""
    for caught in set(errors_in(value)):
        event = event_at(machine, frame, owner, key, how, site)
        machine.errors.append((event, caught))


def errors_in(value: Value, depth: int = 3) -> Iterator[Caught]:
    """The exceptions that a value is, or that containers and objects in it have."""
    for atom in value:
        if type(atom) is Caught:
            yield atom
        elif type(atom) is Obj and depth and (atom.kind == "instance" or atom.kind in CONTAINERS):
            for key, part in atom.fields.items():
                if key[:1] != "$":
                    yield from errors_in(part, depth - 1)


def write_through(machine: Machine, frame: Frame, held: Value, value: Value, site: Site, how: str) -> bool:
    """`held = self.total`, `held.add_(x)`: what is done to a tensor in place is done to it wherever it is kept.
    Returns whether it is kept anywhere."""
    found = False
    for atom in held:
        place = _place_of(machine, atom.node) if type(atom) is Tensor else None
        if place is not None:
            owner, key = place
            there = owner.fields.get(key, UNKNOWN)
            stored = store(machine, frame, owner, key, value, how, site)
            machine.put(owner.fields, key, machine.join(there, stored) if key == "*" else stored)
            found = True
    return found


def _place_of(machine: Machine, node: int) -> tuple[Obj, str] | None:
    """The place that has a tensor. Where two arms of a branch have met it has another node than was put there."""
    for place in (machine.placed.get(one) for one in (node, *machine.derivation.parents[node])):
        there = UNKNOWN if place is None else place[0].fields.get(place[1], UNKNOWN)
        if any(type(one) is Tensor and one.node == node for one in there):
            return place
    return None


def _veiled_in(machine: Machine, value: Value, reached: list[Tensor]) -> list[int]:
    """The nodes of what may have a graph, and was computed: a backward pass may say so later."""
    maybe = (tensor.node for tensor in reached if tensor.graph == MAYBE)
    return [node for node in (*machine.veiled(value), *maybe) if machine.derivation.parents[node]]


_MIXED = 9


def _nesting(value: Value, depth: int = 3) -> int:
    """How deep the tensors of a value are in containers: 0 of what is a tensor, 1 of a list of tensors and numbers.
    `_MIXED` of containers that may be something else as well, -1 of what may be a tensor and is not sure to be."""
    if value and all(type(atom) is Tensor and not atom.bundle for atom in value):
        return 0
    if not any(type(atom) is Obj for atom in value):
        return -1
    atom = value[0]
    if len(value) > 1 or type(atom) is not Obj or atom.kind not in SERIES or atom.is_put_off or not depth:
        return _MIXED
    inner = [part for key, part in atom.fields.items() if key[:1] != "$" and part and not is_light(part)]
    found = [_nesting(part, depth - 1) for part in inner]
    return 1 + max(found) if found and -1 not in found and _MIXED not in found else _MIXED


def made_again(machine: Machine, obj: Obj) -> None:
    """An expression makes another object, which is empty yet; `obj` stands for it and for those made before."""
    obj.earlier = frozenset(tensor.node for tensor in machine.reach((obj,)))


def settle(holder: Obj, key: str, value: Value) -> None:
    """What a display is made of lives in it; of modules those of the project, which may keep more than parameters."""
    for atom in value:
        if type(atom) is Obj and atom.home is None and (atom.kind != "module" or isinstance(atom.cls, Class)):
            atom.home = (holder, key)


def take_in(frame: Frame, holder: Obj, key: str, value: Value) -> None:
    """What a helper has made and given back, `[self.read_row(i) for i in range(n)]`, lives in what it is given to."""
    for atom in value:
        if type(atom) is Obj and is_given_back(frame, atom):
            atom.home, atom.taken_in = (holder, key), True


def is_given_back(frame: Frame, obj: Obj) -> bool:
    """Whether a container is in a variable of a function that has been called from here, and has returned."""
    home = obj.home[0] if obj.home is not None and obj.kind in CONTAINERS else None
    return isinstance(home, Frame) and home.function is not None and home.caller is frame


def renew(machine: Machine, obj: Obj) -> Obj:
    """An expression makes an empty object each time: what an earlier round put in belongs to another one, and so does
    the place that a caller has given that one."""
    if obj.taken_in:
        obj.home, obj.taken_in = None, False
    if obj.stays:
        made_again(machine, obj)
        return obj
    for key in list(obj.fields):
        machine.put(obj.fields, key, UNKNOWN)
    return obj


def _news(machine: Machine, value: Value, how: str) -> list[Tensor]:
    """The tensors of a value, without those that only the objects made before by the same expression have, that a hook
    is yet to put on an object, `[Tap(layer) for layer in layers]`, or that a generator is yet to give somebody."""
    earlier = {node for atom in value if type(atom) is Obj for node in atom.earlier}
    kept = machine.reach(value) if how == "set" else machine.reach(value, without=(*OWN_STATE, "generator"))
    found = [tensor for tensor in kept if tensor.node not in earlier]
    if found and any(type(atom) is Obj and atom.kind == "instance" for atom in value):
        found = [tensor for tensor in found if tensor in value or not _is_yet_to_come(machine, tensor.node)]
    return found


def _is_yet_to_come(machine: Machine, node: int) -> bool:
    """Whether a tensor is from a hook, and no module was run since that was registered."""
    derivation = machine.derivation
    last_pass = machine.module_calls[-1].node if machine.module_calls else -1
    while node > last_pass:
        label, parents = derivation.labels.get(node), derivation.parents[node]
        if (label is not None and label[0] == "hook") or not parents:
            return label is not None and label[0] == "hook"
        node = parents[-1]
    return False


def _referred_to(machine: Machine, owner: Obj | Frame, key: str, value: Value) -> list[Tensor]:
    """The tensors that functions in a value refer to, of this round: a closure or partial keeps those of each call, a
    method those of its object."""
    held = machine.reach(tuple(kept for atom in value for kept in kept_by_callable(atom)))
    return _of_this_round(machine, held, kept_since(owner, birth_of(owner, key)))


def _of_this_round(machine: Machine, tensors: list[Tensor], born: Loops) -> list[Tensor]:
    """The tensors that were made in a round of a loop which something born in these loops outlives."""
    since = min((loop.first_node for loop in machine.loops if loop not in born), default=None)
    return [tensor for tensor in tensors if since is not None and tensor.node >= since and tensor.weight > 1]


def note_cached_call(
    machine: Machine, frame: Frame, function: Function, receiver: Any, args: list[Value], kwargs: Kwargs, site: Site
) -> None:
    """Note what of this round goes into the key of a cache, which lasts as long as the process."""
    own = (receiver,) if type(receiver) is Obj else ()
    params = function.facts.params[len(own) :]
    given = [*zip((param.name for param in params), args, strict=False), *kwargs.items()]
    for name, value in (("self", own), *given):
        if COUNT in value:
            machine.note("cached-count", site, frame, (function.facts, name))
        tensors, objects = held_by_key(value)
        tensors = [one for one in _of_this_round(machine, tensors, ()) if one.size not in (SCALAR, FEW)]
        objects = [one for one in objects if made_since(one, machine.loops, ())]
        if tensors or objects:
            machine.note("cached-call", site, frame, (function, name, value, tuple(tensors), tuple(objects)))
            return


def _of_others(frame: Frame, value: Value) -> Value:
    """A value without methods of the objects that put them there, `bus.subscribe(self.refresh)`, or of their parts,
    `bus.subscribe(self.panel.refresh)`: see `listeners.py`."""
    callers = [frame]
    while callers[-1].caller is not None:
        callers.append(callers[-1].caller)
    own = [one.receiver for one in callers if one.receiver is not None]

    def others(methods: Value) -> Value:
        return tuple(atom for atom in methods if type(atom) is not Bound or not _is_part_of(atom.receiver, own))

    return tuple(atom._replace(callee=others(atom.callee)) if type(atom) is Partial else atom for atom in others(value))


def _is_part_of(obj: Any, owners: list[Any]) -> bool:
    wholes = obj.holders if type(obj) is Obj else (obj,)
    return any(whole is one for whole in wholes for one in owners)


def _new_instances(machine: Machine, value: Value, how: str) -> tuple[Obj, ...]:
    """The objects of this round that a container gets before anything heavy has been put on them, as `{"state": None}`;
    and the bounded containers, of which each keeps no more than its bound, but there is one for each entry."""
    if how not in ("grow", "keyed"):
        return ()
    instances = (atom for atom in value if type(atom) is Obj and (atom.kind in _RECORDS or atom.bounded))
    return tuple(atom for atom in instances if made_in(atom, machine.loops))


def _as_written(
    machine: Machine,
    atom: Any,
    node: int,
    label: Any,
    place: tuple[Obj | Frame, str] | None,
    parts: list[tuple[int, int]],
    depth: int = 3,
) -> Any:
    """A value as it is read from the place that it was written to; `parts` gets the node of each tensor in it."""
    if type(atom) is Tensor:
        if label is not None:  # one of several: what is asked of it is not asked of the others
            node = machine.derivation.node((atom.node,), label)
            machine.derivation.write(node, atom.node)
            parts.append((atom.graph, node))
        return atom._replace(node=node)
    if type(atom) is Opaque and label is not None:
        node = machine.derivation.node((atom.node,), label)
        machine.derivation.write(node, atom.node)
        parts.append((VEILED, node))
        return atom._replace(node=node)
    if type(atom) is Obj and depth and _is_tuple(atom):  # immutable: a copy with the write noted will do
        view = Obj(atom.kind, atom.cls, atom.birth, atom.site, atom.weight)
        view.serial, view.home = atom.serial, atom.home
        view.fields = {
            key: tuple(_as_written(machine, part, node, label, place, parts, depth - 1) for part in value)
            for key, value in atom.fields.items()
        }
        return view
    if type(atom) is Obj and depth and place and is_made_for(machine, atom, place):
        for key, value in list(atom.fields.items()):
            if key[:1] != "$" and value:
                made = tuple(_as_written(machine, part, node, label, place, parts, depth - 1) for part in value)
                machine.put(atom.fields, key, made)
                machine.placed.update((part.node, (atom, key)) for part in made if type(part) is Tensor)
    return atom


def _made_of_what_was_there(machine: Machine, nodes: list[int], owner: Obj | Frame, key: str) -> tuple[int, int]:
    """When the place was first written with what a value is a sum of, and with what it was computed from by modules."""
    summed = carried = NEVER
    if (id(owner), key) not in machine.derivation.places:
        return summed, carried
    for start in _alternatives(machine, nodes, owner, key):
        summed = min(summed, _written_before(machine, start, owner, key, through_modules=False))
        carried = min(carried, _written_before(machine, start, owner, key, through_modules=True))
    return summed, carried


def _alternatives(machine: Machine, nodes: list[int], owner: Obj | Frame, key: str) -> Iterator[int]:
    """What a value may be, but for what the place holds already: `best = loss if loss < best else best`."""
    derivation = machine.derivation
    seen = set(nodes)
    for node in (queue := list(nodes)):
        label = derivation.labels.get(derivation.within(node))
        if label is not None and label[0] == "write" and label[1] is owner and label[2] == key:
            continue
        if node not in derivation.written:
            yield node
        for other in derivation.written.get(node, ()):
            if other not in seen:
                seen.add(other)
                queue.append(other)


def _written_before(machine: Machine, start: int, owner: Obj | Frame, key: str, through_modules: bool) -> int:
    """The earliest write to a place that a value derives from; `NEVER` if there is none."""
    derivation = machine.derivation
    found = NEVER
    seen = {start}
    for node in (queue := [start]):
        if len(queue) > 400:
            break
        label = derivation.labels.get(node)
        if label is not None:
            if label[0] == "write" and label[1] is owner and label[2] == key:
                found = min(found, label[3])
            elif label[0] == "module" and not through_modules:
                continue
        for parent in derivation.parents[node]:
            if parent not in seen:
                seen.add(parent)
                queue.append(parent)
    return found


def _is_in(atom: Any, owner: Obj | Frame) -> bool:
    """Whether an object is what an earlier round put into the same container: what it has got since then is no news
    of this store."""
    return type(atom) is Obj and atom.kind == "instance" and atom.home is not None and atom.home[0] is owner


def _is_tuple(obj: Obj) -> bool:
    """Whether an object is a tuple, or of a class that is one with names."""
    return obj.kind == "tuple" or (obj.kind == "instance" and isinstance(obj.cls, Class) and obj.cls.is_named_tuple)


def outlives_its_maker(machine: Machine, obj: Obj) -> bool:
    """Whether hooks fill a container on and on of which the function that made it has returned: it lives where it was
    given to, `self.seen, self.handles = watch(model)`."""
    if not machine.filled_by_hooks or obj.home is None or obj.kind not in CONTAINERS:
        return False
    home = obj.home[0]
    if not isinstance(home, Frame) or home.function is None or home in machine.stack:
        return False
    return any(obj in filled.holders for filled in machine.filled_by_hooks)
