"""Attributes: reading and setting `owner.name`, also by a name that is not known."""

from __future__ import annotations

from collections import OrderedDict, UserDict, defaultdict
from typing import Any

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Site
from ..facts.model_names import names_model
from ..facts.walk import last_name, statements
from . import descriptors
from .contexts import keep, keep_in_element
from .cycles import is_made_here, note_cycle, note_given_to_part, note_own_entry, note_part, note_way_back
from .followed import note_following, owners
from .frames import Frame, settles
from .holders import note_cleared
from .imagined import imagine_attribute, is_module_by_use
from .linking import module_member
from .machine import Machine
from .making import attribute_of_metaclass
from .new_roots import note_new_root
from .shared_tables import is_made_by_the_first, share
from .stores import is_given_back, outlives_its_maker, store
from .tensors import freeze_owner, tensor_attribute
from .values import (
    ANY_NAME,
    ATTACHED,
    CONTAINERS,
    COUNT,
    FEW,
    FREE,
    LEAF,
    LIGHT,
    MAYBE,
    NOTHING,
    SCALAR,
    UNKNOWN,
    Bound,
    Caught,
    Class,
    Const,
    External,
    Function,
    Light,
    Method,
    Module,
    Obj,
    Opaque,
    Partial,
    Super,
    Tensor,
    Value,
    constant,
    is_light,
)
from .web_apps import CURRENT, current_application
from .written_parts import part_set_later, written_part

_WEIGHTS = ("weight", "bias")
_OF_NUMBERS = ("tensor", "as_tensor", "array", "asarray")
_NEAR = 30  # steps of a derivation that are gone back
_WITH_FRAMES = ("__traceback__", "__cause__", "__context__", "tb_frame", "frame", "f_back")  # of an exception or frame
_BASES = (dict, OrderedDict, UserDict, defaultdict, list)
_METHODS = {f"{one.__module__}.{one.__name__}": frozenset(dir(one)) for one in _BASES}
_NO_LAYERS = knowledge.MODULE_CONTAINERS | {"Module"}

_WHILE_MADE = ("__init__", "__post_init__", "__setstate__")


def get_attribute(machine: Machine, frame: Frame, atom: Any, name: str) -> Value:
    """`atom.name`, when it is not called at once."""
    kind = type(atom)
    if kind is External:
        if atom.dotted in CURRENT and machine.applications:
            return tuple(
                one for app in current_application(machine) for one in get_attribute(machine, frame, app, name)
            )
        return (External(f"{atom.dotted}.{name}"),)
    if kind is Tensor:
        return tensor_attribute(machine, atom, name) or (Method(atom, name),)
    if kind is Obj:
        return _object_attribute(machine, frame, atom, name)
    if kind is Class:
        found = atom.find(name)
        if found is None:
            return attribute_of_metaclass(atom, name) if name != "__name__" else (Const(atom.facts.name),)
        return tuple(Bound(one, atom) if type(one) is Function and one.kind == "class" else one for one in found)
    if kind is Module:
        return module_member(machine, atom.unit, name) or UNKNOWN
    if kind is Opaque:
        return (atom._replace(node=machine.derivation.node((atom.node,))),)
    if kind is Light and atom.what == "ctx":
        return frame.vars.get(f"ctx.{name}", UNKNOWN)
    if kind is Caught:
        return (atom,) if name in _WITH_FRAMES else UNKNOWN
    if kind is Function:
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return LIGHT if name != "__name__" else (Const(atom.facts.name),)
        table = atom.frame.allocs.get(("attributes", id(atom.facts)))
        return UNKNOWN if table is None else table.fields.get(name, UNKNOWN)
    if kind is Super and type(atom.receiver) is Obj:
        return _object_attribute(machine, frame, atom.receiver, name)
    return (atom,) if atom == COUNT else UNKNOWN  # `uuid4().hex`


def _object_attribute(machine: Machine, frame: Frame, obj: Obj, name: str) -> Value:
    machine.looked_at.add(name)
    known = obj.fields.get(name)
    unnamed = ANY_NAME in obj.fields and obj.kind != "module"  # whose layers are found under their own names
    if unnamed and not (known and is_light(known)) and not (isinstance(obj.cls, Class) and obj.cls.find(name)):
        machine.reads.setdefault((obj.serial, ANY_NAME), set()).add(frame.acting(obj).name)
        known = machine.join(known or UNKNOWN, obj.fields[ANY_NAME])
    if known:
        machine.reads.setdefault((obj.serial, name), set()).add(frame.acting(obj).name)
        return (part_set_later(machine, obj, name) or known) if known == NOTHING else known
    if name == "__dict__" and obj.kind in ("instance", "module"):
        return attributes_of(machine, obj)
    if name == "_modules" and obj.kind == "module":  # its parts by their names, as a `ModuleDict` has them
        return (obj,)
    if name in ("param_groups", "state") and _is_optimizer(obj):
        return _groups_of(machine, obj) if name == "param_groups" else _state_of(machine, obj)
    if isinstance(obj.cls, Class):
        found = obj.cls.find(name)
        if found is not None:
            return _member(machine, frame, obj, found)
        if name == "__class__":
            return (obj.cls,)
        if name in _WEIGHTS and obj.kind == "module" and _is_layer(obj.cls):
            return (Tensor(LEAF, 3, machine.derivation.node((), ("parameters", obj)), ""),)
        answer = written_part(machine, obj, name) or answer_by_name(machine, frame, obj, name)
        return answer or imagine_attribute(machine, frame, obj, name)
    if obj.kind == "module":
        if name in _WEIGHTS:
            return (Tensor(LEAF, 3, machine.derivation.node((), ("parameters", obj)), ""),)
        if name in ("training", "in_features", "out_features", "device", "dtype", "config"):
            return LIGHT
        if names_model(name) and not isinstance(obj.cls, Class):
            return (part_of(machine, obj, name),)
        if name[:1].islower():
            return (Method(obj, name),) if name in knowledge.MODULE_METHODS or name == "forward" else UNKNOWN
    if obj.kind in CONTAINERS or obj.kind in ("optimizer", "queue", "pool", "executor"):
        return (Method(obj, name),)
    if obj.kind == "mp-context":  # the base of a class: `get_context("spawn").Process`
        return (External(f"multiprocessing.{name}"),)
    return UNKNOWN


def answer_by_name(machine: Machine, frame: Frame, obj: Obj, name: str) -> Value:
    """What a class's own `__getattr__` gives for a name that its object has not got: a part of what it wraps, or an
    entry of a table."""
    if not isinstance(obj.cls, Class) or name[:2] == "__" or obj.cls.find("__getattr__") is None:
        return UNKNOWN
    if any(name in _METHODS.get(base, ()) for base in obj.cls.external):
        return UNKNOWN  # `keys` of a dictionary's class is found before
    asked = (id(obj.fields), name, len(obj.fields))
    if asked in machine.unanswered:
        return UNKNOWN
    found = machine.call_method(frame, obj, "__getattr__", [(Const(name),)], {}, machine.site)
    if not found:
        machine.unanswered.add(asked)
    return found


def _is_layer(cls: Class) -> bool:
    """Whether a class is one of torch's layers with weights, `class QuantLinear(nn.Linear)`."""
    tails = (base.rpartition(".")[2] for base in cls.external if base.startswith("torch.nn."))
    return any(tail not in knowledge.PARAMETERLESS and tail not in _NO_LAYERS for tail in tails)


def _is_optimizer(obj: Obj) -> bool:
    """Whether an object is one of torch's optimizers, or of a class that is one."""
    bases = obj.cls.external if isinstance(obj.cls, Class) else ()
    return obj.kind == "optimizer" or any(base.startswith("torch.optim.") for base in bases)


def _groups_of(machine: Machine, obj: Obj) -> Value:
    """`param_groups`: a list of dictionaries whose `"params"` are the parameters themselves
    [docs: torch.optim.Optimizer], of those modules that it was made for as far as that is seen."""
    groups, group = _inside(machine, obj, "list", "param_groups"), _inside(machine, obj, "dict", "param_groups")
    of = [module for module in obj.fields.get("$of", ()) if type(module) is Obj] or [obj]
    leaves = (Tensor(LEAF, 3, machine.derivation.node((), ("parameters", module)), "") for module in of)
    groups.fields["*"], group.fields["[params]"] = (group,), tuple(leaves)
    group.fields["$other"] = LIGHT  # its other entries are numbers
    obj.fields["param_groups"] = (groups,)
    return (groups,)


def _state_of(machine: Machine, obj: Obj) -> Value:
    """`state`: a dictionary for each parameter, made when it is first asked for [docs: torch.optim.Optimizer]."""
    state, entry = _inside(machine, obj, "dict", "state"), _inside(machine, obj, "dict", "state")
    state.fields["*"] = (entry,)
    obj.fields["state"] = (state,)
    return (state,)


def attributes_of(machine: Machine, obj: Obj) -> Value:
    """`self.__dict__`, `vars(self)`: what is put in there lives as long as the object."""
    table = _inside(machine, obj, "dict", "__dict__")
    obj.fields["__dict__"] = (table,)
    return (table,)


def _inside(machine: Machine, obj: Obj, kind: str, name: str) -> Obj:
    """A container that an object comes with, and that lives as long."""
    table = Obj(kind, None, obj.birth, obj.site, obj.weight)
    machine.serial += 1
    table.serial, table.unknown, table.home = machine.serial, True, (obj, name)
    return table


def _is_kept(machine: Machine, property_: Function, value: Value) -> bool:
    """Whether what a property gives stays on its object [docs: functools.cached_property], and is no number or two."""
    if not any(last_name(one) == "cached_property" for one in property_.facts.decorators):
        return False
    returned = [one[2] for one in statements(property_.facts.body) if one[0] == m.RETURN and one[2] is not None]
    if all(one[0] == m.CALL and last_name(one) in _OF_NUMBERS and one[3] and one[3][0][0] == m.NEW for one in returned):
        return False  # `np.array([self.left, self.top])`
    sizes = [tensor.size for tensor in machine.reach(value)]
    return not sizes or any(size not in (SCALAR, FEW) for size in sizes)


def _member(machine: Machine, frame: Frame, obj: Obj, found: Value) -> Value:
    result: Value = UNKNOWN
    for member in found:
        if type(member) is Function:
            if member.kind == "property":
                part = machine.call_function(frame, member, obj, [], {}, machine.site)
                if machine.context is not None and _is_kept(machine, member, part):
                    keep_in_element(machine, frame, obj, part, member.facts.site, computed=True)
                    machine.note("property-kept", member.facts.site, frame, (obj, member.facts.name, part))
            elif member.kind == "static":
                part = (member,)
            else:
                part = (Bound(member, obj.cls if member.kind == "class" else obj),)
                if frame.receiver is not obj:
                    machine.asked.setdefault(obj, {}).setdefault(member.facts.name, set()).add(frame)
        else:
            getter = descriptors.method_of(member, "__get__")
            part = (member,)
            if getter is not None:
                part = machine.call_function(frame, getter, member, [(obj,), (obj.cls,)], {}, machine.site)
        result = machine.join(result, part)
    return result


def _moves_in(machine: Machine, frame: Frame, owner: Obj, obj: Obj) -> bool:
    """Whether an attribute is from now on what an object lives in. That of a part of it is not, nor of one that it is
    just making, and that refers to its maker."""
    maker = frame.caller
    if maker is not None and maker.receiver is obj and "__init__" in (frame.name, maker.name):
        return False
    if owner.home is not None and owner.home[0] is obj:
        return False
    if not obj.settled or settles(frame, obj):
        return True
    return is_given_back(frame, obj) or outlives_its_maker(machine, obj)


def set_attribute(machine: Machine, frame: Frame, owner: Any, name: str, value: Value, site: Site, how: str) -> None:
    """`owner.name = value`."""
    if type(owner) is Tensor:
        _set_on_tensor(machine, frame, owner, name, value, site)
        return
    if type(owner) in (Class, Module):
        owner_frame = owner.unit.frame if type(owner) is Module else owner.frame
        if type(owner) is Module and value == NOTHING:
            note_dropped_global(machine, frame, owner_frame, name, site)
        if type(owner) is Class:
            owner.own(name)  # what was there before, if it waits
        stored = store(machine, frame, owner_frame, name, value, how, site)
        for atom in stored:
            if type(atom) is Obj and atom.kind in (*CONTAINERS, "instance") and settles(frame, atom):
                atom.home = (owner_frame, name)
        missing = m.statement_of(machine.statement) in frame.unit.outline.made_when_missing
        if how == "set" and not missing and _lets_go(machine, owner_frame.vars.get(name, UNKNOWN), stored):
            machine.reset(frame, owner_frame, name, "replace")
        machine.put(owner_frame.vars, name, stored)
        return
    if type(owner) is Function:  # `measure.seen = {}`: what is there lives as long as the function
        table = machine.allocate(owner.frame, ("attributes", id(owner.facts)), "attributes", owner.facts.name)
        table.home, table.birth = (owner.frame, owner.facts.name), owner.frame.loops
        set_attribute(machine, frame, table, name, value, site, how)
        return
    if type(owner) is not Obj:
        if type(owner) is External and f"{owner.dotted}.{name}" in knowledge.PROCESS_HOOKS:
            machine.note("process-hook", site, frame, [value])
        if type(owner) is Light and owner.what == "ctx":
            given = {
                tensor.node
                for param in frame.facts.params
                for tensor in machine.reach(_without_owners(frame.vars.get(param.name, UNKNOWN)), 1)
            }
            machine.note("context-store", site, frame, (name, value, given))
            machine.put(frame.vars, f"ctx.{name}", value)
        return
    if name in machine.settable and isinstance(owner.cls, Class):
        setters = [atom.setter for atom in owner.cls.find(name) or () if type(atom) is Function and atom.setter]
        if setters:
            machine.call_function(frame, setters[0], owner, [value], {}, site)
            return
    described = descriptors.setters(machine, owner, name)
    for descriptor, method in described:
        machine.call_function(frame, method, descriptor, [(owner,), value], {}, site)
    if described:
        return
    if name == "__dict__" and how == "set" and owner.kind == "instance":
        share(machine, owner, value)
        return
    if owner.unknown:
        for tensor in machine.reach(value):
            machine.derivation.spread(machine.derivation.stored, tensor.node)
    if value == NOTHING:
        note_dropped_part(machine, frame, owner, name, site)
    elif value and how == "set" and frame.name not in _WHILE_MADE:
        note_replaced_part(machine, frame, owner, name, value, site)
    if machine.context is not None:
        keep_in_element(machine, frame, owner, value, site)
        if not value:
            keep(machine, frame, owner, name, value, how, site)
    stored = store(machine, frame, owner, name, value, how, site) if value else value
    for atom in stored:
        if type(atom) is Obj and how == "set":
            note_way_back(machine, frame, owner, name, atom, site)
            note_part(machine, frame, owner, name, atom, site)
            note_new_root(machine, frame, owner, name, atom, site)
        if type(atom) is Function and atom.frame.function is not None and how == "set":
            machine.note("wrapped", site, frame, (owner, name, atom))
        called = type(atom) is Obj and not atom.is_put_off and "$callbacks" in atom.fields
        if called and isinstance(owner.cls, Class):
            note_cycle(machine, frame, owner, name, atom.fields["$callbacks"], site)
        if type(atom) is Obj and _moves_in(machine, frame, owner, atom):
            atom.home = (owner, name)
            if atom.kind in CONTAINERS and is_made_by_the_first(frame, owner, site):
                atom.birth = owner.birth
            for part in atom.fields.values() if atom.kind in CONTAINERS else ():
                note_own_entry(machine, frame, atom, part, site)
            note_given_to_part(machine, frame, owner, name, atom, site)
            if atom.kind == "module" and atom.weight == 1 and isinstance(owner.cls, Class):
                uses = owner.cls.facts.uses.get(name, ())  # a module's own part with a model's name is a module
                atom.weight = 2 if owner.kind == "module" or is_module_by_use(uses, name) else 1
        elif type(atom) in (Bound, Partial, Function, Method) and is_made_here(owner):
            if atom in owner.fields.get(name, ()):
                continue  # `self.made = wrapped(self.made)`, which gives what it got: it was there
            note_cycle(machine, frame, owner, name, (atom,), site)
            note_own_entry(machine, frame, owner, (atom,), site)
    if how == "set" and _lets_go(machine, owner.fields.get(name, UNKNOWN), stored):
        machine.reset(frame, owner, name, "replace")
    machine.put(owner.fields, name, stored)


def _lets_go(machine: Machine, before: Value, new: Value) -> bool:
    """Whether an attribute had something, and gets what has no graph, and was not computed from that."""
    if before in (UNKNOWN, NOTHING) or any(tensor.graph == ATTACHED for tensor in machine.reach(new, 1)):
        return False
    return not _is_updated(machine, before, new)


def _without_owners(value: Value) -> Value:
    """What a function is given, without objects: a tensor that one of them has, it keeps anyway."""
    return tuple(atom for atom in value if type(atom) is not Obj or atom.kind in CONTAINERS)


def _is_updated(machine: Machine, old: Value, new: Value) -> bool:
    """Whether what replaces a value may have a graph, and was computed from it: `d * self.mean + x.mean(0)`."""
    had = {tensor.node for tensor in machine.reach(old, 1)}
    return any(
        tensor.graph == MAYBE and not had.isdisjoint(machine.derivation.ancestors(tensor.node, _NEAR))
        for tensor in machine.reach(new, 1)
    )


def note_dropped_part(machine: Machine, frame: Frame, owner: Obj, name: str, site: Site) -> None:
    """An attribute lets go of a module: others of the object may still hold it."""
    value = owner.fields.get(name, UNKNOWN)
    if any(type(atom) is Obj and atom.kind == "module" for atom in value):
        machine.note("dropped-part", site, frame, (owner, name, value))
    note_cleared(machine, frame, value, site)


def note_replaced_part(machine: Machine, frame: Frame, owner: Obj, name: str, value: Value, site: Site) -> None:
    """An attribute gets another module than it had: others of the object may still hold the one before."""
    before = owner.fields.get(name, UNKNOWN)
    if all(type(atom) is Obj and atom.kind in CONTAINERS and not atom.fields for atom in value):
        note_cleared(machine, frame, before, site)
    gone = tuple(atom for atom in before if type(atom) is Obj and atom.kind == "module" and atom.weight > 1)
    if gone and any(type(atom) is Obj and atom.kind == "module" and atom not in gone for atom in value):
        machine.note("replaced-part", site, frame, (owner, name, gone, value))


def note_dropped_global(machine: Machine, frame: Frame, scope: Frame, name: str, site: Site) -> None:
    """A global of a module is let go of by a function, or by another file: others beside it may still hold it."""
    value = scope.vars.get(name, UNKNOWN)
    if any(type(atom) is Obj and atom.kind == "module" for atom in value):
        machine.note("dropped-global", site, frame, (scope, name, value))


def _set_on_tensor(machine: Machine, frame: Frame, owner: Tensor, name: str, value: Value, site: Site) -> None:
    if name == "requires_grad" and constant(value) is True and owner.graph == FREE:
        machine.derivation.require(owner.node, True)
    elif name == "requires_grad" and constant(value) is False:
        machine.derivation.require(owner.node, False)
        freeze_owner(machine, owner)
    elif name == "data":
        note_following(machine, owners(machine, (owner,)), value)
    elif name == "grad" and any(tensor.graph == ATTACHED for tensor in machine.reach(value)):
        machine.note("grad-store", site, frame, value)
    elif name == "grad":
        machine.note("zero-grad", site, frame)


_RESETS = ("reset", "clear", "detach", "init", "zero", "forget")


def set_by_name(machine: Machine, frame: Frame, owners: Value, value: Value, site: Site) -> None:
    """`setattr(self, name, value)` for a name that is not known: each of several names keeps its last value. What a
    module gets so is made of, its layers, is nothing to follow, but lives in it from now on."""
    attached = any(tensor.graph == ATTACHED for tensor in machine.reach(value))
    if not attached and frame.name.strip("_").startswith(_RESETS):
        for atom in owners:
            _set_all(machine, frame, atom, value)
    for atom in owners:
        if type(atom) is Obj and (atom.kind == "instance" or (atom.kind == "module" and attached)):
            before = atom.fields.get(ANY_NAME, UNKNOWN)
            set_attribute(machine, frame, atom, ANY_NAME, value, site, "set")
            machine.put(atom.fields, ANY_NAME, machine.join(atom.fields[ANY_NAME], before))
        elif type(atom) is Obj and atom.kind == "module":
            for part in value:
                if type(part) is Obj and part.kind == "module" and _is_variable(part):
                    part.home = (atom, ANY_NAME)


def _is_variable(obj: Obj) -> bool:
    """Whether nothing has an object but a variable of a function, if that."""
    return obj.home is None or (isinstance(obj.home[0], Frame) and obj.home[0].function is not None)


def _set_all(machine: Machine, frame: Frame, obj: Any, value: Value) -> None:
    """`for name, value in self.memories.items(): setattr(self, name, value)` of `reset()`: what a pass has left."""
    for key, before in list(obj.fields.items()) if type(obj) is Obj and not obj.is_put_off else ():
        if key[:1].isalpha() and any(tensor.graph == ATTACHED for tensor in machine.reach(before, 1)):
            machine.put(obj.fields, key, value)
            machine.reset(frame, obj, key, "set")


def get_by_name(machine: Machine, frame: Frame, owners: Value) -> Value:
    """`getattr(self, name)` for a name that is not known: one of those that `setattr` has bound, or of all that a
    `SimpleNamespace` has, so it may have a graph or not."""
    result: Value = UNKNOWN
    for atom in owners:
        if type(atom) is Obj and not atom.is_put_off:
            plain = atom.kind == "instance" and atom.cls is None
            names = [key for key in atom.fields if key[:1].isalpha()] if plain else []
            for name in (ANY_NAME, *names) if ANY_NAME in atom.fields else names:
                result = machine.join(result, get_attribute(machine, frame, atom, name))
    return tuple(
        atom._replace(graph=MAYBE) if type(atom) is Tensor and atom.graph == ATTACHED else atom for atom in result
    )


def part_of(machine: Machine, obj: Obj, name: str) -> Obj:
    """A module inside one that is not seen."""
    part = machine.allocate(machine.module_frame, ("part", obj.serial, name), "module", "?", min(obj.weight, 2))
    part.weight = max(part.weight, min(obj.weight, 2))
    part.unknown = True
    part.birth = obj.birth
    part.home = part.home or (obj, name)
    return part
