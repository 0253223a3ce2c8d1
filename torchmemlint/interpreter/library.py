"""Names of installed packages and builtins: what calling them does."""

from __future__ import annotations

import functools
import re

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Site
from . import decoding, processes, weights
from .builtins import call_builtin
from .cycles import note_callbacks
from .followed import owners
from .frames import Frame
from .hooks import run_hook
from .loaders import loader
from .machine import Machine
from .sizes import SETS_SIZE, note_varied
from .stdlib import SPECIAL, SPECIAL_ROOTS
from .tensor_packages import computed
from .tensors import arithmetic, backward, free, indices, loss, tensor_method, wide_loss_label
from .trees import tree_map
from .unknown import unknown_call
from .values import (
    ANY,
    ATTACHED,
    CONTAINERS,
    COUNT,
    DEPENDS,
    FEW,
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
    Kwargs,
    Mode,
    Obj,
    Tensor,
    Value,
    constant,
    is_light,
)
from .web_apps import APPLICATIONS, application

_MODULE_PACKAGES = frozenset(("nn", "layers", "backbones"))
_FEEDERS = ("Loader", "Sampler", "Dataset")  # what such packages have besides modules: it gives them their inputs


def get_builtin(name: str) -> Value:
    return (External("builtins." + name),) if name in knowledge.BUILTINS else UNKNOWN


# Models that another library runs, which autograd knows nothing of [docs: optimum; transformers].
# Whole pipelines that run their models with gradients off, whatever they are called: `Inference` of pyannote.audio is
# under `inference_mode` [docs].
_PIPELINE = re.compile(r"^pyannote\..*Pipeline")
_OF_OTHER_ENGINES = re.compile(r"\.(?:ORT|OV|Neuron|TF|Flax)[A-Z]|onnxruntime|openvino|ctranslate2")


def call_external(machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """Call a name that is not defined in the file."""
    root, _, rest = dotted.partition(".")
    if root == "builtins":
        return call_builtin(machine, frame, rest, args, kwargs, site)
    started = processes.call(machine, frame, dotted, args, kwargs, site)
    if started is not None:
        return started
    if root == "torch":
        return _call_torch(machine, frame, dotted, args, kwargs, site)
    tail = dotted.rsplit(".", 1)[-1]
    special = SPECIAL.get(dotted) or SPECIAL.get(tail if root in SPECIAL_ROOTS else "")
    if special is not None:
        return special(machine, frame, args, kwargs, site)
    if dotted in APPLICATIONS:
        return application(machine, frame, dotted, site)
    if root in knowledge.LIGHT_ROOTS:
        if root in ("numpy", "np"):
            _as_arrays(machine, tail, args)
        return weights.light(dotted)
    if tail in ("tqdm", "trange", "track", "auto") and args:
        return args[0]
    if root == "peft" and tail in ("get_peft_model", "from_pretrained"):  # adapts the model that it is given [docs]
        base = args[0] if args else kwargs.get("model", UNKNOWN)
        if any(type(atom) is Obj and atom.kind == "module" for atom in base):
            return base
    if tail == "from_pretrained" or tail in ("create_model", "timm.create_model"):
        if "okenizer" in dotted or "rocessor" in dotted or "onfig" in dotted or "xtractor" in dotted:
            return UNKNOWN
        if _OF_OTHER_ENGINES.search(dotted):
            return UNKNOWN
        if _PIPELINE.search(dotted):
            return weights.light(dotted)
        if tail == "create_model" or any(word in dotted for word in ("odel", "For", "utoencoder")):
            return (machine.allocate(frame, ("module", site), "module", dotted),)
    if tail[0].isupper() and not tail.endswith(_FEEDERS) and _MODULE_PACKAGES.intersection(dotted.split(".")[:-1]):
        if args and any(type(atom) in (Function, Bound) for atom in args[0]):
            return args[0]  # `CudaGraphModule(step)` is to be called as the function was
        return (machine.allocate(frame, ("module", site), "module", dotted, 2),)
    if root == "torchvision" and ".models." in dotted and tail[0].islower():
        return (machine.allocate(frame, ("module", site), "module", dotted),)
    made = computed(machine, frame, dotted, args, kwargs, site)
    if made is not None:
        return made
    decoded = decoding.decode(machine, frame, dotted, args, site) if root in decoding.ROOTS and rest else None
    return unknown_call(machine, frame, (m.NAME, tail), args, kwargs, site) if decoded is None else decoded


def _as_arrays(machine: Machine, tail: str, args: list[Value]) -> None:
    """A tensor that numpy makes an array of: that raises, had it a graph [torch.Tensor.numpy; measured]. A list of
    losses that goes to `np.mean` is still spoken of: that it raises in the end is no reason to keep them."""
    if tail in knowledge.TO_ARRAY:
        tensors = (atom for value in args for atom in value if type(atom) is Tensor)
        machine.derivation.refuted.update(one.node for one in tensors if one.graph == ATTACHED and not one.bundle)


# -- torch ----------------------------------------------------------------------------------------


_ON_ALL_MODULES = "torch.nn.modules.module.register_module_"


def _call_torch(machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    tail = dotted.rsplit(".", 1)[-1]
    values = [*args, *kwargs.values()]
    if tail in knowledge.GRAD_MODES or tail.lstrip("_") == "set_grad_enabled":
        return _mode(machine, frame, tail, args, kwargs, site)
    if dotted in ("torch.autograd.grad", "torch.autograd.backward"):
        return _differentiate(machine, frame, tail, args, kwargs, site)
    if tail in ("set_detect_anomaly", "_record_memory_history", "detect_anomaly"):
        return _recording(machine, frame, tail, args, kwargs, site)
    if tail == "empty_cache":
        machine.note("emptied", site, frame)
    if dotted.startswith("torch.utils.weak.") and dotted in SPECIAL:
        return SPECIAL[dotted](machine, frame, args, kwargs, site)
    if dotted == "torch.load":
        machine.note("load", site, frame, len(args) > 1 or "map_location" in kwargs)
    if dotted == "torch.device" and len(args) == 1:
        return args[0] or LIGHT  # as its name, if that is seen: whatever takes a device takes that
    if dotted == "torch.save" and args:
        machine.moves += [(tensor.node, machine.loops) for tensor in machine.reach(args[0])]
    if dotted.startswith("torch.optim."):
        if tail[0].isupper() and "lr_scheduler" not in dotted:
            made = machine.allocate(frame, ("optimizer", site), "optimizer")
            made.fields["$of"] = tuple(owners(machine, args[0] if args else kwargs.get("params", UNKNOWN)))
            return (made,)
        return _scheduler(machine, frame, values, site)
    if dotted.startswith(_ON_ALL_MODULES) and tail.endswith("hook"):
        run_hook(machine, frame, tail, args[0] if args else kwargs.get("hook", UNKNOWN), UNKNOWN, site)
        return UNKNOWN
    if dotted.startswith("torch.Tensor.") and args:  # `map(torch.Tensor.detach, parts)`
        each = (machine.call_method(frame, atom, tail, args[1:], kwargs, site) for atom in args[0])
        return functools.reduce(machine.join, each, UNKNOWN)
    mapped = tree_map(machine, frame, tail, args, kwargs, site)
    if mapped is not None:
        return mapped
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
        made = machine.allocate(frame, ("loader", site), "loader")
        loader(machine, frame, made, args, kwargs, site)
        note_callbacks(machine, made, values)
        return (made,)
    if tail in ("as_tensor", "asarray") and args and any(type(atom) is Tensor for atom in args[0]):
        return arithmetic(machine, args[:1])  # the same tensor, also of another type [docs; measured]
    if tail in knowledge.FACTORIES:
        wants = constant(kwargs.get("requires_grad", UNKNOWN)) is True
        empty = bool(args) and constant(args[0]) == 0 and len(args) == 1  # `torch.empty(0)`: to be added to
        node = machine.derivation.node()
        if tail in knowledge.WHOLE_TYPES or any(
            type(a) is External and a.dotted in knowledge.WHOLE_TYPES for a in kwargs.get("dtype", UNKNOWN)
        ):
            machine.derivation.whole.add(node)
        note_varied(machine, frame, node, site)
        one = _is_one(args) if tail in _OF_SIZES else tail in _OF_ROWS and _is_of_one(args)
        extent = FEW if empty else SCALAR if one else ANY
        return (Tensor(LEAF if wants else 0, 3, node, extent),)
    if tail in knowledge.LIGHT_RESULTS:
        return LIGHT
    if tail in knowledge.GRAPH_FREE:
        return indices(machine, *(atom for value in args for atom in value if type(atom) is Tensor))
    if tail == "checkpoint" and args[1:]:
        return machine.call(frame, args[0], args[1:], {}, site) or arithmetic(machine, args[1:])
    if tail == "where" and len(args) == 3:
        values = args[1:]
    elif tail in _INDEX_AT:  # which have no derivative [docs]
        place = _INDEX_AT[tail]
        values = [*args[:place], *args[place + 1 :]]
        values += [value for key, value in kwargs.items() if key not in ("index", "indices")]
    if dotted.startswith("torch.distributed.") and tail in _GATHERS:
        _gather(machine, values)
    if dotted.startswith("torch.distributed.") and _is_left_to_it(tail, kwargs) and args:
        unknown_call(machine, frame, (m.NAME, tail), args, kwargs, site)
        work = machine.allocate(frame, ("work", site), "work")
        machine.put(work.fields, "tensor", args[0])  # which it keeps, also when it is done [measured: gloo]
        return (work,)
    if tail in ("load", "compile", "clip_grad_norm_", "clip_grad_value_") or dotted.startswith(
        ("torch.distributed", "torch.jit", "torch.multiprocessing", "torch.onnx", "torch.profiler", "torch.hub")
    ):
        return unknown_call(machine, frame, (m.NAME, tail), args, kwargs, site) if tail != "clip_grad_norm_" else LIGHT
    along = "dim" in kwargs or (len(args) == 2 and is_light(args[1]))
    if tail in knowledge.VALUES_AND_INDICES or (tail in ("max", "min", "median") and along):
        for tensor in args[0] if args else ():
            if type(tensor) is Tensor:
                return tensor_method(machine, frame, tensor, "topk", [], {}, site)
    if tail in knowledge.SEVERAL_RESULTS:
        row = machine.allocate(frame, ("results", site), "tuple")
        row.fields = {f"[{place}]": arithmetic(machine, values) for place in range(knowledge.SEVERAL_RESULTS[tail])}
        return (row,)
    if tail[0].islower():
        label = ("cat",) if tail in ("cat", "concat", "hstack", "vstack", "stack") else None
        size = SCALAR if tail in knowledge.REDUCTIONS and len(values) == 1 else None
        result = arithmetic(machine, values, label, size)
        if label is not None and machine.grad == OFF and not any(type(atom) is Tensor for atom in result):
            return free(machine, parents=tuple(node for value in values for node in machine.nodes(value)))
        if tail in knowledge.TAKES_APART:
            machine.derivation.apart.update(machine.nodes(result, 1))
        if tail in SETS_SIZE and not any(COUNT in value for value in values):
            machine.derivation.sized.update(machine.nodes(result, 1))
        return result
    return UNKNOWN


_OF_SIZES = frozenset("zeros ones rand randn".split())
_OF_ROWS = frozenset("tensor as_tensor LongTensor IntTensor FloatTensor BoolTensor".split())


def _is_one(sizes: list[Value]) -> bool:
    """`torch.zeros(1)`: a tensor of one number."""
    return bool(sizes) and all(constant(size) == 1 for size in sizes)


def _is_of_one(args: list[Value]) -> bool:
    """`torch.tensor([len(text)])`: a list of one number."""
    rows = args[0] if args else UNKNOWN
    return bool(rows) and all(
        type(row) is Obj
        and row.kind in ("list", "tuple")
        and set(row.fields) == {"[0]"}
        and is_light(row.fields["[0]"])
        for row in rows
    )


# The place of the indices among the arguments of what takes some.
_INDEX_AT = {"sparse_coo_tensor": 0, "gather": 2, "index_select": 2, "take": 1, "take_along_dim": 1, "scatter_add": 2}


def _is_left_to_it(name: str, kwargs: Kwargs) -> bool:
    """Whether a collective gives a work to wait for."""
    return name in ("isend", "irecv") or constant(kwargs.get("async_op", UNKNOWN)) is True


_GATHERS = frozenset("all_gather all_gather_object gather gather_object broadcast_object_list".split())


def _gather(machine: Machine, values: list[Value]) -> None:
    """The lists get what each rank has sent, a tensor or something with tensors in it, without its graph
    [docs: torch.distributed.all_gather_object]."""
    sent = any(type(atom) is Tensor and atom.weight > 1 for value in values for atom in value)
    sent = sent or any(t.weight > 1 and t.size not in (SCALAR, FEW) for value in values for t in machine.reach(value))
    lists = (atom for value in values for atom in value if type(atom) is Obj and atom.kind == "list")
    for one in lists if sent else ():
        if not machine.reach((one,)):
            machine.put(one.fields, "*", machine.join(one.fields.get("*", UNKNOWN), free(machine, 2)))


def _scheduler(machine: Machine, frame: Frame, values: list[Value], site: Site) -> Value:
    """`LambdaLR(optimizer, function)` keeps the function; other schedulers are numbers."""
    obj = machine.allocate(frame, ("scheduler", site), "scheduler")
    note_callbacks(machine, obj, values)
    return (obj,) if "$callbacks" in obj.fields else LIGHT


def _mode(machine: Machine, frame: Frame, tail: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    given = constant(args[0]) if args else constant(next(iter(kwargs.values()), UNKNOWN))
    if args and type(args[0][0] if args[0] else None) is Function:
        function = args[0][0]
        function.grad = WANTED if tail == "enable_grad" else OFF  # torch.no_grad(function)
        return args[0]
    if tail.lstrip("_") == "set_grad_enabled":
        grad = DEPENDS if not isinstance(given, bool) else (ON if given else OFF)
        if machine.statement_call(site) or tail[0] == "_":  # that of `torch._C` is no context
            machine.grad = grad
            frame.leaves_mode = grad, machine.conditions, (site, frame)
            return LIGHT
        return (Mode(grad, site),)
    if tail == "enable_grad":
        return (Mode(WANTED, site),)
    if tail == "inference_mode" and given is False:
        return (Mode(machine.grad, site),)
    return (Mode(OFF, site, tail),)


def _recording(machine: Machine, frame: Frame, tail: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    first = constant(args[0]) if args else constant(next(iter(kwargs.values()), UNKNOWN))
    if tail == "detect_anomaly":
        return UNKNOWN
    on = first is True if tail == "set_detect_anomaly" else (not args and "enabled" not in kwargs) or first in ("all",)
    off = first is False or (tail != "set_detect_anomaly" and first is None)
    bounded = "max_entries" in kwargs  # of a history that is written out when memory runs out
    if machine.statement_call(site) and (on or off) and not bounded:
        machine.note("recording-on" if on else "recording-off", site, frame, (tail, machine.conditions))
    return UNKNOWN


def _differentiate(machine: Machine, frame: Frame, tail: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    outputs = args[0] if args else kwargs.get("outputs", kwargs.get("tensors", UNKNOWN))
    inputs = args[1] if len(args) > 1 else kwargs.get("inputs", UNKNOWN)
    backward(machine, frame, outputs, kwargs, site, method=tail == "backward", inputs=inputs)
    if tail == "backward":
        return LIGHT
    made = machine.allocate(frame, ("grad", site), "tuple")
    if constant(kwargs.get("create_graph", UNKNOWN)) is True and machine.grad != OFF:
        vectors = args[2] if len(args) > 2 else kwargs.get("grad_outputs", UNKNOWN)  # a gradient is linear in them
        made_from = (*machine.nodes(outputs), *machine.nodes(vectors))
        node = machine.derivation.node(made_from, ("grad", site))
        gradient: Value = (Tensor(ATTACHED, 3, node, "", False),)
    else:
        numbers = {tensor.size for tensor in machine.reach(inputs)} == {SCALAR}  # it has the shape of what it is for
        gradient = (Tensor(0, 3, machine.derivation.node(), SCALAR if numbers else ANY, False),)
        machine.derivation.gradients.add(gradient[0].node)
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


def _make_module(machine: Machine, frame: Frame, dotted: str, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    tail = dotted.rsplit(".", 1)[-1]
    obj = machine.allocate(frame, ("module", site), "module", dotted)
    if tail in knowledge.MODULE_CONTAINERS:
        fill_modules(machine, frame, tail, obj, args)
    for name in ("reduction",):
        if name in kwargs:
            machine.put(obj.fields, name, kwargs[name])
    if tail == "Module":
        return UNKNOWN
    return (obj,)


def fill_modules(machine: Machine, frame: Frame, tail: str, obj: Obj, args: list[Value]) -> None:
    """Put into a container of modules what it is made with."""
    sequential = tail == "Sequential"
    if sequential and not any(type(atom) is Obj and atom.kind in CONTAINERS for value in args for atom in value):
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
            if type(atom) is Obj and (atom.home is None or _is_passing(machine, frame, atom.home[0])):
                atom.home = (obj, "*")


def _is_passing(machine: Machine, frame: Frame, holder: Obj | Frame) -> bool:
    """Whether a container is only there to be handed over, `nn.ModuleList([Block() for _ in range(4)])`, or gathers
    what a function makes: `layers.append(Block())`, `return nn.Sequential(*layers)`."""
    if type(holder) is not Obj or holder.kind not in CONTAINERS:
        return False
    return holder.home is None or (holder.home[0] is frame and frame is not machine.module_frame)
