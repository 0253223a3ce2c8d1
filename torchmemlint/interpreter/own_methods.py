"""Methods of the project's classes: which member is meant, of an object, a class or `super()`, and who receives it."""

from __future__ import annotations

from typing import Any

from ..facts import model as m
from ..facts.evaluating import says_inference
from ..facts.model import Site
from .attributes import answer_by_name
from .contexts import take_work
from .cycles import note_given_to_base
from .descriptors import method_of
from .followed import note_trained
from .frames import Frame
from .functions import call_function
from .imagined import imagine_attribute
from .instances import bare_objects, call_instance, construct, fill_own_parts, ran
from .library import call_external
from .machine import Machine
from .making import attribute_of_metaclass
from .module_classes import is_module
from .objects import call_object
from .passes import goes_in_rounds, in_eval_mode, record_module_call
from .qt_objects import note_child
from .tensors import arithmetic
from .unknown import unknown_call
from .values import ATTACHED, OFF, UNKNOWN, Class, Function, Kwargs, Light, Method, Obj, Super, Value
from .written_parts import written_part

_DEEP = 4  # attributes and containers between a module and a part of it


def _is_module(atom: Any) -> bool:
    return type(atom) is Obj and atom.kind == "module"


def own_method(
    machine: Machine, frame: Frame, atom: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value | None:
    """Call what an instance of a class of the file has under this name; None if it has nothing."""
    machine.looked_at.add(name)
    if name in atom.fields and name != "*" and atom.fields[name]:
        value = tuple(v for v in atom.fields[name] if not (type(v) is Method and v.receiver is atom and v.name == name))
        return machine.call(frame, value, args, kwargs, site) if value else None
    if not isinstance(atom.cls, Class):
        return None
    found = atom.cls.find(name)
    if found is None:
        written = written_part(machine, atom, name) or answer_by_name(machine, frame, atom, name)
        if written:
            return machine.call(frame, written, args, kwargs, site)
        used = any(name in entry.facts.uses for entry in atom.cls.mro)
        module = tuple(a for a in imagine_attribute(machine, frame, atom, name) if _is_module(a)) if used else UNKNOWN
        return machine.call(frame, module, args, kwargs, site) if module else None
    if _receiver(frame) is not atom:
        machine.asked.setdefault(atom, {}).setdefault(name, set()).add(frame)
    if any(type(member) is Function and member.kind == "abstract" for member in found):
        return unknown_call(machine, frame, (m.ATTR, (m.NAME, "self"), name), args, kwargs, site, receiver=(atom,))
    result: Value = UNKNOWN
    whole = atom.kind == "module" and _receiver(frame) is not atom and _computes(found) and not says_inference(name)
    passes = name == "forward" and is_module(atom.cls)  # of itself: `self.forward(x)`
    machine.module_depth += whole or passes
    before = len(machine.inner_runs)
    for member in found:
        if type(member) is Function:
            if member.kind == "property":
                made = call_function(machine, frame, member, atom, [], {}, site)
                result = machine.join(result, machine.call(frame, made, args, kwargs, site))
            else:
                result = machine.join(result, _call_member(machine, frame, member, atom, args, kwargs, site))
        else:
            getter = method_of(member, "__get__")
            bound = (member,)
            if getter is not None:
                bound = call_function(machine, frame, getter, member, [(atom,), (atom.cls,)], {}, site)
            result = machine.join(result, machine.call(frame, bound, args, kwargs, site))
    machine.module_depth -= whole or passes
    if passes or (whole and any(tensor.graph == ATTACHED for tensor in machine.reach(result))):
        return ran(machine, frame, atom, result, args, kwargs, site, machine.derivation.node())
    if whole and not machine.module_depth:
        _note_passes(machine, frame, atom, before, args, site)
    return result


def _note_passes(machine: Machine, frame: Frame, module: Obj, before: int, args: list[Value], site: Site) -> None:
    """A method of a module has run the module, `model.evaluation_step(batch)`, or parts of it that only give results,
    `model.decode(frames)`. What it gives back is not seen to have a graph, as what other parts make of the results may
    be numbers."""
    runs = machine.inner_runs[before:]
    node = next((node for run, node in runs if run is module), None)
    if node is None and in_eval_mode(module):
        node = next((node for run, node in reversed(runs) if _is_part(run, module)), None)
    if node is not None:
        record_module_call(machine, frame, module, node, site, args, 2)


def _is_part(run: Obj, module: Obj) -> bool:
    """Whether a module lies in an attribute of another one, or in a container there."""
    holder: Any = run
    for _ in range(_DEEP):
        holder = holder.home[0] if type(holder) is Obj and holder.home is not None else None
        if holder is module:
            return True
    return False


def _receiver(frame: Frame) -> Any:
    """`self` of the method that runs, also inside functions defined in it."""
    current: Frame | None = frame
    while current is not None and current.receiver is None:
        current = current.parent
    return None if current is None else current.receiver


def _computes(found: Value) -> bool:
    """Whether a module's method is a forward pass of its own: it neither trains nor changes the mode, nor makes passes
    again and again."""
    other = m.BACKWARD | m.EVALUATES | m.THREADS
    return all(
        type(member) is Function and not (member.facts.flags & other or member.kind or goes_in_rounds(member))
        for member in found
    )


def _call_member(
    machine: Machine, frame: Frame, member: Function, receiver: Any, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    if member.kind == "static":
        return call_function(machine, frame, member, None, args, kwargs, site)
    if member.kind == "class":
        owner = receiver.cls if type(receiver) is Obj else receiver
        return call_function(machine, frame, member, owner, args, kwargs, site)
    return call_function(machine, frame, member, receiver, args, kwargs, site)


def class_method(
    machine: Machine, frame: Frame, atom: Class, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Call what a class, or its metaclass, has under this name."""
    found = atom.find(name)
    if found is None and atom.meta is not None:
        return machine.call(frame, attribute_of_metaclass(atom, name), args, kwargs, site)
    result: Value = UNKNOWN
    for member in found or ():
        if type(member) is Function:
            if member.kind in ("static", "class"):
                part = _call_member(machine, frame, member, atom, args, kwargs, site)
            else:
                part = call_function(machine, frame, member, None, args, kwargs, site)
        elif type(member) is Obj:
            part = call_instance(machine, frame, member, args, kwargs, site)
        else:
            part = machine.call(frame, (member,), args, kwargs, site)
        result = machine.join(result, part)
    if found is None and name == "apply" and "torch.autograd.Function" in atom.external:
        return _apply(machine, frame, atom, args, kwargs, site)
    if found is None and name == "__new__":  # `cls.__new__(cls)`
        return bare_objects(machine, frame, args, site)
    return result


def _apply(machine: Machine, frame: Frame, cls: Class, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """`Function.apply`: its `forward` runs with gradients off, its result has a graph if an argument has."""
    grad, machine.grad = machine.grad, OFF
    for member in cls.find("forward") or ():
        if type(member) is Function:
            call_function(machine, frame, member, Light("ctx"), args, kwargs, site)
    machine.grad = grad
    return arithmetic(machine, args)


def made_by_base(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> None:
    """What the constructor of a base outside of the project does, `super().__init__(...)`, `Thread.__init__(self)`."""
    fill_own_parts(machine, frame, obj, args, kwargs, site)
    take_work(machine, obj, args, kwargs)
    note_given_to_base(machine, frame, obj, args, kwargs, site)
    note_child(machine, frame, obj, args, kwargs, site)
    note_trained(machine, obj, args, kwargs)


def super_method(
    machine: Machine, frame: Frame, atom: Super, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """`super().name(...)`: the next class that has it, or what bases outside of the project do."""
    receiver = atom.receiver
    mro = receiver.cls.mro if type(receiver) is Obj and isinstance(receiver.cls, Class) else atom.owner.mro
    after = mro[mro.index(atom.owner) + 1 :] if atom.owner in mro else atom.owner.mro[1:]
    for entry in after:
        found = entry.own(name)
        if found is not None:
            result: Value = UNKNOWN
            for member in found:
                if type(member) is Function:
                    result = machine.join(result, _call_member(machine, frame, member, receiver, args, kwargs, site))
            return result
    if name == "__init__" and type(receiver) is Obj:
        made_by_base(machine, frame, receiver, args, kwargs, site)
    if name == "__setattr__":
        return call_external(machine, frame, "builtins.setattr", [(receiver,), *args], kwargs, site)
    if type(receiver) is Obj and name not in ("__init__", "__getattr__"):
        return call_object(machine, frame, receiver, name, args, kwargs, site)
    if type(receiver) is Class and name == "__call__":  # of a metaclass: what makes an object
        return construct(machine, frame, receiver, args, kwargs, site)
    return bare_objects(machine, frame, args, site) if name == "__new__" else UNKNOWN
