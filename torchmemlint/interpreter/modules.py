"""Methods of modules that the file does not define, and passes of those whose `forward` is not seen."""

from __future__ import annotations

from ..facts import knowledge
from ..facts import model as m
from ..facts.differentiated import goes_back
from ..facts.evaluating import says_evaluation
from ..facts.model import Site
from ..facts.model_names import names_model
from .attributes import part_of, set_attribute
from .containers import as_list
from .followed import note_following
from .frames import Frame
from .hooks import note_hook, run_hook
from .machine import Machine
from .passes import in_eval_mode, put_in_mode, record_module_call, runs_frozen
from .tensors import arithmetic, backward, free, freeze, loss, wide_loss_label
from .unknown import step_output, unknown_call
from .values import (
    ATTACHED,
    DEPENDS,
    FREE,
    LEAF,
    LIGHT,
    MAYBE,
    NAMED,
    OFF,
    UNKNOWN,
    Class,
    Kwargs,
    Obj,
    Tensor,
    Value,
    constant,
    is_light,
)
from .weightless import has_no_weights

_MOST_PARTS = 12  # of a module that are told apart where all are gone through


def _submodules(machine: Machine, frame: Frame, obj: Obj) -> Value:
    """The parts of a module: those in containers, and those with a class of the project wherever they are."""
    found = [obj]
    for owner in found:
        for key, part in () if owner.is_put_off else [*owner.fields.items()]:  # to look at the elements may add one
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


def module_method(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    if name in ("eval", "train"):
        training = name == "train" and not (args and constant(args[0]) is False)
        known = name == "eval" or not args or isinstance(constant(args[0]), bool)
        own = frame.name == "__init__" and frame.receiver is obj  # whoever makes it may train it yet
        put_in_mode(machine, obj, training if known and not own else None)
        return (obj,)
    if name == "requires_grad_":
        if args and constant(args[0]) is False:
            freeze(machine, obj)
        return (obj,)
    if name in knowledge.MODULE_METHODS:
        return (obj,)
    if name in ("parameters", "named_parameters"):
        leaf: Value = (Tensor(LEAF, 3, machine.derivation.node((), ("parameters", obj)), ""),)
        if name == "parameters":
            return leaf
        pair = machine.allocate(frame, ("pair", site, obj.serial), "tuple")
        machine.put(pair.fields, "[0]", (NAMED,))
        machine.put(pair.fields, "[1]", leaf)
        return as_list(machine, frame, obj, site, (pair,))
    if name in ("modules", "children"):
        return as_list(machine, frame, obj, site, machine.join((obj,), _submodules(machine, frame, obj)))
    if name in ("named_modules", "named_children", "items"):
        pair = machine.allocate(frame, ("pair", site, obj.serial), "tuple")
        machine.put(pair.fields, "[0]", (NAMED,))
        machine.put(pair.fields, "[1]", _submodules(machine, frame, obj) or (obj,))
        return as_list(machine, frame, obj, site, (pair,))
    if name in ("values", "get"):
        return as_list(machine, frame, obj, site, machine.elements(frame, (obj,)))
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
        return state_of(machine, frame, obj, site)
    if name == "load_state_dict" and args:
        note_following(machine, {obj}, args[0])
    if name in ("load_state_dict", "named_buffers", "buffers", "extra_repr", "half"):
        return free(machine) if name == "buffers" else UNKNOWN
    if name in ("__call__", "forward"):
        return run_module(machine, frame, obj, args, kwargs, site)
    if "backward" in name and goes_back(name):
        backward(machine, frame, tuple(atom for value in args for atom in value), kwargs, site)
        return LIGHT
    if name in knowledge.ATTACHED_STEPS and machine.grad != OFF:
        return step_output(machine, name)
    if name in ("get_decoder", "get_encoder", "get_base_model") and not args:
        return (part_of(machine, obj, name.removeprefix("get_")),)
    if machine.grad != OFF and _is_evaluation_step(name):
        return run_module(machine, frame, obj, args, kwargs, site)
    if machine.grad != OFF and args and _is_pass(obj, name):
        return _run_pass(machine, frame, obj, args, site)
    if machine.grad == OFF and args and name in knowledge.FEATURES:
        return run_module(machine, frame, obj, args, kwargs, site)
    if name in ("generate", "encode", "predict", "get_image_features", "get_text_features", "sample"):
        return UNKNOWN
    if name in ("log", "log_dict", "print", "toggle_optimizer", "untoggle_optimizer", "optimizers", "lr_schedulers"):
        return UNKNOWN
    if names_model(name) or name in knowledge.PART_NAMES:
        return run_module(machine, frame, part_of(machine, obj, name), args, kwargs, site)
    if machine.threads and machine.grad != OFF and obj.weight > 1 and args:
        record_module_call(machine, frame, obj, machine.derivation.node(), site, args, 2)  # work of some kind
    return unknown_call(machine, frame, (m.ATTR, (m.NAME, "self"), name), args, kwargs, site, receiver=(obj,))


def state_of(machine: Machine, frame: Frame, obj: Obj, site: Site) -> Value:
    """`state_dict()`: a dict of references to what the module or optimizer has, no copies
    [docs: torch.nn.Module.state_dict]. Whoever has that method has tensors."""
    state = machine.allocate(frame, ("state", site, obj.serial), "dict")
    node = machine.derivation.node((), ("parameters", obj))
    machine.put(state.fields, "*", (Tensor(FREE, 2, node, ""),))
    return (state,)


def _is_evaluation_step(name: str) -> bool:
    """`model.val_step(batch)`: one batch through the model and its losses, for a runner who has set the mode."""
    return name.endswith("_step") and says_evaluation(name)


def _is_pass(obj: Obj, name: str) -> bool:
    """`model.full_sort_predict(x)`, `model.encode_image(x)`: a pass under a name of its own, of a model that was put
    in eval mode for it. What needs no mode set, as it sees to that itself, is `generate`, `encode`, `inference`."""
    words = name.split("_")
    named = words[-1] == "predict" or (
        len(words) > 1 and (words[0] in ("encode", "extract", "forward") or words[-1] == "forward")
    )
    return named and in_eval_mode(obj)


def _run_pass(machine: Machine, frame: Frame, obj: Obj, args: list[Value], site: Site) -> Value:
    """Whether its result has a graph is not seen."""
    node = machine.derivation.node(tuple(node for value in args for node in machine.nodes(value)))
    record_module_call(machine, frame, obj, node, site, args, 2)
    return (Tensor(MAYBE, 1, node, "", True),)


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
            machine.placed.update((atom.node, (obj, key)) for atom in value if type(atom) is Tensor)
    return LIGHT


def _hook(machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """A hook runs at every later forward or backward of the module: run it now, as a repeated call."""
    note_hook(machine, frame, args[0] if args else UNKNOWN, obj, site)
    run_hook(machine, frame, name, args[0] if args else UNKNOWN, (obj,), site)
    return UNKNOWN


def runs_its_part(frame: Frame) -> bool:
    """Whether this is the pass of a module, and what it calls on itself may be its parts."""
    owner = frame.receiver
    if not isinstance(owner, Obj) or owner.kind != "module" or not isinstance(owner.cls, Class):
        return False
    return frame.name.startswith("forward")


def run_module(machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """Run a module whose `forward` is not seen."""
    dotted = obj.cls if isinstance(obj.cls, str) else ""
    tail = dotted.rsplit(".", 1)[-1]
    values = [*args, *kwargs.values()]
    if dotted.startswith("torch.nn") and (tail.endswith("Loss") or tail in ("CrossEntropyLoss",)):
        reduction = obj.fields.get("reduction", UNKNOWN)
        return loss(machine, values, {"reduction": reduction}, wide_loss_label(dotted))
    if (tail == "Sequential" or _is_sequential(obj)) and machine.elements(frame, (obj,)):
        return _run_sequence(machine, frame, obj, args, site)

    if tail in knowledge.PARAMETERLESS:
        return arithmetic(machine, values)
    parents = tuple(node for value in values for node in machine.nodes(value))
    bundle = not dotted.startswith("torch.nn") or tail in ("LSTM", "GRU", "RNN", "MultiheadAttention")
    if obj.unknown and obj.weight == 1 and not knowledge.MODEL_ARGUMENTS.isdisjoint(kwargs):
        obj.weight = 2  # not by its name alone: it is given what only models are
    if machine.grad == OFF:
        node = machine.derivation.node(parents, ("ran", obj))
        machine.derivation.cut.add(node)
        weight = max(obj.weight, 2) if obj.unknown else obj.weight  # whoever turns gradients off for it runs a model
        return (Tensor(FREE, weight, node, "", bundle),)
    attached = any(t.graph in (ATTACHED, LEAF) for value in values for t in machine.reach(value, 2))
    if not attached and has_no_weights(machine, obj, values):
        return arithmetic(machine, values)
    if not attached and runs_frozen(machine, obj):
        graph = MAYBE if any(t.graph == MAYBE for value in values for t in machine.reach(value, 2)) else FREE
        return (Tensor(graph, obj.weight, machine.derivation.node(parents), "", True),)
    node = machine.derivation.node(parents, ("module", obj, site))
    if obj.unknown and obj.weight == 1 and runs_its_part(frame) and obj.home and obj.home[0] is frame.receiver:
        obj.weight = 2  # not by its name alone
    of_numbers = all(map(is_light, values)) if values else site == machine.given_nothing
    if not (obj.unknown and of_numbers):  # what is given arrays, or nothing, searches or makes something
        record_module_call(machine, frame, obj, node, site, values, obj.weight)
    weight = min(obj.weight, 2) if machine.grad == DEPENDS or isinstance(obj.cls, Class) else obj.weight
    return (Tensor(ATTACHED, weight, node, "", bundle),)


def _is_sequential(obj: Obj) -> bool:
    """Whether the class of a module leaves its pass to `nn.Sequential`."""
    cls = obj.cls
    return isinstance(cls, Class) and "torch.nn.Sequential" in cls.external and cls.find("forward") is None


def _run_sequence(machine: Machine, frame: Frame, obj: Obj, args: list[Value], site: Site) -> Value:
    value = args[0] if args else UNKNOWN
    if any(obj is running for running in machine.sequences):
        return value
    machine.module_depth += 1
    machine.sequences.append(obj)
    indexed = [obj.fields[f"[{index}]"] for index in range(8) if f"[{index}]" in obj.fields]
    if "*" in obj.fields:
        indexed.append(obj.fields["*"])
    for part in indexed:
        made = machine.call(frame, part, [value], {}, site)
        value = machine.join(value, made) if "*" in obj.fields and part is obj.fields["*"] else made
    machine.sequences.pop()
    machine.module_depth -= 1
    attached = [tensor for tensor in machine.reach(value, 1) if tensor.graph == ATTACHED]
    if not attached:
        return value
    node = machine.derivation.node(tuple(tensor.node for tensor in attached), ("module", obj, site))
    record_module_call(machine, frame, obj, node, site, args, 3)
    return (Tensor(ATTACHED, max(tensor.weight for tensor in attached), node, "", False),)
