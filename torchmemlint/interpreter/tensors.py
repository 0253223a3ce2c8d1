"""What operations do to tensors: which results carry a graph, which let go of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..facts import knowledge
from ..facts.model import Site
from .events import Backward, Loops
from .followed import owners
from .frames import Frame
from .machine import Machine
from .parts import INDICES, as_array, is_few, kind_of_call, take
from .sizes import size_of
from .values import (
    AN_ARRAY,
    ANY,
    ARRAY,
    ASSUMED,
    ATTACHED,
    DEPENDS,
    FEW,
    FREE,
    IDENT,
    LEAF,
    LIGHT,
    MAYBE,
    OFF,
    ON,
    SCALAR,
    UNKNOWN,
    Const,
    External,
    Kwargs,
    Method,
    Obj,
    Opaque,
    Tensor,
    Value,
    constant,
    is_light,
    tensors,
)

_STEPS_BACK = 4  # from a part of what a model gave to the model's run
_SPREADS = frozenset("expand expand_as broadcast_to repeat repeat_interleave tile".split())
_STATISTICS = frozenset("diagnostics statistics stats summary".split())
_OF_TEXT = frozenset("strip lstrip rstrip lower upper startswith endswith splitlines encode casefold".split())
_FAR = 24  # steps from a prediction back to what it was made of


def arithmetic(machine: Machine, values: Sequence[Value], label: Any = None, size: str | None = None) -> Value:
    """The result of computing with tensors. Attached if an operand is attached or a leaf that requires
    grad, and gradients are recorded; free under `no_grad` [docs: torch.no_grad]."""
    parents: list[int] = []
    weight = 0
    graph = -1
    sizes: list[str] = []
    opaque = False
    leaves = machine.derivation.leaves
    for value in values:
        for atom in value:
            kind = type(atom)
            if kind is Opaque:
                parents.append(atom.node)
                opaque = True
            elif kind is Tensor:
                parents.append(atom.node)
                sizes.append(atom.size)
                state = ATTACHED if atom.graph == LEAF or atom.node in leaves else atom.graph
                if state == ATTACHED:
                    weight = max(weight, atom.weight) if graph == ATTACHED else atom.weight
                    graph = ATTACHED
                elif graph != ATTACHED:
                    graph = MAYBE if state == MAYBE or graph == MAYBE else FREE
                    weight = max(weight, atom.weight)
            elif kind is Obj and atom.kind in ("list", "tuple", "dict", "generator", "deque", "set", "view"):
                parents += machine.nodes((atom,), 2)
                opaque = opaque or bool(machine.veiled((atom,), 2))
                inner = machine.reach((atom,), 2)
                sizes += [tensor.size for tensor in inner]
                trained = [t.weight for t in inner if t.graph in (ATTACHED, LEAF) or t.node in leaves]
                if trained:
                    weight = max(trained)
                    graph = ATTACHED
                elif inner and graph != ATTACHED:
                    graph = MAYBE if any(t.graph == MAYBE for t in inner) else FREE
                    weight = max(weight, *(t.weight for t in inner))
    if graph == -1:
        if opaque:
            node = machine.unknown_node(tuple(parents))
            machine.derivation.computed.add(node)
            return (Opaque(node),)
        if any(AN_ARRAY in value for value in values):
            return ARRAY
        return LIGHT if all(is_light(value) for value in values) else UNKNOWN
    if opaque and graph == FREE:
        graph = MAYBE
    if machine.grad == OFF and graph in (ATTACHED, MAYBE):
        graph = FREE
    if machine.grad == DEPENDS and graph == ATTACHED:
        weight = min(weight, 2)
    if size is None:
        size = _size(sizes)
        size = FEW if size == SCALAR and label == ("cat",) else size
    node = machine.derivation.node(tuple(parents), label)
    if machine.grad == OFF:
        machine.derivation.cut.add(node)
    if graph != FREE:
        machine.derivation.live.add(node)
        machine.derivation.computed.add(node)
    return (Tensor(graph, max(weight, 1), node, size),)


def note_terms(machine: Machine, operator: str, left: Value, right: Value, result: Value) -> None:
    """What is added up, or scaled by something without a graph: to differentiate the result is to differentiate it."""
    ours, others = machine.nodes(left, 1), machine.nodes(right, 1)
    if operator in ("Add", "Subtract"):
        parts = (*ours, *others)
    elif operator in ("Multiply", "Divide") and not (ours and others):
        parts = (*ours, *(others if operator == "Multiply" else ()))
    else:
        return
    for atom in result:
        if type(atom) in (Tensor, Opaque) and parts:
            machine.derivation.terms[atom.node] = parts


def _size(sizes: list[str]) -> str:
    if not sizes or any(size == ANY for size in sizes):
        return ANY
    return SCALAR if all(size == SCALAR for size in sizes) else FEW


def comparison(machine: Machine, values: Sequence[Value]) -> Value:
    """A comparison: a graph-free tensor if tensors are compared, else a bool."""
    compared = [tensor for value in values for tensor in tensors(value)]
    return indices(machine, *compared) if compared else LIGHT


def free(machine: Machine, weight: int = 2, size: str = ANY, parents: tuple[int, ...] = ()) -> Value:
    return (Tensor(FREE, weight, machine.derivation.node(parents), size),)


def indices(machine: Machine, *tensors: Tensor) -> Value:
    """Numbers of elements, or what elements are true: next to nothing beside what they are about."""
    node = machine.derivation.node((), INDICES)
    machine.derivation.read_off[node] = tuple(tensor.node for tensor in tensors)
    return (Tensor(FREE, 2, node, ANY),)


def tensor_attribute(machine: Machine, tensor: Tensor, name: str) -> Value:
    if name == "shape":
        return size_of(machine, tensor.node)
    if name in ("dtype", "device", "ndim", "is_cuda", "requires_grad", "layout", "names", "is_leaf", "nbytes"):
        return LIGHT
    if name == "data" and tensor.graph == ATTACHED:
        machine.derivation.detached.setdefault(tensor.node, machine.loops)
        _says_recorded(machine, tensor)
    if name in ("data", "indices", "grad"):
        node = machine.derivation.node()
        if name == "data" and _is_parameter(machine, tensor):
            machine.derivation.shared[node] = (tensor.node,)
        size = tensor.size if name == "data" and not tensor.bundle else ANY
        return (Tensor(FREE, tensor.weight, node, size),)
    if name == "grad_fn":
        return (Method(tensor, name),) if tensor.graph == ATTACHED else UNKNOWN
    if name in ("T", "mT", "H", "mH", "real", "imag", "values"):
        return (tensor._replace(bundle=False),)
    if tensor.bundle:
        if names_number(name):
            return LIGHT
        size = SCALAR if "loss" in name else ANY
        node = machine.derivation.node((tensor.node,))
        return (Tensor(tensor.graph, tensor.weight, node, size, name not in ("loss", "logits")),)
    return UNKNOWN


def names_number(name: str) -> bool:
    """`n_examples`, `num_tokens`, `datapoint_count`: a number, which has no graph, beside what a module computes."""
    words = name.lower().split("_")
    return ("n" in words or "num" in words or words[-1] in ("count", "counts")) and "loss" not in words


def _says_recorded(machine: Machine, tensor: Tensor) -> None:
    """What is detached had a graph: that the model which gave it is one rests on more than its name."""
    nodes = [tensor.node]
    for _ in range(_STEPS_BACK):
        label = machine.derivation.labels.get(nodes[-1])
        if label is not None and label[0] == "module":
            module = label[1]
            for whole in module.holders:  # and what it is a part of
                if not isinstance(whole, Obj) or whole.kind != "module":
                    break
                whole.weight = max(whole.weight, 2)
            return
        parents = machine.derivation.parents[nodes[-1]]
        if label is not None or len(parents) != 1:
            return
        nodes.append(parents[0])


def _is_parameter(machine: Machine, tensor: Tensor) -> bool:
    """Whether a tensor is one of a module's own, which stay where they are."""
    label = machine.derivation.labels.get(tensor.node)
    return label is not None and label[0] == "parameters"


def tensor_method(
    machine: Machine, frame: Frame, tensor: Tensor, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Call a method of a tensor."""
    if name == "backward":
        backward(machine, frame, (tensor,), kwargs, site)
        return LIGHT
    if name in ("detach", "detach_"):
        # A fresh derivation: what is done with the result asks nothing of the graph.
        wide = machine.derivation.labels.get(tensor.node)
        machine.derivation.detached.setdefault(tensor.node, machine.loops)
        _says_recorded(machine, tensor)
        label = ("wide", wide[1]) if wide is not None and wide[0] == "wide-loss" else None
        node = machine.derivation.node((), label)
        machine.derivation.shared[node] = (tensor.node,)
        return (Tensor(FREE, max(tensor.weight, 2), node, tensor.size),)
    if name.startswith("num_") or (tensor.bundle and _STATISTICS.intersection(name.split("_"))):
        return LIGHT  # of something that has more than a tensor's methods, such as a distribution
    if name in _SPREADS:
        tensor = tensor._replace(size=ANY)
    if name in _OF_TEXT:
        machine.derivation.refuted.add(tensor.node)  # it was text all along
        return LIGHT
    if name in ("to", "type") and (args or kwargs):
        if tensor.graph != FREE and _names_whole_type((*args, *kwargs.values())):
            return indices(machine)
        name = "to"  # `x.type(dtype)` is a cast, `x.type()` a word
    nested = name != "get"
    if name in ("items", "keys") and not tensor.bundle:
        if not machine.derivation.parents[tensor.node]:
            machine.derivation.refuted.add(tensor.node)  # it is a dictionary, whatever its hint says
            return UNKNOWN
        tensor = tensor._replace(bundle=True)  # a dictionary of tensors
        nested = False
    to_host = name == "to" and "cpu" in map(constant, (*args[:1], kwargs.get("device", UNKNOWN)))
    if (name == "cpu" or to_host) and not machine.statement_call(site):
        machine.moves.append((tensor.node, machine.loops))
    if name in knowledge.LIGHT_RESULTS:
        machine.derivation.consumed.add(tensor.node)
        if name == "numpy" and not knowledge.PICTURE_WRITERS.isdisjoint(frame.facts.calls):
            machine.derivation.drawn.add(tensor.node)
        if name == "numpy" and tensor.graph == ATTACHED and not (args or kwargs):
            machine.derivation.refuted.add(tensor.node)  # [torch.Tensor.numpy] it would raise, had it a graph
        if name == "numpy" and machine.derivation.loaded:
            loaded = (machine.derivation.loaded.get(node) for node in machine.derivation.names_of(tensor.node))
            for loader in filter(None, loaded):
                machine.note("loaded-array", site, frame, loader)
        if name == "data_ptr":
            return LIGHT if _is_parameter(machine, tensor) else (IDENT,)
        if name == "size":
            return LIGHT if args and constant(args[0]) == 0 else size_of(machine, tensor.node)
        if name == "numpy" and is_few(machine, tensor):
            return (as_array(machine, tensor),)
        return ARRAY if name == "numpy" and tensor.size == ANY and tensor.weight > 1 else LIGHT
    if tensor.bundle and name in ("items", "values", "keys", "to_tuple", "get", "pop"):
        if name == "keys":
            return LIGHT
        item = tensor._replace(bundle=nested)
        if machine.derivation.labels.get(tensor.node) == ("beside the loss",):
            item = item._replace(graph=MAYBE)
        if name == "items":
            pair = machine.allocate(frame, ("pair", site), "tuple")
            pair.fields = {"[0]": LIGHT, "[1]": (item,)}
            pairs = machine.allocate(frame, ("pairs", site), "list")
            pairs.fields = {"*": (pair,)}
            return (pairs,)
        return (item,)
    if name in knowledge.GRAPH_FREE:
        return indices(machine, tensor)
    if name == "sample" and tensor.bundle:
        return free(machine)  # [docs] a distribution's sample() runs under no_grad, rsample() does not
    if name == "requires_grad_":
        if args and constant(args[0]) is False:
            machine.derivation.require(tensor.node, False)
            freeze_owner(machine, tensor)
            return (tensor._replace(graph=FREE),)
        if tensor.graph == FREE and (not args or constant(args[0]) is True):
            machine.derivation.require(tensor.node, True)
        return (tensor._replace(graph=LEAF, weight=3) if tensor.graph != ATTACHED else tensor,)
    if name in knowledge.VIEWS:
        another = machine.watches and name not in knowledge.MAYBE_ITSELF
        if another and tensor.graph not in (ATTACHED, LEAF):  # what waits for the end of this tensor does not see it
            tensor = tensor._replace(node=machine.derivation.node((tensor.node,)))
        if name in knowledge.TAKES_APART:
            return (tensor._replace(bundle=True),)
        if name in ("select", "narrow"):
            tensor = take(machine, frame, tensor, None, kind_of_call([constant(arg) for arg in args]))
        if tensor.graph in (ATTACHED, LEAF):
            state = tensor.graph if machine.grad == OFF or tensor.graph == ATTACHED or name == "to" else ATTACHED
            node = machine.derivation.node((tensor.node,))
            machine.derivation.live.add(node)
            if name not in knowledge.MAY_COPY:
                machine.derivation.shared[node] = (tensor.node,)
            return (Tensor(state, tensor.weight, node, tensor.size),)
        if name in knowledge.MAY_COPY and (machine.derivation.parts or machine.derivation.loaded):
            tensor = tensor._replace(node=machine.derivation.node((tensor.node,)))
        return (tensor._replace(bundle=False, weight=max(tensor.weight, 2)),)
    if name in knowledge.VALUES_AND_INDICES or (name in ("max", "min", "median") and (args or kwargs)):
        return _values_and_indices(machine, frame, tensor, site)
    if name == "register_hook" and args:
        note_tensor_hook(machine, frame, tensor, args[0], site)
        if tensor.graph == ATTACHED and not machine.in_hook:  # the next backward pass calls it
            outer, machine.grad = machine.grad, OFF
            machine.call(frame, args[0], [free(machine)], {}, site)
            machine.grad = outer
    if name in knowledge.MODULE_EVIDENCE:
        return UNKNOWN  # it is a module after all
    if name in ("new", "new_empty", "apply_", "remove", "stop_gradient") or name.startswith("register_"):
        return UNKNOWN
    size = SCALAR if name in knowledge.REDUCTIONS and not args and not kwargs else None
    return arithmetic(machine, ((tensor,), *args, *kwargs.values()), size=size)


def _names_whole_type(values: Sequence[Value]) -> bool:
    """Whether a cast is to integers or bools, which carry no graph: `torch.long`, `"torch.LongTensor"`."""
    for value in values:
        if len(value) == 1:
            word = value[0].dotted if type(value[0]) is External else constant(value)
            if isinstance(word, str) and not knowledge.WHOLE_TYPES.isdisjoint((word, word.rpartition(".")[2])):
                return True
    return False


def note_tensor_hook(machine: Machine, frame: Frame, tensor: Tensor, hook: Value, site: Site) -> None:
    """A hook on a node of the graph: the node keeps it, and who has the tensor, or what was computed from it, keeps
    the node."""
    if tensor.graph == ATTACHED and not machine.in_hook:
        machine.note("tensor-hook", site, frame, (tensor.node, hook, machine.statement_call(site)))


def freeze(machine: Machine, module: Obj) -> None:
    machine.freezes = True
    machine.put(module.fields, "$frozen", (Const(True),))


def freeze_owner(machine: Machine, tensor: Tensor) -> None:
    """`p.requires_grad_(False)` for the parameters of a module, of one or another, freezes the module."""
    for module in owners(machine, (tensor,)) if tensor.graph == LEAF else ():
        freeze(machine, module)


def _values_and_indices(machine: Machine, frame: Frame, tensor: Tensor, site: Site) -> Value:
    made = arithmetic(machine, ((tensor,),))
    pair = machine.allocate(frame, ("topk", site), "tuple")
    numbers = indices(machine, tensor)
    pair.fields = {"[0]": made, "[1]": numbers, "[-1]": numbers, "values": made, "indices": numbers}
    return (pair,)


def backward(
    machine: Machine,
    frame: Frame,
    value: Value,
    kwargs: Kwargs,
    site: Site,
    method: bool = True,
    inputs: Value = UNKNOWN,
    of_part: bool = False,
) -> None:
    """A backward pass from these values, as far as `inputs` if any are given: marks what it goes through,
    and the loops that it runs in. One in a part's pass that is not entered is `of_part`.

    Of `loss.backward(inputs=...)` only what leads to these is differentiated, which is not what earlier rounds left.
    """
    nodes = machine.nodes(value)
    found = machine.reach(value)
    derivation = machine.derivation
    stop = frozenset(node for tensor in machine.reach(inputs) for node in derivation.names_of(tensor.node))
    create = constant(kwargs.get("create_graph", UNKNOWN)) is True
    may_create = create or ("create_graph" in kwargs and constant(kwargs["create_graph"]) is not False)
    frees = method or not (may_create or "retain_graph" in kwargs)
    for node in nodes if "inputs" not in kwargs else ():
        derivation.spread(derivation.demanded, node, stop)
        derivation.spread(derivation.gone_through, node, stop | derivation.cut)
        if frees:
            derivation.spread(derivation.spent, node, frozenset(derivation.cut) if method else stop)
    if machine.grad == ASSUMED and method and found:
        machine.grad = ON  # it would raise otherwise: for what follows in this function, nothing is assumed
    others = _of_the_whole(frame, machine.loops if of_part else None)
    computing = () if method else _of_the_computation(machine, frame, inputs)
    for loop in machine.loops:
        loop.backward |= loop not in others and loop not in computing
        loop.computes |= loop in computing
    # where the gradients may be wanted with a graph, this one is kept for theirs
    retain = constant(kwargs.get("retain_graph", UNKNOWN)) is True and create == may_create
    machine.backwards.append(
        Backward(
            site, frame.trail(), tuple(nodes), tuple(found), method, retain, create,
            retain and _goes_outside(machine, nodes), machine.loops, frame, stop, may_create,
        )
    )  # fmt: skip


def _of_the_whole(frame: Frame, loops: Loops | None) -> Loops:
    """The loops of a module's pass in which a part of the module has run its own pass, and that has a backward pass of
    its own: it goes through what the part has computed, and what the whole adds up of its results is no record."""
    passes: list[Frame] = []
    current: Frame | None = frame
    while current is not None:
        if current.name == "forward" and isinstance(current.receiver, Obj) and current.receiver.kind == "module":
            passes.append(current)
        current = current.caller
    if not passes:
        return ()
    return tuple(loop for loop in (passes[0].loops if loops is None else loops) if loop not in passes[-1].loops)


def _of_the_computation(machine: Machine, frame: Frame, inputs: Value) -> Loops:
    """The loops around a function that differentiates with respect to what was made in their current round, as a solver
    does for one step: that is how a value is computed, and trains no module."""
    derivation = machine.derivation
    asked = [tensor.node for tensor in machine.reach(inputs)]
    labels = (derivation.labels.get(name) for node in asked for name in derivation.names_of(node))
    if not asked or any(label is not None and label[0] == "parameters" for label in labels):
        return ()
    return tuple(loop for loop in frame.loops if loop.first_node <= min(asked))


def _goes_outside(machine: Machine, nodes: list[int]) -> bool:
    """Whether a backward pass goes through a graph made before the current round of the innermost loop: then so does
    the pass of its next round, whatever it goes over."""
    if not machine.loops:
        return False
    first = machine.loops[-1].first_node
    labels, live = machine.derivation.labels, machine.derivation.live
    for start in nodes:
        for node in machine.derivation.ancestors(start):
            if node < first and (node in live or (node in labels and labels[node][0] in ("module", "differentiated"))):
                return True
    return False


def wide_loss_label(dotted: str) -> Any:
    tail = dotted.rsplit(".", 1)[-1]
    wide = tail in knowledge.WIDE_LOSSES or tail in knowledge.WIDE_LOSS_MODULES
    return ("wide-loss", tail) if wide else ("loss", tail)


def _comes_unrecorded(machine: Machine, prediction: Value) -> bool:
    """Whether a prediction is what unseen code has computed while gradients were off, or was made of that."""
    derivation = machine.derivation
    pending = [atom.node for atom in prediction if type(atom) is Opaque] if derivation.unrecorded else []
    if len(pending) != len(prediction):
        return False
    for _ in range(_FAR):
        if not pending:
            return False
        node = pending.pop()
        if node in derivation.unrecorded:
            return True
        pending += derivation.parents[node]
    return False


def loss(machine: Machine, values: Sequence[Value], kwargs: Kwargs, label: Any, weight: int = 3) -> Value:
    """The result of a loss function: attached if the prediction is, or if nothing says otherwise."""
    none = constant(kwargs.get("reduction", UNKNOWN)) == "none"
    made = arithmetic(machine, values, label, ANY if none else SCALAR)
    if made and type(made[0]) is Tensor and made[0].graph in (ATTACHED, FREE):
        return made
    if machine.grad == OFF:
        return free(machine, weight, ANY if none else SCALAR)
    if values and _comes_unrecorded(machine, values[0]):
        return free(machine, weight, ANY if none else SCALAR)
    known = [tensor for value in values for tensor in tensors(value)]
    certain = 2 if all(tensor.graph == MAYBE for tensor in known) else 1
    parents = tuple(node for value in values for node in machine.nodes(value))
    node = machine.derivation.node(parents, label)
    return (Tensor(ATTACHED, min(weight, certain), node, ANY if none else SCALAR),)
