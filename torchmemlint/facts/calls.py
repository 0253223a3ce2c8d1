"""Calls: which function is meant, how arguments meet parameters, what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import model as m
from .events import ModuleCall
from .hints import value_of_hint
from .knowledge import LIGHT_RESULTS
from .library import call_external, call_object, tensor_method, unknown_call, unknown_method
from .machine import Frame, Machine, evaluates
from .model import Expr, FunctionFacts, Site
from .objects import run_module
from .unknown import parameter
from .values import (
    ASSUMED,
    ATTACHED,
    LIGHT,
    MAYBE,
    OFF,
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Light,
    Method,
    Mode,
    Obj,
    Opaque,
    Partial,
    Super,
    Tensor,
    Value,
    constant,
)

Kwargs = dict[str, Value]
_ABSTRACT = "NotImplementedError"


@evaluates(m.CALL)
def _call(machine: Machine, frame: Frame, expr: Expr) -> Value:
    _, site, callee, positional, keywords = expr
    if callee[0] == m.ATTR:
        receiver = machine.eval(frame, callee[1])
        args, kwargs = _arguments(machine, frame, positional, keywords)
        machine.site = site
        name = callee[2]
        if name == "zero_grad":
            machine.note("zero-grad", site, frame)
        if name[-1] == "_" and name[-2:] != "__":
            return _in_place(machine, frame, callee, receiver, args, kwargs, site)
        if not receiver:
            return unknown_method(machine, frame, callee, receiver, args, kwargs, site)
        result: Value = UNKNOWN
        for atom in receiver:
            if type(atom) is Opaque:
                made = unknown_method(machine, frame, callee, (atom,), args, kwargs, site)
            else:
                made = call_method(machine, frame, atom, name, args, kwargs, site)
            result = machine.join(result, made)
        return result
    function = machine.eval(frame, callee)
    if len(function) == 1 and type(function[0]) is External and function[0].dotted == "builtins.super":
        return _super(machine, frame)
    args, kwargs = _arguments(machine, frame, positional, keywords)
    machine.site = site
    if not function:
        return unknown_call(machine, frame, callee, args, kwargs, site)
    return call(machine, frame, function, args, kwargs, site)


def _arguments(
    machine: Machine, frame: Frame, positional: tuple[Expr, ...], keywords: tuple[tuple[str, Expr], ...]
) -> tuple[list[Value], Kwargs]:
    args: list[Value] = []
    for expr in positional:
        if expr[0] == m.STAR:
            args += _spread(machine, frame, machine.eval(frame, expr[1]))
        else:
            args.append(machine.eval(frame, expr))
    kwargs: Kwargs = {}
    for name, expr in keywords:
        value = machine.eval(frame, expr)
        if name:
            kwargs[name] = value
            continue
        for atom in value:
            if type(atom) is Obj:
                for field, part in atom.fields.items():
                    if field[0] == "[":
                        kwargs[field[1:-1]] = part
    return args, kwargs


def _spread(machine: Machine, frame: Frame, value: Value) -> list[Value]:
    if len(value) == 1 and type(value[0]) is Obj and value[0].kind in ("tuple", "list"):
        fields = value[0].fields
        known = [fields[f"[{index}]"] for index in range(len(fields)) if f"[{index}]" in fields]
        if known and "*" not in fields:
            return known
    return [machine.iterate(frame, value)]


def _super(machine: Machine, frame: Frame) -> Value:
    current: Frame | None = frame
    while current is not None and (current.function is None or current.function.owner is None):
        current = current.parent
    if current is None or current.function is None or current.function.owner is None:
        return UNKNOWN
    return (Super(current.function.owner, current.receiver),)


def call(machine: Machine, frame: Frame, callee: Value, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """Call a value."""
    result: Value = UNKNOWN
    for atom in callee:
        result = machine.join(result, _call_atom(machine, frame, atom, args, kwargs, site))
    return result


def _call_atom(
    machine: Machine, frame: Frame, atom: Any, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    kind = type(atom)
    if kind is Function:
        return call_function(machine, frame, atom, None, args, kwargs, site)
    if kind is Bound:
        return call_function(machine, frame, atom.function, atom.receiver, args, kwargs, site)
    if kind is External:
        return call_external(machine, frame, atom.dotted, args, kwargs, site)
    if kind is Class:
        return construct(machine, frame, atom, args, kwargs, site)
    if kind is Obj:
        return call_instance(machine, frame, atom, args, kwargs, site)
    if kind is Partial:
        return call(machine, frame, atom.callee, [*atom.args, *args], {**dict(atom.kwargs), **kwargs}, site)
    if kind is Method:
        return call_method(machine, frame, atom.receiver, atom.name, args, kwargs, site)
    if kind is Mode:
        for value in args:  # torch.no_grad()(function)
            for item in value:
                if type(item) is Function:
                    copy = Function(item.facts, item.frame, item.owner)
                    copy.grad = atom.grad
                    return (copy,)
    if kind is Tensor and atom.bundle:
        return (atom,)
    return UNKNOWN


def call_method(
    machine: Machine, frame: Frame, atom: Any, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Call a method of one atom."""
    kind = type(atom)
    if kind is Tensor:
        return tensor_method(machine, frame, atom, name, args, kwargs, site)
    if kind is Obj:
        found = _own_method(machine, frame, atom, name, args, kwargs, site)
        return call_object(machine, frame, atom, name, args, kwargs, site) if found is None else found
    if kind is External:
        return call_external(machine, frame, f"{atom.dotted}.{name}", args, kwargs, site)
    if kind is Class:
        return _class_method(machine, frame, atom, name, args, kwargs, site)
    if kind is Super:
        return _super_method(machine, frame, atom, name, args, kwargs, site)
    if kind is Opaque:
        if name in LIGHT_RESULTS:
            machine.derivation.consumed.add(atom.node)
            return LIGHT
        return (Opaque(machine.derivation.node((atom.node, *_argument_nodes(machine, args, kwargs)))),)
    if kind is Light or kind is Const:
        return LIGHT
    if kind is Function and name == "__call__":
        return call_function(machine, frame, atom, None, args, kwargs, site)
    return UNKNOWN


def _argument_nodes(machine: Machine, args: list[Value], kwargs: Kwargs) -> list[int]:
    return [node for value in (*args, *kwargs.values()) for node in machine.nodes(value)]


def _own_method(
    machine: Machine, frame: Frame, atom: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value | None:
    """Call what an instance of a class of the file has under this name; None if it has nothing."""
    if name in atom.fields and name != "*" and atom.fields[name]:
        value = tuple(v for v in atom.fields[name] if not (type(v) is Method and v.receiver is atom and v.name == name))
        return call(machine, frame, value, args, kwargs, site) if value else None
    if not isinstance(atom.cls, Class):
        return None
    found = atom.cls.find(name)
    if found is None:
        return None
    result: Value = UNKNOWN
    for member in found:
        if type(member) is Function:
            if member.kind == "property":
                made = call_function(machine, frame, member, atom, [], {}, site)
                result = machine.join(result, call(machine, frame, made, args, kwargs, site))
            else:
                result = machine.join(result, _call_member(machine, frame, member, atom, args, kwargs, site))
        else:
            result = machine.join(result, call(machine, frame, (member,), args, kwargs, site))
    if name == "forward" and is_module(atom.cls):
        return _ran(machine, frame, atom, result, args, kwargs, site, machine.derivation.node())
    return result


def _call_member(
    machine: Machine, frame: Frame, member: Function, receiver: Any, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    if member.kind == "static":
        return call_function(machine, frame, member, None, args, kwargs, site)
    if member.kind == "class":
        owner = receiver.cls if type(receiver) is Obj else receiver
        return call_function(machine, frame, member, owner, args, kwargs, site)
    return call_function(machine, frame, member, receiver, args, kwargs, site)


def _class_method(
    machine: Machine, frame: Frame, atom: Class, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    found = atom.find(name)
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
            part = call(machine, frame, (member,), args, kwargs, site)
        result = machine.join(result, part)
    if found is None and name == "apply" and "torch.autograd.Function" in atom.external:
        return _apply(machine, frame, atom, args, kwargs, site)
    return result


def _apply(
    machine: Machine, frame: Frame, cls: Class, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """`Function.apply`: its `forward` runs with gradients off, its result has a graph if an argument has."""
    from .library import arithmetic

    grad, machine.grad = machine.grad, OFF
    for member in cls.find("forward") or ():
        if type(member) is Function:
            call_function(machine, frame, member, Light("ctx"), args, kwargs, site)
    machine.grad = grad
    return arithmetic(machine, args)


def _super_method(
    machine: Machine, frame: Frame, atom: Super, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    receiver = atom.receiver
    mro = receiver.cls.mro if type(receiver) is Obj and isinstance(receiver.cls, Class) else atom.owner.mro
    after = mro[mro.index(atom.owner) + 1 :] if atom.owner in mro else atom.owner.mro[1:]
    for entry in after:
        if name in entry.frame.vars:
            result: Value = UNKNOWN
            for member in entry.frame.vars[name]:
                if type(member) is Function:
                    result = machine.join(
                        result, _call_member(machine, frame, member, receiver, args, kwargs, site)
                    )
            return result
    if type(receiver) is Obj and name != "__init__":
        return call_object(machine, frame, receiver, name, args, kwargs, site)
    return UNKNOWN


# -- instances ------------------------------------------------------------------------------------


def is_module(cls: Class) -> bool:
    """Whether a class of the file is an nn.Module, by its bases or, where these are not seen, by its `forward`."""
    for dotted in cls.external:
        if dotted.startswith("torch.autograd."):
            return False
        if dotted.startswith("torch.nn.") or dotted.endswith(("Module", "PreTrainedModel")):
            return True
    return bool(cls.external) and cls.find("forward") is not None


def construct(
    machine: Machine, frame: Frame, cls: Class, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """An instance of a class of the file."""
    obj = machine.allocate(frame, ("instance", site, cls.facts.site), "instance", cls)
    obj.kind = "module" if is_module(cls) else "instance"
    known = machine.instances.setdefault(id(cls), [])
    if obj not in known:
        known.append(obj)
    init = cls.find("__init__")

    def initialise() -> None:
        for key in list(obj.fields):
            machine.put(obj.fields, key, UNKNOWN)
        if init is None:
            _fill_fields(machine, frame, cls, obj, args, kwargs)
        for member in init or ():
            if type(member) is Function:
                call_function(machine, frame, member, obj, args, kwargs, site)

    if obj.stays:
        machine.branch(frame, [initialise, lambda: None], conditional=False)
    else:
        initialise()
    return (obj,)


def _fill_fields(
    machine: Machine, frame: Frame, cls: Class, obj: Obj, args: list[Value], kwargs: Kwargs
) -> None:
    """A dataclass, NamedTuple or attrs class: arguments become fields in the order they are declared."""
    names: list[str] = []
    for entry in reversed(cls.mro):
        body = machine.facts.functions[entry.facts.body].body
        names += [s[2][1] for s in body if s[0] == m.ANNOTATE and s[2][0] == m.NAME and s[2][1] not in names]
    for index, name in enumerate(names):
        value = kwargs.get(name) if name in kwargs else (args[index] if index < len(args) else None)
        if value is not None:
            machine.put(obj.fields, name, value)
            for atom in value:
                if type(atom) is Obj and atom.home is None:
                    atom.home = (obj, name)


def call_instance(
    machine: Machine, frame: Frame, obj: Obj, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """`obj(...)`: `forward` of a module, `__call__` of anything else."""
    if isinstance(obj.cls, Class):
        names = ("forward", "__call__") if obj.kind == "module" else ("__call__", "forward")
        for name in names:
            found = obj.cls.find(name)
            if found is None:
                continue
            node = machine.derivation.node()
            machine.module_depth += 1
            before = len(machine.module_calls)
            result: Value = UNKNOWN
            for member in found:
                if type(member) is Function:
                    result = machine.join(
                        result, call_function(machine, frame, member, obj, args, kwargs, site)
                    )
            machine.module_depth -= 1
            if obj.kind == "module":
                return _ran(machine, frame, obj, result, args, kwargs, site, node, before)
            return result
    return call_object(machine, frame, obj, "__call__", args, kwargs, site)


def _ran(
    machine: Machine,
    frame: Frame,
    obj: Obj,
    result: Value,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
    node: int,
    before: int | None = None,
) -> Value:
    """A module of the file has run: note it, and let its results derive from one node."""
    parents = tuple(tensor.node for tensor in machine.reach(result) if tensor.graph == ATTACHED)
    if not parents:
        understood = any(type(atom) in (Tensor, Obj, Light, Const) for atom in result)
        if not understood and machine.grad != OFF and not frozen(obj):
            return run_module(machine, frame, obj, args, kwargs, site)
        return result
    machine.derivation.parents[node] = parents
    machine.derivation.labels[node] = ("module", obj, site)
    record_module_call(machine, frame, obj, node, site, args, 3)
    return tuple(
        atom._replace(node=machine.derivation.node((node, atom.node), ("module", obj, site)))
        if type(atom) is Tensor and atom.graph == ATTACHED
        else atom
        for atom in result
    )


def record_module_call(
    machine: Machine, frame: Frame, obj: Obj, node: int, site: Site, args: list[Value], weight: int
) -> None:
    if machine.module_depth or machine.in_hook:
        return
    attached = any(tensor.graph == ATTACHED for value in args for tensor in machine.reach(value, 2))
    machine.module_calls.append(
        ModuleCall(
            site, frame.trail(), obj, node, in_eval_mode(obj), machine.loops, frame,
            tuple(machine.stack), machine.grad, attached, weight, bool(machine.threads),
        )
    )  # fmt: skip


def in_eval_mode(obj: Obj) -> bool:
    return _marked(obj, "$mode", "eval")


def frozen(obj: Obj) -> bool:
    return _marked(obj, "$frozen", True)


def _marked(obj: Obj, key: str, wanted: Any) -> bool:
    """Whether a module, or one that it is part of, was last put in this state."""
    current: Any = obj
    for _ in range(6):
        if not isinstance(current, Obj):
            return False
        mark = constant(current.fields.get(key, UNKNOWN))
        if mark is not ...:
            return bool(mark == wanted)
        current = current.home[0] if current.home is not None else None
    return False


# -- functions ------------------------------------------------------------------------------------


def call_function(
    machine: Machine,
    frame: Frame,
    function: Function,
    receiver: Any,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
    grad: int | None = None,
    on_yield: Callable[[Value], None] | None = None,
) -> Value:
    """Enter a function of the file with these arguments; returns what it returns."""
    facts = function.facts
    machine.reached.add(id(facts))
    if function.kind == "manager" and on_yield is None:
        manager = machine.allocate(frame, ("manager", site), "manager")
        manager.fields["$call"] = ((function, receiver, args, kwargs),)
        return (manager,)
    active = sum(entry.facts is facts for entry in machine.stack)
    if machine.exhausted or machine.too_deep or active > 1 or (active and on_yield is None and len(facts.body) > 30):
        return _unentered(machine, args, kwargs)
    key = (site, id(facts), id(receiver))
    inner = frame.children.get(key)
    if inner is None:
        inner = Frame(facts, _lexical_parent(function), frame, site)
        frame.children[key] = inner
    inner.vars = {}
    inner.function, inner.receiver, inner.loops = function, receiver, machine.loops
    inner.returns = inner.yields = UNKNOWN
    inner.dead = 0
    inner.on_yield = on_yield
    machine.stack.append(inner)
    bind(machine, inner, function, receiver, args, kwargs)
    outer_grad = machine.grad
    if grad is not None:
        machine.grad = grad
    if function.grad is not None:
        machine.grad = function.grad
    machine.block(inner, facts.body)
    machine.grad = outer_grad
    machine.stack.pop()
    _note_mode(machine, inner, function)
    machine.site = site
    if facts.generator and on_yield is None:
        made = machine.allocate(inner, "generator", "generator")
        machine.put(made.fields, "*", inner.yields)
        return (made,)
    if not inner.returns and facts.returns is not None:
        return value_of_hint(machine, inner, facts.returns, 2, "returns")
    return inner.returns


def _note_mode(machine: Machine, inner: Frame, function: Function) -> None:
    """A function under `no_grad` from which no tensor comes out could run in inference mode."""
    if function.mode == "no_grad" and inner.returns and not machine.reach(inner.returns):
        machine.note("no-grad-region", function.facts.site, inner)


def _unentered(machine: Machine, args: list[Value], kwargs: Kwargs) -> Value:
    nodes = _argument_nodes(machine, args, kwargs)
    return (Opaque(machine.derivation.node(tuple(nodes))),) if nodes else UNKNOWN


def _lexical_parent(function: Function) -> Frame | None:
    """Where a function's free names are looked up: class bodies are no scope for their methods."""
    if function.owner is not None and function.frame is function.owner.frame:
        return function.frame.parent
    return function.frame


def bind(
    machine: Machine, inner: Frame, function: Function, receiver: Any, args: list[Value], kwargs: Kwargs
) -> None:
    """Give parameters their values: arguments, defaults."""
    facts: FunctionFacts = function.facts
    given = list(args)
    if receiver is not None:
        given.insert(0, (receiver,))
    left = dict(kwargs)
    for param in facts.params:
        value = _argument(machine, inner, function, param, given, left)
        inner.births[param.name] = machine.loops
        inner.vars[param.name] = value


def _argument(
    machine: Machine, inner: Frame, function: Function, param: Any, given: list[Value], left: Kwargs
) -> Value:
    if param.kind == "*":
        rest = machine.allocate(inner, "*args", "tuple")
        rest.fields = {f"[{index}]": value for index, value in enumerate(given)}
        given.clear()
        return (rest,)
    if param.kind == "**":
        named = machine.allocate(inner, "**kwargs", "dict")
        named.fields = {f"[{name}]": value for name, value in left.items()}
        left.clear()
        return (named,)
    if given and not param.keyword:
        return given.pop(0)
    if param.name in left:
        return left.pop(param.name)
    if param.default is not None:
        return machine.eval(function.frame, param.default)
    return UNKNOWN


def enter_context(
    machine: Machine, frame: Frame, value: Value, inside: Callable[[Value], None], site: Site
) -> None:
    """Run what stands in a `with` between the enter and the exit of its context."""
    for atom in value:
        if type(atom) is Mode:
            machine.entered.add(atom.site)
            outer, machine.grad = machine.grad, atom.grad
            inside(LIGHT)
            machine.grad = outer
            return
        if type(atom) is Obj and atom.kind == "manager":
            function, receiver, args, kwargs = atom.fields["$call"][0]
            call_function(machine, frame, function, receiver, args, kwargs, site, on_yield=inside)
            return
        if type(atom) is Obj and isinstance(atom.cls, Class) and atom.cls.find("__enter__") is not None:
            entered = call_method(machine, frame, atom, "__enter__", [], {}, site)
            inside(entered)
            if not frame.dead:
                call_method(machine, frame, atom, "__exit__", [LIGHT, LIGHT, LIGHT], {}, site)
            else:
                dead, frame.dead = frame.dead, 0
                call_method(machine, frame, atom, "__exit__", [LIGHT, LIGHT, LIGHT], {}, site)
                frame.dead = dead
            return
    inside(value if value and type(value[0]) is Obj else UNKNOWN)


# -- in place -------------------------------------------------------------------------------------


def _in_place(
    machine: Machine,
    frame: Frame,
    callee: Expr,
    receiver: Value,
    args: list[Value],
    kwargs: Kwargs,
    site: Site,
) -> Value:
    """`place.mul_(a).add_(b)`: one write to the place at the root of the chain."""
    from .knowledge import IN_PLACE_LIGHT
    from .library import arithmetic

    name = callee[2]
    if name == "requires_grad_" or name in IN_PLACE_LIGHT or any(type(a) in (Obj, External, Class) for a in receiver):
        if not receiver:
            return unknown_method(machine, frame, callee, receiver, args, kwargs, site)
        result: Value = UNKNOWN
        for atom in receiver:
            result = machine.join(result, call_method(machine, frame, atom, name, args, kwargs, site))
        return result
    sources = [value for value in (*args, *kwargs.values()) if machine.reach(value, 2)]
    if machine.grad == OFF:
        return receiver
    merged = arithmetic(machine, (receiver, *sources))
    root = _root_of_chain(callee[1])
    if root is not None and any(tensor.graph == ATTACHED for value in sources for tensor in machine.reach(value, 2)):
        machine.assign(frame, root, merged, site, how="inplace")
    return merged or receiver


def _root_of_chain(expr: Expr) -> Expr | None:
    """The place that a chain of in-place calls writes to; None when it goes through `.data` or a copy."""
    while expr[0] == m.CALL and expr[2][0] == m.ATTR and expr[2][2][-1] == "_":
        expr = expr[2][1]
    if expr[0] == m.ATTR and expr[2] in ("data", "grad"):
        return None
    if expr[0] == m.ITEM:
        return _root_of_chain(expr[1])
    return expr if expr[0] in (m.NAME, m.ATTR) else None


def instance_of(machine: Machine, frame: Frame, cls: Class, ident: Any) -> Value:
    """An instance that somebody else made: constructed with arguments that are not seen."""
    made = machine.instances.get(id(cls))
    if made:
        return tuple(made[:3])
    key = ("seen", id(cls))
    obj = machine.module_frame.allocs.get(key)
    if obj is None:
        obj = Obj("module" if is_module(cls) else "instance", cls, (), machine.site, 2)
        machine.serial += 1
        obj.serial = machine.serial
        obj.unknown = True
        machine.module_frame.allocs[key] = obj
        if not machine.exhausted and not machine.too_deep:
            _construct_unseen(machine, cls, obj)
    return (obj,)


def _construct_unseen(machine: Machine, cls: Class, obj: Obj) -> None:
    loops, machine.loops = machine.loops, ()
    grad, machine.grad = machine.grad, ASSUMED
    journal, machine.journal = machine.journal, None
    for member in cls.find("__init__") or ():
        if type(member) is Function:
            call_unseen(machine, member, obj)
    if cls.find("__init__") is None:
        _fill_fields(machine, machine.module_frame, cls, obj, [], {})
    machine.loops, machine.grad, machine.journal = loops, grad, journal


def call_unseen(machine: Machine, function: Function, receiver: Any) -> tuple[Frame | None, Value]:
    """Enter a function whose callers are not seen: parameters have what annotations, uses and names say."""
    facts = function.facts
    machine.reached.add(id(facts))
    if any(entry.facts is facts for entry in machine.stack):
        return None, UNKNOWN
    parent = machine.module_frame
    key = ("unseen", id(facts), id(receiver))
    inner = parent.children.get(key)
    if inner is None:
        inner = Frame(facts, _lexical_parent(function), None, -1)
        parent.children[key] = inner
    inner.vars = {}
    inner.function, inner.receiver, inner.loops = function, receiver, machine.loops
    inner.returns = inner.yields = UNKNOWN
    inner.dead, inner.on_yield = 0, None
    machine.stack.append(inner)
    _bind_unseen(machine, inner, function, receiver)
    grad = machine.grad
    if function.grad is not None:
        machine.grad = function.grad
    machine.block(inner, facts.body)
    machine.grad = grad
    machine.stack.pop()
    _note_mode(machine, inner, function)
    return inner, machine.join(inner.returns, inner.yields)


def _bind_unseen(machine: Machine, inner: Frame, function: Function, receiver: Any) -> None:
    context = isinstance(receiver, Light)
    for index, param in enumerate(function.facts.params):
        inner.births[param.name] = machine.loops
        if index == 0 and receiver is not None:
            inner.vars[param.name] = (receiver,)
            continue
        value = value_of_hint(machine, inner, param.hint, 2, param.name)
        if not value or (param.hint is not None and param.hint[-1] == "Any"):
            value = machine.join(value, parameter(machine, inner, param.name))
        if not value and context and (param.name in _TENSOR_INPUTS or _TENSOR_METHODS.intersection(inner.facts.uses.get(param.name, ()))):
            value = (Tensor(MAYBE, 2, machine.derivation.node(), ""),)
        if param.default is not None and param.default[0] != m.CONST:
            value = machine.join(value, machine.eval(function.frame, param.default))
        inner.vars[param.name] = value


_TENSOR_INPUTS = ("input", "inputs", "x", "tensor", "features", "feature", "logits", "weight", "weights", "q", "k", "v")
_TENSOR_METHODS = frozenset(
    """sigmoid tanh relu exp log clone detach view reshape contiguous size dim sum mean pow abs sqrt clamp matmul
    transpose permute unsqueeze squeeze softmax new_zeros new_empty new numel type_as expand masked_fill""".split()
)
Machine.call = call  # type: ignore[method-assign]
Machine.call_method = call_method  # type: ignore[method-assign]
Machine.call_function = call_function  # type: ignore[method-assign]
Machine.instance_of = instance_of  # type: ignore[method-assign]
