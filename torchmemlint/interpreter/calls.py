"""Calls: which function is meant, how arguments meet parameters, what comes back."""

from __future__ import annotations

import functools
from typing import Any

from ..facts import model as m
from ..facts.knowledge import LIGHT_RESULTS, REDUCTIONS, VIEWS
from ..facts.model import Expr, Site
from . import slots, threads, weights
from .builtins import text_of
from .callbacks import bound_to
from .frames import Frame
from .functions import call_function
from .gradient_hooks import OF_GRADIENTS, run_gradient_hook
from .in_place import write_in_place
from .instances import bare_objects, call_instance, construct
from .keys import kind_of_key
from .library import call_external
from .linking import module_member
from .loader_devices import note_call
from .logs import HANDLERS, LOGS, hand_to_handlers, note_handlers
from .machine import EVALUATE, Machine, evaluates
from .objects import call_object
from .own_methods import class_method, made_by_base, own_method, super_method
from .tensors import note_tensor_hook, tensor_method
from .unknown import call_opaque, unknown_call, unknown_method
from .values import (
    LEAF,
    LIGHT,
    NOTHING,
    OFF,
    ON,
    UNKNOWN,
    Bound,
    Caught,
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
)

_NOTED = LOGS | {"zero_grad", "setdefault"} | HANDLERS

_LISTS = ("builtins.list", "builtins.set")
_GENERATED = (m.COMP, "generator")  # `list(f(x) for x in xs)`, which is a list comprehension


@evaluates(m.CALL)
def _call(machine: Machine, frame: Frame, expr: Expr) -> Value:
    _, site, callee, positional, keywords = expr
    if callee[0] == m.ATTR:
        receiver = EVALUATE[callee[1][0]](machine, frame, callee[1])
        if callee[2] == "update" and _binds_entries(receiver, positional, keywords):
            for key, value in positional[0][2]:
                machine.assign(frame, (m.ITEM, callee[1], key), EVALUATE[value[0]](machine, frame, value), site, "set")
            return LIGHT
        args, kwargs = _arguments(machine, frame, positional, keywords)
        machine.site = site
        machine.given_nothing = -1 if positional or keywords else site
        name = callee[2]
        if machine.context is not None:
            note_call(machine, frame, expr, receiver)
        if name in threads.QT:
            threads.qt(machine, frame, name, receiver, args, site)
        if name == "connect":
            slots.connect(machine, frame, callee, args, site)
        elif name == "emit":
            slots.emit(machine, frame, callee, args, site)
        if name in _NOTED:
            if name == "zero_grad":
                machine.note("zero-grad", site, frame)
            elif name == "setdefault":
                machine.key_kind = kind_of_key(args[0], positional[0], frame) if args and positional else ""
            elif name not in LOGS:
                note_handlers(machine, frame, name, [*args, *kwargs.values()], site)
            elif machine.log_handlers:
                hand_to_handlers(machine, frame, args, site)
        if name == "exception" and not positional and not keywords:  # of a future or task that has failed
            return (*NOTHING, machine.caught(frame, site))
        if name[-1] == "_" and name[-2:] != "__":
            return write_in_place(machine, frame, callee, receiver, args, kwargs, site)
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
    function = EVALUATE[callee[0]](machine, frame, callee)
    if len(function) == 1 and type(function[0]) is External:
        if function[0].dotted == "builtins.super":
            return _super(machine, frame)
        if function[0].dotted == "builtins.zip" and len(positional) == 1 and positional[0][0] == m.STAR:
            columns = _columns(machine, frame, machine.eval(frame, positional[0][1]), site)
            if columns:
                return columns
        given = positional[0] if len(positional) == 1 else ()
        if function[0].dotted in _LISTS and given[:1] + given[2:3] == _GENERATED:
            return machine.eval(frame, (*given[:2], function[0].dotted.rpartition(".")[2], *given[3:]))
    args, kwargs = _arguments(machine, frame, positional, keywords)
    machine.site = site
    if not function:
        made = unknown_call(machine, frame, callee, args, kwargs, site)
    elif not positional and not keywords and all(type(one) is Obj and _is_only_called_a_model(one) for one in function):
        return UNKNOWN  # `model = models[name]()`: it makes one
    else:
        made = call(machine, frame, function, args, kwargs, site)
    if not made and machine.grad == OFF and (positional or keywords):
        return (Opaque(machine.unknown_node(())),)  # whatever it is, nothing has been recorded of it
    return made


def _binds_entries(receiver: Value, positional: tuple[Expr, ...], keywords: tuple[Any, ...]) -> bool:
    """`table.update({key: value})` of a dictionary, which binds these entries as `table[key] = value` does."""
    if len(positional) != 1 or keywords or positional[0][0] != m.DICT or not receiver:
        return False
    entries = positional[0][2]
    told = all(key is not None for key, _ in entries) and any(key[0] != m.CONST for key, _ in entries)
    return told and all(type(atom) is Obj and atom.kind == "dict" and atom.cls is None for atom in receiver)


def _is_only_called_a_model(obj: Obj) -> bool:
    return obj.kind == "module" and not isinstance(obj.cls, Class)


def _arguments(
    machine: Machine, frame: Frame, positional: tuple[Expr, ...], keywords: tuple[tuple[str, Expr], ...]
) -> tuple[list[Value], Kwargs]:
    args: list[Value] = []
    for expr in positional:
        if expr[0] == m.STAR:
            args += _spread(machine, frame, machine.eval(frame, expr[1]))
        else:
            args.append(EVALUATE[expr[0]](machine, frame, expr))
    kwargs: Kwargs = {}
    for name, expr in keywords:
        value = EVALUATE[expr[0]](machine, frame, expr)
        if name:
            kwargs[name] = value
            continue
        for atom in value:
            if type(atom) is Obj:
                for field, part in atom.fields.items():
                    if field[:1] == "[":
                        kwargs[field[1:-1]] = part
                    elif field == "*":
                        kwargs["*"] = machine.join(kwargs.get("*", UNKNOWN), part)
            elif type(atom) is Tensor and atom.bundle:  # a module's dictionary of results
                part = (Tensor(atom.graph, atom.weight, atom.node, atom.size),)
                kwargs["*"] = machine.join(kwargs.get("*", UNKNOWN), part)
    return args, kwargs


def _spread(machine: Machine, frame: Frame, value: Value) -> list[Value]:
    """`f(*record)`: what each place has, also where it may be one of several tuples, as what comes out of a queue."""
    rows = [_places(atom) for atom in value if type(atom) is not Const]
    if not rows or not all(rows):
        return [machine.iterate(frame, value)]
    if len(rows) == 1:
        return rows[0]
    columns = ([row[index] for row in rows if index < len(row)] for index in range(max(map(len, rows))))
    return [functools.reduce(machine.join, column) for column in columns]


def _places(atom: object) -> list[Value]:
    """What a tuple or list has at each of its places, if they are all known."""
    if type(atom) is not Obj or atom.kind not in ("tuple", "list") or "*" in atom.fields:
        return []
    fields = atom.fields
    return [fields[f"[{index}]"] for index in range(len(fields)) if f"[{index}]" in fields]


def _columns(machine: Machine, frame: Frame, rows: Value, site: Site) -> Value:
    """`zip(*rows)`, of rows whose places are known: at each place the list of what they have there."""
    each = machine.iterate(frame, rows)
    known = [atom for atom in each if type(atom) is Obj and atom.kind == "tuple" and "*" not in atom.fields]
    places = [key for atom in known[:1] for key in atom.fields if key[:1] == "["]
    if not places or len(known) < len(each):
        return UNKNOWN
    turned = machine.allocate(frame, ("turned", site), "tuple")
    for key in places:
        column = machine.allocate(frame, ("column", site, key), "list")
        parts = (atom.fields.get(key, UNKNOWN) for atom in known)
        machine.put(column.fields, "*", functools.reduce(machine.join, parts))
        machine.put(turned.fields, key, (column,))
    return (turned,)


def _super(machine: Machine, frame: Frame) -> Value:
    current: Frame | None = frame
    while current is not None and (current.function is None or current.function.owner is None):
        current = current.parent
    if current is None or current.function is None or current.function.owner is None:
        return UNKNOWN
    return (Super(current.function.owner, current.receiver),)


def call(machine: Machine, frame: Frame, callee: Value, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
    """Call a value."""
    if len(callee) == 1:
        return _call_atom(machine, frame, callee[0], args, kwargs, site)
    result: Value = UNKNOWN
    for atom in callee:
        result = machine.join(result, _call_atom(machine, frame, atom, args, kwargs, site))
    return result


def _call_atom(machine: Machine, frame: Frame, atom: Any, args: list[Value], kwargs: Kwargs, site: Site) -> Value:
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
    if kind is Method and atom.name == "forward" and type(atom.receiver) is Obj:
        return call_object(machine, frame, atom.receiver, atom.name, args, kwargs, site)  # whatever replaces it now
    if kind is Method:
        return call_method(machine, frame, atom.receiver, atom.name, args, kwargs, site)
    if kind is Mode:
        for value in args:  # torch.no_grad()(function)
            for item in value:
                if type(item) is Function:
                    copy = Function(item.facts, item.frame, item.owner)
                    copy.grad = atom.grad
                    return (copy,)
    if kind is Opaque:
        return call_opaque(machine, frame, atom, args, site)
    if kind is Tensor and atom.bundle:
        return (atom,)
    return UNKNOWN


def call_method(
    machine: Machine, frame: Frame, atom: Any, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Call a method of one atom."""
    kind = type(atom)
    if kind is Tensor:
        if name in OF_GRADIENTS:
            run_gradient_hook(machine, frame, name, atom, args, site)
        return tensor_method(machine, frame, atom, name, args, kwargs, site)
    if kind is Obj:
        if name == "__class__" and isinstance(atom.cls, Class):
            return construct(machine, frame, atom.cls, args, kwargs, site)
        found = own_method(machine, frame, atom, name, args, kwargs, site)
        return call_object(machine, frame, atom, name, args, kwargs, site) if found is None else found
    if kind is External:
        if name == "__new__" and atom.dotted == "builtins.object":
            return bare_objects(machine, frame, args, site)
        if name == "__init__":
            for made in args[0] if args else ():
                if type(made) is Obj and isinstance(made.cls, Class) and atom.dotted in made.cls.external:
                    made_by_base(machine, frame, made, args[1:], kwargs, site)
        if name == "__call__" and atom.dotted == "builtins.type" and args:
            return call(machine, frame, args[0], args[1:], kwargs, site)
        return call_external(machine, frame, f"{atom.dotted}.{name}", args, kwargs, site)
    if kind is Class:
        return class_method(machine, frame, atom, name, args, kwargs, site)
    if kind is Super:
        return super_method(machine, frame, atom, name, args, kwargs, site)
    if kind is Module:
        found = module_member(machine, atom.unit, name)
        if found:
            return call(machine, frame, found, args, kwargs, site)
        return call_external(machine, frame, f"{atom.unit.name}.{name}", args, kwargs, site)
    if kind is Function and name == "__get__" and args:
        return bound_to((atom,), args[0])
    if kind is Opaque:
        if name in LIGHT_RESULTS:
            machine.derivation.consumed.add(atom.node)
            return LIGHT
        if name == "requires_grad_" and all(constant(arg) is True for arg in args):
            return (Tensor(LEAF, 2, machine.derivation.node((atom.node,)), ""),)
        node = machine.unknown_node((atom.node, *_argument_nodes(machine, args, kwargs)))
        if name in REDUCTIONS or name in VIEWS:
            machine.derivation.computed.add(node)
        return (Opaque(node),)
    if kind is Caught:
        return LIGHT
    if kind is Const and atom.value is None:
        return UNKNOWN  # it is what somebody has put there instead, whose code is not seen
    if kind is Light or kind is Const:
        if name in ("join", "format") and args:
            return text_of(machine, frame, args)
        return weights.light_method(atom, name)
    if kind is Method and atom.name == "grad_fn":
        of_tensor = type(atom.receiver) is Tensor
        if of_tensor and name in ("register_hook", "register_prehook") and args:
            note_tensor_hook(machine, frame, atom.receiver, args[0], site)
        return UNKNOWN
    if kind is Function and name == "__call__":
        return call_function(machine, frame, atom, None, args, kwargs, site)
    if kind is Mode and name == "__enter__":  # by hand, for the rest of the function
        if atom.name == "inference_mode" and m.statement_of(atom.site) == m.statement_of(site):
            machine.note("mode-dropped", site, frame)  # nothing keeps the object, and with it the mode ends
            return UNKNOWN
        machine.grad = atom.grad
        machine.entered.add(atom.site)
    elif kind is Mode and name == "__exit__":
        machine.grad = ON
    return UNKNOWN


def _argument_nodes(machine: Machine, args: list[Value], kwargs: Kwargs) -> list[int]:
    return [node for value in (*args, *kwargs.values()) for node in machine.nodes(value)]


Machine.call = call
Machine.call_method = call_method
