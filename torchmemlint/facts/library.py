"""Names of installed packages and builtins: what calling them does."""

from __future__ import annotations

from typing import Any

from . import knowledge
from .machine import Frame, Machine
from .model import Site
from .objects import CONTAINERS, call_object, get_attribute, run_hook, set_attribute
from .tensors import arithmetic, backward, comparison, free, loss, tensor_method, wide_loss_label
from .unknown import unknown_call, unknown_method
from .values import (
    ATTACHED,
    DEPENDS,
    LEAF,
    LIGHT,
    OFF,
    ON,
    SCALAR,
    UNKNOWN,
    WANTED,
    Bound,
    Class,
    External,
    Function,
    Mode,
    Obj,
    Partial,
    Tensor,
    Value,
    constant,
    is_light,
)

Kwargs = dict[str, Value]
__all__ = [
    "arithmetic", "call_external", "call_object", "comparison", "get_attribute", "get_builtin", "import_name",
    "run_hook", "set_attribute", "tensor_method", "unknown_call", "unknown_method",
]  # fmt: skip


def import_name(dotted: str) -> Value:
    return (External(dotted),)


def get_builtin(name: str) -> Value:
    return (External("builtins." + name),) if name in knowledge.BUILTINS else UNKNOWN


def call_external(
    machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Call a name that is not defined in the file."""
    root, _, rest = dotted.partition(".")
    if root == "builtins":
        return _call_builtin(machine, frame, rest, args, kwargs, site)
    if root == "torch":
        return _call_torch(machine, frame, dotted, args, kwargs, site)
    tail = dotted.rsplit(".", 1)[-1]
    special = _SPECIAL.get(dotted) or _SPECIAL.get(tail if root in _SPECIAL_ROOTS else "")
    if special is not None:
        return special(machine, frame, args, kwargs, site)
    if root in knowledge.LIGHT_ROOTS:
        return LIGHT
    if tail in ("tqdm", "trange", "track", "auto") and args:
        return args[0]
    if tail == "from_pretrained" or tail in ("create_model", "timm.create_model"):
        if "okenizer" in dotted or "rocessor" in dotted or "onfig" in dotted or "xtractor" in dotted:
            return UNKNOWN
        if tail == "create_model" or "odel" in dotted or "For" in dotted:
            return (machine.allocate(frame, ("module", site), "module", dotted),)
    if tail[0].isupper() and _MODULE_PACKAGES.intersection(dotted.split(".")[:-1]):
        return (machine.allocate(frame, ("module", site), "module", dotted, 2),)
    if root == "torchvision" and ".models." in dotted and tail[0].islower():
        return (machine.allocate(frame, ("module", site), "module", dotted),)
    return unknown_call(machine, frame, (1, tail), args, kwargs, site)


# -- torch ----------------------------------------------------------------------------------------


def _call_torch(
    machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    tail = dotted.rsplit(".", 1)[-1]
    values = [*args, *kwargs.values()]
    if tail in ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"):
        return _mode(machine, frame, tail, args, kwargs, site)
    if dotted in ("torch.autograd.grad", "torch.autograd.backward"):
        return _differentiate(machine, frame, tail, args, kwargs, site)
    if tail in ("set_detect_anomaly", "_record_memory_history", "detect_anomaly"):
        return _recording(machine, frame, tail, args, kwargs, site)
    if dotted.startswith("torch.optim."):
        if tail[0].isupper() and "lr_scheduler" not in dotted:
            return (machine.allocate(frame, ("optimizer", site), "optimizer"),)
        return LIGHT
    if tail in knowledge.LOSS_FUNCTIONS:
        return loss(machine, args, kwargs, wide_loss_label(dotted))
    if tail in ("Parameter", "Variable", "UninitializedParameter") and tail[0].isupper():
        return _parameter(machine, tail, args, kwargs)
    if tail in knowledge.MODULE_WRAPPERS and args and any(type(a) in (Obj, Function, Class, Bound) for a in args[0]):
        return args[0]
    if dotted.startswith("torch.distributions") and tail[0].isupper():
        return tuple(
            atom._replace(bundle=True) if type(atom) is Tensor else atom for atom in arithmetic(machine, values)
        )
    if dotted.startswith("torch.autograd.functional."):
        return _functional(machine, args, kwargs, site)
    if tail == "profile":
        return (machine.allocate(frame, ("profiler", site), "instance" if "schedule" in kwargs else "profiler"),)
    if dotted.startswith("torch.nn.") and tail[0].isupper() and ".utils." not in dotted:
        return _make_module(machine, frame, dotted, args, kwargs, site)
    if dotted in ("torch.utils.data.DataLoader",) or tail == "DataLoader":
        return (machine.allocate(frame, ("loader", site), "loader"),)
    if tail in knowledge.FACTORIES:
        wants = constant(kwargs.get("requires_grad", UNKNOWN)) is True
        return (Tensor(LEAF if wants else 0, 3, machine.derivation.node(), ""),)
    if tail in knowledge.LIGHT_RESULTS:
        return LIGHT
    if tail in knowledge.GRAPH_FREE:
        return free(machine)
    if tail == "checkpoint" and args:
        return machine.call(frame, args[0], args[1:], {}, site) or arithmetic(machine, args[1:])
    if tail == "where" and len(args) == 3:
        values = args[1:]
    if tail in ("load", "compile", "clip_grad_norm_", "clip_grad_value_") or dotted.startswith(
        ("torch.distributed", "torch.jit", "torch.multiprocessing", "torch.onnx", "torch.profiler", "torch.hub")
    ):
        return unknown_call(machine, frame, (1, tail), args, kwargs, site) if tail != "clip_grad_norm_" else LIGHT
    if tail in knowledge.VALUES_AND_INDICES or (tail in ("max", "min") and len(args) == 2 and is_light(args[1])):
        for tensor in args[0] if args else ():
            if type(tensor) is Tensor:
                return tensor_method(machine, frame, tensor, "topk", [], {}, site)
    if tail[0].islower():
        label = ("cat",) if tail in ("cat", "concat", "hstack", "vstack", "stack") else None
        size = SCALAR if tail in knowledge.REDUCTIONS and len(values) == 1 else None
        return arithmetic(machine, values, label, size)
    return UNKNOWN


def _mode(
    machine: Machine, frame: Frame, tail: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    given = constant(args[0]) if args else constant(next(iter(kwargs.values()), UNKNOWN))
    if args and type(args[0][0] if args[0] else None) is Function:
        function = args[0][0]
        function.grad = WANTED if tail == "enable_grad" else OFF  # torch.no_grad(function)
        return args[0]
    if tail == "set_grad_enabled":
        grad = DEPENDS if not isinstance(given, bool) else (ON if given else OFF)
        if machine.statement_call(site):
            machine.grad = grad
            return LIGHT
        return (Mode(grad, site),)
    if tail == "enable_grad":
        return (Mode(WANTED, site),)
    if tail == "inference_mode" and given is False:
        return (Mode(machine.grad, site),)
    return (Mode(OFF, site, tail),)


def _recording(
    machine: Machine, frame: Frame, tail: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    first = constant(args[0]) if args else constant(next(iter(kwargs.values()), UNKNOWN))
    if tail == "detect_anomaly":
        return UNKNOWN
    on = first is True if tail == "set_detect_anomaly" else (not args and "enabled" not in kwargs) or first in ("all",)
    off = first is False or (tail != "set_detect_anomaly" and first is None)
    if machine.statement_call(site) and (on or off):
        machine.note("recording-on" if on else "recording-off", site, frame, (tail, machine.conditions))
    return UNKNOWN


def _differentiate(
    machine: Machine, frame: Frame, tail: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    outputs = args[0] if args else kwargs.get("outputs", kwargs.get("tensors", UNKNOWN))
    inputs = args[1] if len(args) > 1 else kwargs.get("inputs", UNKNOWN)
    backward(machine, frame, outputs, kwargs, site, method=tail == "backward", inputs=inputs)
    if tail == "backward":
        return LIGHT
    made = machine.allocate(frame, ("grad", site), "tuple")
    if constant(kwargs.get("create_graph", UNKNOWN)) is True and machine.grad != OFF:
        node = machine.derivation.node(tuple(machine.nodes(outputs)), ("grad", site))
        gradient: Value = (Tensor(ATTACHED, 3, node, "", False),)
    else:
        gradient = (Tensor(0, 3, machine.derivation.node(), "", False),)
    machine.put(made.fields, "*", gradient)
    return (made,)


def _functional(machine: Machine, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """jacobian, hessian, vjp ...: a graph only with `create_graph=True` [docs]."""
    if constant(kwargs.get("create_graph", UNKNOWN)) is True and machine.grad != OFF:
        return (Tensor(ATTACHED, 3, machine.derivation.node((), ("grad", site)), ""),)
    return free(machine, 3)


def _parameter(machine: Machine, tail: str, args: list[Value], kwargs: Kwargs) -> Value:
    wants = constant(kwargs.get("requires_grad", args[1] if len(args) > 1 else UNKNOWN))
    if wants is False or (tail == "Variable" and wants is not True):
        return args[0] if tail == "Variable" and args else free(machine, 3)
    return (Tensor(LEAF, 3, machine.derivation.node(), ""),)


def _make_module(
    machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    tail = dotted.rsplit(".", 1)[-1]
    obj = machine.allocate(frame, ("module", site), "module", dotted)
    if tail in knowledge.MODULE_CONTAINERS:
        _fill_modules(machine, frame, tail, obj, args)
    for name in ("reduction",):
        if name in kwargs:
            machine.put(obj.fields, name, kwargs[name])
    if tail == "Module":
        return UNKNOWN
    return (obj,)


def _fill_modules(machine: Machine, frame: Frame, tail: str, obj: Obj, args: list[Value]) -> None:
    sequential = tail == "Sequential"
    if sequential and not any(
        type(atom) is Obj and atom.kind in CONTAINERS for value in args for atom in value
    ):
        for index, value in enumerate(args):
            field = f"[{index}]" if index < 8 else "*"
            machine.put(obj.fields, field, machine.join(obj.fields.get(field, UNKNOWN), value))
    else:
        for value in args:
            for atom in value:
                if type(atom) is Obj:
                    parts = machine.elements(frame, (atom,))
                    machine.put(obj.fields, "*", machine.join(obj.fields.get("*", UNKNOWN), parts))
    for value in list(obj.fields.values()):
        for atom in value:
            if type(atom) is Obj and atom.home is None:
                atom.home = (obj, "*")


# -- builtins -------------------------------------------------------------------------------------


def _call_builtin(
    machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    if name in ("float", "int", "len", "str", "bool", "repr", "print", "round", "isinstance", "hasattr", "format", "id"):
        for value in args:
            for node in machine.nodes(value, 1):
                machine.derivation.consumed.add(node)
        if name == "round":
            return arithmetic(machine, args[:1])
        return LIGHT
    first = args[0] if args else UNKNOWN
    if name in ("list", "set", "tuple", "frozenset", "dict", "sorted", "reversed"):
        return _copy(machine, frame, name, args, kwargs, site)
    if name in ("zip", "enumerate"):
        parts = [LIGHT, first] if name == "enumerate" else args
        zipped = machine.allocate(frame, ("zipped", site), "zipped")
        for index, part in enumerate(parts):
            machine.put(zipped.fields, f"[{index}]", part)
        return (zipped,)
    if name in ("sum", "max", "min", "abs", "pow"):
        inner = machine.iterate(frame, first) if len(args) == 1 or name == "sum" else UNKNOWN
        nodes = tuple(node for value in args for node in machine.nodes(value))
        values = [inner] if inner else args
        made = arithmetic(machine, values)
        return tuple(
            atom._replace(node=machine.derivation.node((atom.node, *nodes))) if type(atom) is Tensor else atom
            for atom in made
        )
    if name in ("next", "iter"):
        return machine.iterate(frame, first) if name == "next" else first
    if name in ("map", "filter"):
        over = [machine.iterate(frame, value) for value in args[1:]]
        mapped = machine.allocate(frame, ("mapped", site), "list")
        made = over[0] if name == "filter" and over else machine.call(frame, first, over, {}, site)
        machine.put(mapped.fields, "*", made)
        return (mapped,)
    if name in ("getattr", "setattr"):
        return _dynamic_attribute(machine, frame, name, args, site)
    if name in ("property", "staticmethod", "classmethod", "super", "vars", "object"):
        return UNKNOWN
    return LIGHT


def _copy(
    machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    kind = name if name in ("set", "dict", "tuple") else "list"
    copy = machine.allocate(frame, ("copy", site), kind)
    for field in list(copy.fields):
        machine.put(copy.fields, field, UNKNOWN)
    for value in args[:1]:
        for atom in value:
            if type(atom) is Obj and (kind == "dict" or atom.kind in ("list", "tuple")):
                for field, part in atom.fields.items():
                    machine.put(copy.fields, field, machine.join(copy.fields.get(field, UNKNOWN), part))
            else:
                part = machine.iterate(frame, (atom,))
                machine.put(copy.fields, "*", machine.join(copy.fields.get("*", UNKNOWN), part))
    for key, value in kwargs.items():
        if kind == "dict":
            machine.put(copy.fields, f"[{key}]", value)
    return (copy,)


def _dynamic_attribute(machine: Machine, frame: Frame, name: str, args: list[Value], site: Site) -> Value:
    key = constant(args[1]) if len(args) > 1 else ...
    if not isinstance(key, str):
        return UNKNOWN
    if name == "setattr" and len(args) > 2:
        for atom in args[0]:
            set_attribute(machine, frame, atom, key, args[2], site, "set")
        return LIGHT
    result: Value = args[2] if len(args) > 2 else UNKNOWN
    for atom in args[0]:
        result = machine.join(result, get_attribute(machine, frame, atom, key))
    return result


# -- other packages -------------------------------------------------------------------------------


def _deque(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("deque", site), "deque")
    limit = args[1] if len(args) > 1 else kwargs.get("maxlen", UNKNOWN)
    given = len(args) > 1 or "maxlen" in kwargs
    obj.bounded = given and constant(limit) is not None
    return (obj,)


def _defaultdict(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    obj = machine.allocate(frame, ("defaultdict", site), "dict")
    if args and not is_light(args[0]):
        made = machine.call(frame, args[0], [], {}, site)
        machine.put(obj.fields, "*", machine.join(obj.fields.get("*", UNKNOWN), made))
        for atom in made:
            if type(atom) is Obj:
                atom.home = atom.home or (obj, "*")
    return (obj,)


def _mapping(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return _copy(machine, frame, "dict", args, kwargs, site)


def _partial(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    if not args or not args[0]:
        return UNKNOWN
    return (Partial(args[0], tuple(args[1:]), tuple(kwargs.items())),)


def _deepcopy(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    result: list[Any] = []
    for atom in args[0] if args else ():
        if type(atom) is Obj:
            result.append(_copy_tree(machine, frame, atom, site, 4))
        else:
            result.append(atom)
    return tuple(result)


def _copy_tree(machine: Machine, frame: Frame, obj: Obj, site: Site, depth: int) -> Obj:
    """A deep copy: modules inside belong to the copy, so freezing it freezes them."""
    copy = machine.allocate(frame, ("copy", site, obj.serial), obj.kind, obj.cls, obj.weight)
    if "$copy" in copy.fields or "$copy" in obj.fields:
        return copy if "$copy" in copy.fields else obj
    copy.unknown = obj.unknown
    machine.put(copy.fields, "$copy", LIGHT)
    for field, part in obj.fields.items():
        if depth and field[0] != "$":
            part = tuple(
                _copy_tree(machine, frame, atom, site, depth - 1) if type(atom) is Obj and atom is not obj else atom
                for atom in part
            )
            for atom in part:
                if type(atom) is Obj:
                    atom.home = (copy, field)
        machine.put(copy.fields, field, part)
    return copy


def _first(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return args[0] if args else UNKNOWN


def _thread(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    target = kwargs.get("target", args[1] if len(args) > 1 else UNKNOWN)
    given = kwargs.get("args", args[3] if len(args) > 3 else UNKNOWN)
    parts: list[Value] = []
    for atom in given:
        if type(atom) is Obj:
            parts = [atom.fields[f"[{i}]"] for i in range(len(atom.fields)) if f"[{i}]" in atom.fields]
    in_thread(machine, frame, target, parts, site)
    return (machine.allocate(frame, ("thread", site), "thread"),)


def _executor(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return (machine.allocate(frame, ("executor", site), "executor"),)


def _to_thread(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return in_thread(machine, frame, args[0] if args else UNKNOWN, args[1:], site)


def _queue(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    return (machine.allocate(frame, ("queue", site), "queue"),)


def _namespace(machine: Machine, frame: Frame, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """An object with whatever attributes are set on it."""
    obj = machine.allocate(frame, ("namespace", site), "instance")
    for name, value in kwargs.items():
        machine.put(obj.fields, name, value)
    return (obj,)


def in_thread(machine: Machine, frame: Frame, target: Value, args: list[Value], site: Site) -> Value:
    """Run a function as another thread would: grad mode is thread-local and starts out on [docs: torch.no_grad]."""
    outer = machine.grad
    before = len(machine.module_calls)
    machine.grad = ON
    depth, machine.module_depth = machine.module_depth, 0
    machine.threads += outer == OFF
    made = machine.call(frame, target, args, {}, site)
    machine.threads -= outer == OFF
    machine.module_depth = depth
    machine.grad = outer
    machine.note("thread", site, frame, (outer, before, len(machine.module_calls)))
    return made


def run_in_thread(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Methods of threads and executors."""
    if name in ("submit", "map") and args:
        given = args[1:] if name == "submit" else [machine.iterate(frame, value) for value in args[1:]]
        made = in_thread(machine, frame, args[0], given, site)
        future = machine.allocate(frame, ("future", site), "future")
        machine.put(future.fields, "*", made)
        return (future,)
    if name == "__enter__":
        return (obj,)
    return LIGHT


def submit(machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    given = args[1:] if name == "run_in_executor" else args
    if name == "apply_async" or not given or not any(type(a) in (Function, Bound, Partial) for a in given[0]):
        return UNKNOWN
    in_thread(machine, frame, given[0], given[1:], site)
    return UNKNOWN


_MODULE_PACKAGES = frozenset(("nn", "layers", "backbones"))
_SPECIAL_ROOTS = ("collections", "functools", "copy", "threading", "concurrent", "queue", "itertools", "typing",
                  "contextlib", "asyncio")  # fmt: skip
_SPECIAL: dict[str, Any] = {
    "deque": _deque,
    "defaultdict": _defaultdict,
    "OrderedDict": _mapping,
    "Counter": _mapping,
    "partial": _partial,
    "deepcopy": _deepcopy,
    "copy.copy": _first,
    "cast": _first,
    "wraps": _first,
    "cycle": _first,
    "islice": _first,
    "threading.Thread": _thread,
    "threading.local": _namespace,
    "types.SimpleNamespace": _namespace,
    "ThreadPoolExecutor": _executor,
    "to_thread": _to_thread,
    "queue.Queue": _queue,
    "queue.SimpleQueue": _queue,
    "queue.LifoQueue": _queue,
}
