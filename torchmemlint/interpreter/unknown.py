"""Calls of what is not seen: what comes back by the name and the arguments, and what they may do with these."""

from __future__ import annotations

from collections.abc import Collection

from ..facts import knowledge
from ..facts import model as m
from ..facts.differentiated import goes_back
from ..facts.model import Expr, Site
from ..facts.walk import last_name
from . import processes
from .frames import Frame
from .hooks import note_hook, run_hook
from .imagined import imagined_module
from .machine import Machine
from .passes import frozen, in_eval_mode, record_module_call
from .tensors import arithmetic, backward, free, loss
from .threads import on_loop, submit
from .values import (
    ATTACHED,
    LEAF,
    LIGHT,
    MAYBE,
    OFF,
    SCALAR,
    UNKNOWN,
    Class,
    Function,
    Kwargs,
    Mode,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
)

# Hooks of a tensor or of a node of the graph, which go with it, and of what a trainer makes for itself [accelerate].
_OF_OTHERS = ("register_hook", "register_save_state_pre_hook", "register_load_state_pre_hook")

# How the names of losses end: `dice_loss`, `focal_loss_fct`.
_LOSS_ENDINGS = ("criterion", "loss", "loss_fn", "loss_fct", "loss_func", "loss_function")

# What a module is given and calls that has nothing to train.
_NO_PARTS = frozenset(
    """act activation fn func function nonlinearity loss criterion metric metrics transform transforms tokenizer
    preprocess processor norm normalize callback sampler scheduler hook device drop dropout pool pooling pad padding
    mask resize interpolate aug augment rng timer logger""".split()
)

# What is called back, and is given who calls for as long as that takes.
_CALLBACKS = frozenset("callback cb hook handler listener observer subscriber".split())


def step_output(machine: Machine, name: str) -> Value:
    """What a training step gives to the trainer, who differentiates it."""
    return (Tensor(ATTACHED, 2, machine.derivation.node((), ("step", name, "")), "", True),)


def _name_of(callee: Expr) -> str:
    return callee[-1] if callee[0] in (m.NAME, m.ATTR) else ""


def _opaque(machine: Machine, values: Collection[Value], more: tuple[int, ...] = ()) -> Value:
    nodes = [node for value in values for node in machine.nodes(value)]
    model = next((atom for value in values for atom in value if type(atom) is Obj and _runs(atom)), None)
    if not nodes and not more and model is None:
        return UNKNOWN
    return (Opaque(machine.unknown_node((*nodes, *more)), model),)


def _runs(obj: Obj) -> bool:
    return obj.kind == "module" and obj.weight >= 2 and in_eval_mode(obj) and not frozen(obj)


def call_opaque(machine: Machine, frame: Frame, made: Opaque, args: list[Value], site: Site) -> Value:
    """Call what unknown code made. It may run the module that it was made from, with gradients on or off: only
    where its results are detached later has somebody known that they have a graph."""
    if made.model is None or machine.grad == OFF or not args:
        return UNKNOWN
    node = machine.derivation.node((made.node, *(node for value in args for node in machine.nodes(value))))
    record_module_call(machine, frame, made.model, node, site, args, 2, through=True)
    return (Tensor(MAYBE, 1, node, "", True),)


def _escape(machine: Machine, name: str, values: Collection[Value], lent: Obj | None = None) -> None:
    """What code that is not seen gets may be anywhere; but for an object that has called back with itself."""
    if name in knowledge.REPORTERS or name.startswith(("log_", "print", "plot", "save", "write", "visual")):
        return
    for value in values:
        machine.escape(value, machine.derivation.passed)
        machine.given_away.update(
            atom for atom in value if type(atom) is Obj and atom.kind == "instance" and atom is not lent
        )
        machine.entered.update(atom.site for atom in value if type(atom) is Mode)


def unknown_call(
    machine: Machine,
    frame: Frame,
    callee: Expr,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
    receiver: Value = UNKNOWN,
) -> Value:
    """A call of something that is not seen. It keeps nothing and gives nothing that is known to be
    attached, but what it was given may be used for anything."""
    name = _name_of(callee)
    values = [*args, *kwargs.values()]
    if "backward" in name and goes_back(name):
        backward(machine, frame, tuple(atom for value in args for atom in value), kwargs, site)
        return LIGHT
    if _is_used_up(machine, frame, name, args, kwargs, site):
        return UNKNOWN
    made = by_name(machine, frame, callee, args, kwargs, site)
    if made is not None:
        return made
    calls_back = callee[0] == m.NAME and name.rsplit("_", 1)[-1] in _CALLBACKS
    _escape(machine, name, values, frame.receiver if calls_back and isinstance(frame.receiver, Obj) else None)
    return _opaque(machine, values)


def _is_part(frame: Frame, callee: Expr) -> bool:
    """Whether a module runs, in its pass, what it was given when it was made, `self.encoder(x)`, or in another of its
    methods what has the name of a model, `self.z_encoder(x)`, or is run in its pass as well."""
    from .modules import runs_its_part

    owner = frame.receiver
    if callee[0] != m.ATTR or callee[1] != (m.NAME, "self") or not isinstance(owner, Obj) or owner.is_put_off:
        return False
    name = callee[2]
    given = name in owner.fields and not owner.fields[name]
    if given and owner.kind == "module" and name.rsplit("_", 1)[-1] in knowledge.MODEL_NAMES:
        return True
    if not given or not _NO_PARTS.isdisjoint(name.lower().strip("_").split("_")):
        return False
    return runs_its_part(frame) or (owner.kind == "module" and _is_called_in_pass(owner, name))


def _is_called_in_pass(owner: Obj, name: str) -> bool:
    passes = owner.cls.find("forward") if isinstance(owner.cls, Class) else None
    return any(type(one) is Function and name in one.facts.calls for one in passes or ())


def _trains_modules(callee: Expr) -> bool:
    """Whether a step is one of a model's own, or of what a trainer runs models with."""
    if callee[0] != m.ATTR or callee[1][0] not in (m.NAME, m.ATTR):
        return False
    return callee[1][-1] in knowledge.MODEL_NAMES or callee[1][-1] in knowledge.STEP_OWNERS


def by_name(
    machine: Machine, frame: Frame, callee: Expr, args: list[Value], kwargs: Kwargs, site: Site
) -> Value | None:
    """Results that a name and its arguments vouch for."""
    name = _name_of(callee)
    values = [*args, *kwargs.values()]
    lowered = name.lower()
    attached = any(t.graph == ATTACHED for value in values for t in machine.reach(value, 2))
    criterion = lowered in knowledge.CRITERION_NAMES or lowered.endswith(_LOSS_ENDINGS)
    if criterion and not lowered.startswith(("log", "plot", "add", "update", "save", "print", "record")):
        if attached:
            return loss(machine, values, kwargs, ("loss", name), 2)
        if machine.grad == OFF:
            known = [tensor.weight for value in values for tensor in machine.reach(value, 1)]
            return free(machine, min(2, max(known)), SCALAR) if known else UNKNOWN
        if len(values) >= 2 and any(machine.reach(value, 1) for value in values):
            return loss(machine, values, kwargs, ("loss", name), 1)
        return None
    part = _is_part(frame, callee)
    if part or name in knowledge.MODEL_NAMES or (name.isupper() and lowered in knowledge.MODEL_NAMES):
        from .modules import run_module

        module = imagined_module(machine, frame, ("called", name), 2 if part else 1)
        return run_module(machine, frame, module, args, kwargs, site)
    if name in knowledge.ATTACHED_STEPS and machine.grad != OFF and _trains_modules(callee):
        return step_output(machine, name)
    if name == "rollout" and machine.grad != OFF:
        return _roll_out(machine, frame, values, site)
    if name == "prepare":
        if len(args) == 1:
            return args[0]
        given = machine.allocate(frame, ("prepared", site), "tuple")
        given.fields = {f"[{index}]": value for index, value in enumerate(args)}
        return (given,)
    if name in ("unwrap_model", "tqdm", "track", "to_device", "move_to_device", "unwrap") and args:
        return args[0]
    if args and any(word in lowered for word in _REARRANGING) and _is_table(args[0]):
        return args[0]
    if attached and ("allreduce" in lowered or "all_reduce" in lowered or lowered.startswith("reduce_")):
        return arithmetic(machine, values)  # means over ranks keep the graph of what they average
    return None


def _roll_out(machine: Machine, frame: Frame, values: list[Value], site: Site) -> Value | None:
    """`env.rollout(steps, policy)` runs the policy at each step, in the mode of its caller [docs of torchrl]."""
    policy = next((atom for value in values for atom in value if type(atom) is Obj and atom.kind == "module"), None)
    if policy is None:
        return None
    node = machine.derivation.node(tuple(node for value in values for node in machine.nodes(value)))
    record_module_call(machine, frame, policy, node, site, [], policy.weight)
    return (Tensor(MAYBE, 1, node, "", True),)


_ACTORS = frozenset("actor actors cls class klass worker workers type options".split())  # of names of classes
_REARRANGING = ("flatten", "prefix", "rename")  # words of what gives the entries of a dictionary other keys


def _is_table(value: Value) -> bool:
    return any(type(atom) is Obj and atom.kind == "dict" for atom in value)


def _says_module(callee: Expr, args: list[Value], kwargs: Kwargs) -> bool:
    """Whether a method says that it is a module's: `.eval()`, or `model.to(device)` for the name."""
    if callee[2] == "eval":
        return not args and not kwargs
    return callee[2] in ("to", "cuda") and _name_of(callee[1]) in knowledge.MODEL_NAMES


def _is_used_up(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> bool:
    """Whether unseen code back-propagates a loss that it is given. What it draws is noted."""
    if name in knowledge.PICTURE_WRITERS:
        given = (*args, *kwargs.values())
        machine.derivation.drawn.update(node for value in given for node in machine.nodes(value))
    if site not in frame.facts.backward or not args:
        return False
    backward(machine, frame, args[0], {}, site)
    return True


_OF_EVENT_LOOPS = ("call_soon_threadsafe", "call_soon", "call_later", "call_at")


def unknown_method(
    machine: Machine,
    frame: Frame,
    callee: Expr,
    receiver: Value,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
) -> Value:
    """A method of something that is not seen."""
    name = callee[2]
    values = [*args, *kwargs.values()]
    if machine.statement_call(site):
        machine.asked_unseen.add(name)
    if _says_module(callee, args, kwargs):
        return machine.call_method(
            frame, imagined_module(machine, frame, ("method", site), 2), name, args, kwargs, site
        )
    if "backward" in name and goes_back(name):
        through = receiver if not args else tuple(atom for value in args for atom in value)
        backward(machine, frame, through, kwargs, site)
        return LIGHT
    if _is_used_up(machine, frame, name, args, kwargs, site):
        return UNKNOWN
    if name in knowledge.LIGHT_RESULTS:
        machine.derivation.consumed.update(machine.nodes(receiver))
        return LIGHT
    if name in ("detach", "detach_"):
        return (Tensor(0, 1, machine.derivation.node(), ""),)
    if name == "unsqueeze":  # arrays have none
        return (Tensor(MAYBE, 1, machine.derivation.node(tuple(machine.nodes(receiver))), ""),)
    if name in ("cuda", "to") and (last_name(callee[1]) in knowledge.DATA_NAMES or "non_blocking" in kwargs):
        return free(machine, parents=tuple(machine.nodes(receiver)))
    if name == "scale" and len(args) == 1:
        return args[0]
    if name in ("gather", "gather_for_metrics") and args and "accelerator" in _name_of(callee[1]).lower():
        return args[0]  # what one process gets back, with its graph [accelerate.utils.operations.gather]
    if name == "requires_grad_" and not machine.statement_call(site) and all(constant(arg) is True for arg in args):
        return (Tensor(LEAF, 2, machine.derivation.node(), ""),)
    if name.startswith("register_") and name.endswith("hook"):
        if name not in _OF_OTHERS:
            note_hook(machine, frame, args[0] if args else UNKNOWN, None, site)
        run_hook(machine, frame, name, args[0] if args else UNKNOWN, UNKNOWN, site)
        return UNKNOWN
    if name == "step" and "sched" not in _name_of(callee[1]).lower():
        for loop in machine.loops:
            loop.steps = True
        if "opt" in _name_of(callee[1]).lower() and args and machine.nodes(args[0]):
            backward(machine, frame, args[0], kwargs, site)  # `inner_optimizer.step(loss)`, as of torchopt
            return UNKNOWN
    if name in processes.ONLY_OF_POOLS:
        return processes.pool_method(machine, frame, None, name, args, kwargs, site)
    if name in ("submit", "run_in_executor", "apply_async"):
        return submit(machine, frame, name, args, kwargs, site)
    if name in _OF_EVENT_LOOPS:
        return on_loop(machine, frame, name, args, site)
    if name == "create_future" or (name == "create_task" and "loop" in last_name(callee[1])):  # of an event loop
        return (machine.allocate(frame, ("future", site), "future"),)
    if name in ("remote", "rpc_async") and _gives_reference(callee[1]):
        return processes.reference(machine, frame, site)
    made = by_name(machine, frame, callee, args, kwargs, site)
    if made is not None:
        return made
    if name != "step" or "env" not in _name_of(callee[1]).lower():  # it takes an action, for its value
        _escape(machine, name, values)
    return _opaque(machine, values, tuple(machine.nodes(receiver)))


def _gives_reference(called: Expr) -> bool:
    """Whether `called.remote(x)` gives a reference to a result that is kept elsewhere until the last such reference
    goes [docs: ray, "Objects"; torch.distributed.rpc.RRef]; of a class it gives an actor."""
    name = last_name(called)
    return bool(name) and not name[0].isupper() and not _ACTORS.intersection(name.lower().split("_"))
