"""Containers, modules, optimizers and instances: their attributes and methods."""

from __future__ import annotations

from typing import Any

from ..facts import knowledge
from ..facts.model import Site
from ..facts.relevance import says_evaluation
from . import processes
from .cycles import note_cycle
from .holders import UNSURE
from .hooks import note_hook, run_hook
from .linking import module_member
from .machine import Frame, Machine
from .tensors import arithmetic, free, freeze_owner, loss, tensor_attribute, wide_loss_label
from .threads import run_in_thread, start
from .unknown import imagine_attribute, is_module_by_use, step_output, unknown_call
from .values import (
    ANY_NAME,
    ATTACHED,
    CONTAINERS,
    COUNT,
    DEPENDS,
    FREE,
    LEAF,
    LIGHT,
    MAYBE,
    NAMED,
    OFF,
    ON,
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Kwargs,
    Light,
    Method,
    Mode,
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

_GROW = ("append", "appendleft", "add", "insert", "put", "put_nowait", "extend", "extendleft", "update", "push")
_POP = ("pop", "popleft", "popitem", "remove", "discard", "get_nowait")


# -- attributes -----------------------------------------------------------------------------------


_MOST_PARTS = 12  # of a module that are told apart where all are gone through


def get_attribute(machine: Machine, frame: Frame, atom: Any, name: str) -> Value:
    """`atom.name`, when it is not called at once."""
    kind = type(atom)
    if kind is External:
        return (External(f"{atom.dotted}.{name}"),)
    if kind is Tensor:
        return tensor_attribute(machine, atom, name) or (Method(atom, name),)
    if kind is Obj:
        return _object_attribute(machine, frame, atom, name)
    if kind is Class:
        found = atom.find(name)
        return UNKNOWN if found is None else found
    if kind is Module:
        return module_member(machine, atom.unit, name) or UNKNOWN
    if kind is Opaque:
        return (atom._replace(node=machine.derivation.node((atom.node,))),)
    if kind is Light and atom.what == "ctx":
        return frame.vars.get(f"ctx.{name}", UNKNOWN)
    if kind is Function:
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return LIGHT
        table = atom.frame.allocs.get(("attributes", id(atom.facts)))
        return UNKNOWN if table is None else table.fields.get(name, UNKNOWN)
    if kind is Super and type(atom.receiver) is Obj:
        return _object_attribute(machine, frame, atom.receiver, name)
    return (atom,) if atom == COUNT else UNKNOWN  # `uuid4().hex`


def _object_attribute(machine: Machine, frame: Frame, obj: Obj, name: str) -> Value:
    known = obj.fields.get(name)
    unnamed = ANY_NAME in obj.fields and obj.kind != "module"  # whose layers are found under their own names
    if unnamed and not (isinstance(obj.cls, Class) and obj.cls.find(name)):
        machine.reads.setdefault((obj.serial, ANY_NAME), set()).add(frame.facts.name)
        known = machine.join(known or UNKNOWN, obj.fields[ANY_NAME])
    if known:
        machine.reads.setdefault((obj.serial, name), set()).add(frame.facts.name)
        return known
    if name == "__dict__" and obj.kind in ("instance", "module"):
        return attributes_of(machine, obj)
    if isinstance(obj.cls, Class):
        found = obj.cls.find(name)
        if found is not None:
            return _member(machine, frame, obj, found)
        if name == "__class__":
            return (obj.cls,)
        return imagine_attribute(machine, frame, obj, name)
    if obj.kind == "module":
        if name in ("weight", "bias"):
            return (Tensor(LEAF, 3, machine.derivation.node((), ("parameters", obj)), ""),)
        if name in ("training", "in_features", "out_features", "device", "dtype", "config"):
            return LIGHT
        if name in knowledge.MODEL_NAMES and not isinstance(obj.cls, Class):
            return (_part(machine, obj, name),)
        if name[:1].islower():
            return (Method(obj, name),) if name in knowledge.MODULE_METHODS or name == "forward" else UNKNOWN
    if obj.kind in CONTAINERS or obj.kind == "optimizer":
        return (Method(obj, name),)
    if obj.kind == "mp-context":  # the base of a class: `get_context("spawn").Process`
        return (External(f"multiprocessing.{name}"),)
    return UNKNOWN


def attributes_of(machine: Machine, obj: Obj) -> Value:
    """`self.__dict__`, `vars(self)`: what is put in there lives as long as the object."""
    table = Obj("dict", None, obj.birth, obj.site, obj.weight)
    machine.serial += 1
    table.serial, table.unknown, table.home = machine.serial, True, (obj, "__dict__")
    obj.fields["__dict__"] = (table,)
    return (table,)


def _member(machine: Machine, frame: Frame, obj: Obj, found: Value) -> Value:
    result: Value = UNKNOWN
    for member in found:
        if type(member) is Function:
            if member.kind == "property":
                part = machine.call_function(frame, member, obj, [], {}, machine.site)
            elif member.kind == "static":
                part = (member,)
            else:
                part = (Bound(member, obj.cls if member.kind == "class" else obj),)
                if frame.receiver is not obj:
                    machine.asked.setdefault(obj, set()).add(member.facts.name)
        else:
            part = (member,)
        result = machine.join(result, part)
    return result


def set_attribute(machine: Machine, frame: Frame, owner: Any, name: str, value: Value, site: Site, how: str) -> None:
    """`owner.name = value`."""
    if type(owner) is Tensor:
        _set_on_tensor(machine, frame, owner, name, value, site)
        return
    if type(owner) in (Class, Module):
        owner_frame = owner.unit.frame if type(owner) is Module else owner.frame
        stored = machine.store(frame, owner_frame, name, value, how, site)
        machine.put(owner_frame.vars, name, stored)
        return
    if type(owner) is Function:  # `measure.seen = {}`: what is there lives as long as the function
        table = machine.allocate(owner.frame, ("attributes", id(owner.facts)), "attributes", owner.facts.name)
        table.home, table.birth = (owner.frame, owner.facts.name), owner.frame.loops
        set_attribute(machine, frame, table, name, value, site, how)
        return
    if type(owner) is not Obj:
        if type(owner) is Light and owner.what == "ctx":
            given = {
                tensor.node
                for param in frame.facts.params
                for tensor in machine.reach(frame.vars.get(param.name, UNKNOWN), 1)
            }
            machine.note("context-store", site, frame, (name, value, given))
            machine.put(frame.vars, f"ctx.{name}", value)
        return
    if name in machine.settable and isinstance(owner.cls, Class):
        setters = [atom.setter for atom in owner.cls.find(name) or () if type(atom) is Function and atom.setter]
        if setters:
            machine.call_function(frame, setters[0], owner, [value], {}, site)
            return
    if owner.unknown:
        for tensor in machine.reach(value):
            machine.derivation.spread(machine.derivation.stored, tensor.node)
    stored = machine.store(frame, owner, name, value, how, site) if value else value
    for atom in stored:
        called = type(atom) is Obj and not atom.is_put_off and "$callbacks" in atom.fields
        if called and isinstance(owner.cls, Class):
            note_cycle(machine, frame, owner, name, atom.fields["$callbacks"], site)
        if type(atom) is Obj and not atom.settled:
            atom.home = (owner, name)
            if atom.kind == "module" and atom.weight == 1 and isinstance(owner.cls, Class):
                uses = owner.cls.facts.uses.get(name, ())
                atom.weight = 2 if is_module_by_use(uses) else 1
        elif type(atom) in (Bound, Partial, Function) and isinstance(owner.cls, Class):
            note_cycle(machine, frame, owner, name, (atom,), site)
    if (
        how == "set"
        and owner.fields.get(name)
        and not any(tensor.graph == ATTACHED for tensor in machine.reach(stored, 1))
    ):
        machine.reset(frame, owner, name, "replace")
    machine.put(owner.fields, name, stored)


def _set_on_tensor(machine: Machine, frame: Frame, owner: Tensor, name: str, value: Value, site: Site) -> None:
    if name == "requires_grad" and constant(value) is True and owner.graph == FREE:
        machine.derivation.require(owner.node, True)
    elif name == "requires_grad" and constant(value) is False:
        machine.derivation.require(owner.node, False)
        freeze_owner(machine, owner)
    elif name == "grad" and any(tensor.graph == ATTACHED for tensor in machine.reach(value)):
        machine.note("grad-store", site, frame, value)
    elif name == "grad":
        machine.note("zero-grad", site, frame)


# -- methods --------------------------------------------------------------------------------------


def call_object(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Call a method that the file does not define."""
    if obj.kind in CONTAINERS or obj.kind in ("queue", "generator"):
        return _container_method(machine, frame, obj, name, args, kwargs, site)
    if obj.kind == "module":
        return _module_method(machine, frame, obj, name, args, kwargs, site)
    if obj.kind == "optimizer":
        if name == "step":
            for loop in machine.loops:
                loop.steps = True
            if args or "closure" in kwargs:
                _run_closure(machine, frame, args[0] if args else kwargs["closure"], site)
        return _state_of(machine, frame, obj, site) if name == "state_dict" else LIGHT
    if obj.kind == "profiler":
        if name in ("start", "stop"):
            machine.note(
                "recording-on" if name == "start" else "recording-off", site, frame, ("profile", machine.conditions)
            )
        return LIGHT
    if obj.kind == "scheduler":
        return LIGHT
    if obj.kind in ("pool", "mp-context", "delayed", "mp-manager"):
        return processes.call_object(machine, frame, obj, name, args, kwargs, site)
    if name == "start":
        start(machine, frame, obj, site)
    if obj.kind in ("thread", "executor"):
        return run_in_thread(machine, frame, obj, name, args, kwargs, site)
    return unknown_call(machine, frame, (2, (1, "self"), name), args, kwargs, site, receiver=(obj,))


def _run_closure(machine: Machine, frame: Frame, closure: Value, site: Site) -> None:
    """`optimizer.step(closure)` calls it at least once, with gradients recorded [docs: torch.optim.LBFGS.step]."""
    outer, machine.grad = machine.grad, ON
    machine.call(frame, closure, [], {}, site)
    machine.grad = outer


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


def _container_method(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    if "$stack" in obj.fields:
        return _stack_method(machine, frame, obj, name, args, kwargs, site)
    if name in _GROW:
        return _grow(machine, frame, obj, name, args, kwargs, site)
    if name == "setdefault":
        value = args[1] if len(args) > 1 else UNKNOWN
        key = constant(args[0]) if args else ...
        field = "*" if key is ... else f"[{key}]"
        machine.grow(frame, obj, value, site, field, "keyed")
        return machine.elements(frame, (obj,))
    if name == "__setitem__" and len(args) == 2:  # `super().__setitem__(key, value)`
        machine.key_kind = UNSURE
        machine.grow(frame, obj, args[1], site, "*", "keyed")
        return LIGHT
    if name == "clear":
        machine.reset(frame, obj, "*", "clear")
        _empty(machine, obj)
        return LIGHT
    if obj.kind == "queue" and name == "get":
        machine.note("queue-received" if machine.context is None else "queue-get", site, frame, obj)
    if name in _POP or (name == "get" and obj.kind == "queue"):
        machine.reset(frame, obj, "*", "pop", args[0] if args and name in ("remove", "discard") else UNKNOWN)
        return machine.elements(frame, (obj,))
    if name == "get":
        key = constant(args[0]) if args else ...
        found = obj.fields.get(f"[{key}]") if key is not ... else None
        value = machine.elements(frame, (obj,)) if found is None else found
        return machine.join(value, args[1]) if len(args) > 1 else value
    if name == "values":
        return _listed(machine, frame, obj, site, machine.elements(frame, (obj,)))
    if name == "keys":
        return _listed(machine, frame, obj, site, keys_of(obj))
    if name == "items":
        pair = machine.allocate(frame, ("pair", site, obj.serial), "tuple")
        machine.put(pair.fields, "[0]", keys_of(obj))
        machine.put(pair.fields, "[1]", machine.elements(frame, (obj,)))
        return _listed(machine, frame, obj, site, (pair,))
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


def _stack_method(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """An `ExitStack` keeps what was entered until it is left itself."""
    if name in ("close", "aclose", "pop_all"):
        machine.reset(frame, obj, "*", "clear")
        _empty(machine, obj)
        return UNKNOWN
    for atom in args[0] if name == "enter_context" and args else ():
        if type(atom) is Mode:  # until the stack is left, see `calls.enter_context`
            machine.entered.add(atom.site)
            machine.grad = atom.grad
            return LIGHT
    if name in ("enter_context", "enter_async_context") and args and all(is_light(value) and value for value in args):
        machine.grow(frame, obj, args[0], site)
        return args[0]
    return unknown_call(machine, frame, (2, (1, "self"), name), args, kwargs, site, receiver=(obj,))


def a_key_of(obj: Obj) -> Light:
    """A key that a dictionary has: to bind it there replaces an entry."""
    return Light(f"key of {obj.serial}")


def keys_of(obj: Obj) -> Value:
    """What the keys of a dictionary may be."""
    keys = [key for key in obj.fields if key[:1] != "$"]
    seen = keys and not obj.unknown and all(key[:1] == "[" for key in keys)
    return (NAMED,) if seen else (a_key_of(obj),)


def _submodules(machine: Machine, frame: Frame, obj: Obj) -> Value:
    """The parts of a module: those in containers, and those with a class of the project wherever they are."""
    found = [obj]
    for owner in found:
        for key, part in () if owner.is_put_off else owner.fields.items():
            inside = (
                machine.elements(frame, part)
                if any(type(atom) is Obj and atom.kind == "module" for atom in part)
                else ()
            )
            for atom in (*part, *inside):
                own = type(atom) is Obj and atom.kind == "module" and isinstance(atom.cls, Class)
                if own and not key.startswith("$") and atom not in found and len(found) <= _MOST_PARTS:
                    found.append(atom)
    parts = tuple(atom for atom in machine.elements(frame, (obj,)) if type(atom) is not Tensor)
    return machine.join(parts, tuple(found[1:]))


def _listed(machine: Machine, frame: Frame, obj: Obj, site: Site, value: Value) -> Value:
    listed = machine.allocate(frame, ("listed", site, obj.serial), "list")
    machine.put(listed.fields, "*", value)
    return (listed,)


def _grow(machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    if name in ("extend", "extendleft"):
        machine.grow(frame, obj, machine.iterate(frame, args[0]) if args else UNKNOWN, site)
    elif name == "update":
        for value in args:
            for atom in value:
                if type(atom) is Obj:
                    for field, part in list(atom.fields.items()):
                        if field == "*":
                            machine.grow(frame, obj, part, site, field)
                        elif field[:1] == "[":
                            _replace(machine, frame, obj, field, part, site)
        for key, value in kwargs.items():
            _replace(machine, frame, obj, f"[{key}]", value, site)
    else:
        value = args[-1] if name == "insert" and args else (args[0] if args else UNKNOWN)
        machine.grow(frame, obj, value, site)
    return LIGHT


def _replace(machine: Machine, frame: Frame, obj: Obj, field: str, value: Value, site: Site) -> None:
    """The entry of a key that is there: it takes the place of the last one."""
    if len(machine.loops) > len(obj.birth):
        value = machine.store(frame, obj, field, value, "set", site)
    machine.put(obj.fields, field, value)


def _module_method(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    if name in ("eval", "train"):
        training = name == "train" and not (args and constant(args[0]) is False)
        known = name == "eval" or not args or isinstance(constant(args[0]), bool)
        own = frame.name == "__init__" and frame.receiver is obj  # whoever makes it may train it yet
        known = known and not own
        obj.weight = max(obj.weight, 2)  # whatever its name: it has a mode
        mode: Value = (Const("train" if training else "eval"),) if known else UNKNOWN
        machine.put(obj.fields, "$mode", mode)
        return (obj,)
    if name == "requires_grad_":
        if args and constant(args[0]) is False:
            machine.put(obj.fields, "$frozen", (Const(True),))
        return (obj,)
    if name in knowledge.MODULE_METHODS:
        return (obj,)
    if name in ("parameters", "named_parameters"):
        leaf: Value = (Tensor(LEAF, 3, machine.derivation.node((), ("parameters", obj)), ""),)
        if name == "parameters":
            return leaf
        pair = machine.allocate(frame, ("pair", site), "tuple")
        machine.put(pair.fields, "[0]", (NAMED,))
        machine.put(pair.fields, "[1]", leaf)
        return _listed(machine, frame, obj, site, (pair,))
    if name in ("modules", "children"):
        return _listed(machine, frame, obj, site, machine.join((obj,), _submodules(machine, frame, obj)))
    if name in ("named_modules", "named_children", "items"):
        pair = machine.allocate(frame, ("pair", site), "tuple")
        machine.put(pair.fields, "[0]", (NAMED,))
        machine.put(pair.fields, "[1]", _submodules(machine, frame, obj) or (obj,))
        return _listed(machine, frame, obj, site, (pair,))
    if name in ("values", "get"):
        return _listed(machine, frame, obj, site, machine.elements(frame, (obj,)))
    if name == "get_submodule":
        return machine.elements(frame, (obj,)) or (obj,)
    if name in ("append", "extend", "insert", "add_module", "register_module", "update"):
        for value in args:
            if not is_light(value):
                listed = machine.iterate(frame, value) if name == "extend" else value
                machine.put(obj.fields, "*", machine.join(obj.fields.get("*", UNKNOWN), listed))
                if name in ("add_module", "register_module") and args and isinstance(constant(args[0]), str):
                    machine.put(obj.fields, constant(args[0]), value)
        return LIGHT
    if name in ("register_buffer", "register_parameter"):
        return _register(machine, frame, obj, name, args, kwargs, site)
    if name.startswith("register_") and name.endswith("hook"):
        return _hook(machine, frame, obj, name, args, kwargs, site)
    if name == "state_dict":
        return _state_of(machine, frame, obj, site)
    if name in ("load_state_dict", "named_buffers", "buffers", "extra_repr", "half"):
        return free(machine) if name == "buffers" else UNKNOWN
    if name in ("__call__", "forward"):
        return run_module(machine, frame, obj, args, kwargs, site)
    if "backward" in name:
        from .tensors import backward

        backward(machine, frame, tuple(atom for value in args for atom in value), kwargs, site)
        return LIGHT
    if name in knowledge.ATTACHED_STEPS and machine.grad != OFF:
        return step_output(machine, name)
    if name in ("get_decoder", "get_encoder", "get_base_model") and not args:
        return (_part(machine, obj, name.removeprefix("get_")),)
    if machine.grad != OFF and _is_evaluation_step(name):
        return run_module(machine, frame, obj, args, kwargs, site)
    if machine.grad != OFF and args and _is_pass(obj, name):
        return _run_pass(machine, frame, obj, args, site)
    if name in ("generate", "encode", "predict", "get_image_features", "get_text_features", "sample"):
        return UNKNOWN
    if name in ("log", "log_dict", "print", "toggle_optimizer", "untoggle_optimizer", "optimizers", "lr_schedulers"):
        return UNKNOWN
    if name in knowledge.MODEL_NAMES or name in knowledge.PART_NAMES:
        return run_module(machine, frame, _part(machine, obj, name), args, kwargs, site)
    if machine.threads and machine.grad != OFF and obj.weight > 1 and args:
        from .instances import record_module_call

        record_module_call(machine, frame, obj, machine.derivation.node(), site, args, 2)  # work of some kind
    return unknown_call(machine, frame, (2, (1, "self"), name), args, kwargs, site, receiver=(obj,))


def _state_of(machine: Machine, frame: Frame, obj: Obj, site: Site) -> Value:
    """`state_dict()`: a dict of references to what the module or optimizer has, no copies
    [docs: torch.nn.Module.state_dict]."""
    state = machine.allocate(frame, ("state", site, obj.serial), "dict")
    node = machine.derivation.node((), ("parameters", obj))
    machine.put(state.fields, "*", (Tensor(FREE, min(obj.weight, 2), node, ""),))
    return (state,)


def _is_evaluation_step(name: str) -> bool:
    """`model.val_step(batch)`: one batch through the model and its losses, for a runner who has set the mode."""
    return name.endswith("_step") and says_evaluation(name)


def _is_pass(obj: Obj, name: str) -> bool:
    """`model.full_sort_predict(x)`, `model.encode_image(x)`: a pass under a name of its own, of a model that was put
    in eval mode for it. What needs no mode set, as it sees to that itself, is `generate`, `encode`, `inference`."""
    from .instances import in_eval_mode

    words = name.split("_")
    named = words[-1] == "predict" or (len(words) > 1 and words[0] in ("encode", "extract", "forward"))
    return named and in_eval_mode(obj)


def _run_pass(machine: Machine, frame: Frame, obj: Obj, args: list[Value], site: Site) -> Value:
    """Whether its result has a graph is not seen."""
    from .instances import record_module_call

    node = machine.derivation.node(tuple(node for value in args for node in machine.nodes(value)))
    record_module_call(machine, frame, obj, node, site, args, 2)
    return (Tensor(MAYBE, 1, node, "", True),)


def _part(machine: Machine, obj: Obj, name: str) -> Obj:
    """A module inside one that is not seen."""
    part = machine.allocate(machine.module_frame, ("part", obj.serial, name), "module", "?", min(obj.weight, 2))
    part.weight = max(part.weight, min(obj.weight, 2))
    part.unknown = True
    part.birth = obj.birth
    part.home = part.home or (obj, name)
    return part


def _register(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    key = constant(args[0]) if args else constant(kwargs.get("name", UNKNOWN))
    value = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("param", UNKNOWN))
    if isinstance(key, str):
        if not value:
            graph = FREE if name == "register_buffer" else LEAF
            value = (Tensor(graph, 3, machine.derivation.node(), ""),)
        if any(tensor.graph == ATTACHED for tensor in machine.reach(value, 1)):
            set_attribute(machine, frame, obj, key, value, site, "set")
        else:
            machine.put(obj.fields, key, value)
    return LIGHT


def _hook(machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """A hook runs at every later forward or backward of the module: run it now, as a repeated call."""
    note_hook(machine, frame, args[0] if args else UNKNOWN, obj, site)
    run_hook(machine, frame, name, args[0] if args else UNKNOWN, (obj,), site)
    return UNKNOWN


def run_module(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """Run a module whose `forward` is not seen."""
    from .instances import frozen, record_module_call

    dotted = obj.cls if isinstance(obj.cls, str) else ""
    tail = dotted.rsplit(".", 1)[-1]
    values = [*args, *kwargs.values()]
    if dotted.startswith("torch.nn") and (tail.endswith("Loss") or tail in ("CrossEntropyLoss",)):
        reduction = obj.fields.get("reduction", UNKNOWN)
        return loss(machine, values, {"reduction": reduction}, wide_loss_label(dotted))
    parts = machine.elements(frame, (obj,)) if tail in knowledge.MODULE_CONTAINERS else UNKNOWN
    if tail == "Sequential" and parts:
        return _run_sequence(machine, frame, obj, args, site)

    if tail in knowledge.PARAMETERLESS:
        return arithmetic(machine, values)
    parents = tuple(node for value in values for node in machine.nodes(value))
    bundle = not dotted.startswith("torch.nn") or tail in ("LSTM", "GRU", "RNN", "MultiheadAttention")
    if machine.grad == OFF:
        return (Tensor(FREE, obj.weight, machine.derivation.node(parents, ("ran",)), "", bundle),)
    attached = any(t.graph in (ATTACHED, LEAF) for value in values for t in machine.reach(value, 2))
    if frozen(obj) and not attached:
        graph = MAYBE if any(t.graph == MAYBE for value in values for t in machine.reach(value, 2)) else FREE
        return (Tensor(graph, obj.weight, machine.derivation.node(parents), "", True),)
    node = machine.derivation.node(parents, ("module", obj, site))
    record_module_call(machine, frame, obj, node, site, values, obj.weight)
    weight = min(obj.weight, 2) if machine.grad == DEPENDS or isinstance(obj.cls, Class) else obj.weight
    return (Tensor(ATTACHED, weight, node, "", bundle),)


def _run_sequence(machine: Machine, frame: Frame, obj: Obj, args: list[Value], site: Site) -> Value:
    from .instances import record_module_call

    machine.module_depth += 1
    value = args[0] if args else UNKNOWN
    indexed = [obj.fields[f"[{index}]"] for index in range(8) if f"[{index}]" in obj.fields]
    if "*" in obj.fields:
        indexed.append(obj.fields["*"])
    for part in indexed:
        made = machine.call(frame, part, [value], {}, site)
        value = machine.join(value, made) if "*" in obj.fields and part is obj.fields["*"] else made
    machine.module_depth -= 1
    attached = [tensor for tensor in machine.reach(value, 1) if tensor.graph == ATTACHED]
    if not attached:
        return value
    node = machine.derivation.node(tuple(tensor.node for tensor in attached), ("module", obj, site))
    record_module_call(machine, frame, obj, node, site, args, 3)
    return (Tensor(ATTACHED, max(tensor.weight for tensor in attached), node, "", False),)


def set_by_name(machine: Machine, frame: Frame, owners: Value, value: Value, site: Site) -> None:
    """`setattr(self, name, value)` for a name that is not known: each of several names keeps its last value. What a
    module gets so is made of, its layers, is nothing to follow."""
    attached = any(tensor.graph == ATTACHED for tensor in machine.reach(value))
    for atom in owners:
        if type(atom) is Obj and (atom.kind == "instance" or (atom.kind == "module" and attached)):
            before = atom.fields.get(ANY_NAME, UNKNOWN)
            set_attribute(machine, frame, atom, ANY_NAME, value, site, "set")
            machine.put(atom.fields, ANY_NAME, machine.join(atom.fields[ANY_NAME], before))


def get_by_name(machine: Machine, frame: Frame, owners: Value) -> Value:
    """`getattr(self, name)` for a name that is not known: one of those that `setattr` has bound, so it may have a graph
    or not."""
    result: Value = UNKNOWN
    for atom in owners:
        if type(atom) is Obj and not atom.is_put_off and ANY_NAME in atom.fields:
            result = machine.join(result, get_attribute(machine, frame, atom, ANY_NAME))
    return tuple(
        atom._replace(graph=MAYBE) if type(atom) is Tensor and atom.graph == ATTACHED else atom for atom in result
    )
