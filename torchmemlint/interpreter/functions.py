"""Entering functions: how arguments meet parameters, and what a function gets whose callers are not seen."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.walk import asks_whether_it_trains, calls, last_name, nodes, statements
from .branching import note_rounds
from .by_text import returned_by_text
from .coroutines import keep_locals
from .cycles import note_recursion
from .defaults import default_of
from .frames import Frame
from .hints import is_module_hint, is_tensor_hint, may_be_none, value_of_hint
from .imagined import is_module_by_use, parameter
from .machine import Machine
from .not_entered import PLAIN, asks_for_one, is_a_check, is_beside_the_point, plain_question, says_plain
from .stores import note_cached_call
from .tensors import backward
from .unknown import unknown_call
from .values import (
    LIGHT,
    MAYBE,
    NOTHING,
    OFF,
    ON,
    UNKNOWN,
    Class,
    Function,
    Kwargs,
    Light,
    Obj,
    Opaque,
    Tensor,
    Value,
)

_OF_CONTEXTS = ("__enter__", "__exit__")  # which leave the grad mode that they set, see `statements._enter_context`
_DIFFERENTIATES = frozenset(("backward", "manual_backward", "grad"))
_TENSOR_INPUTS = ("input", "inputs", "x", "tensor", "features", "feature", "logits", "weight", "weights", "q", "k", "v")
_TENSOR_METHODS = frozenset(
    """sigmoid tanh relu exp log clone detach view reshape contiguous size dim sum mean pow abs sqrt clamp matmul
    transpose permute unsqueeze squeeze softmax new_zeros new_empty new numel type_as expand masked_fill""".split()
)


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
    asked: bool = False,
) -> Value:
    """Enter a function of the file with these arguments; returns what it returns.

    A generator's body runs when it is asked for an item, in the grad mode of that moment unless a decorator gives it
    one of its own. `asked` says that this is the moment.
    """
    facts = function.facts
    machine.reached.add(id(facts))
    if machine.grad != OFF:
        machine.recorded.add(id(facts))
    else:
        machine.unrecorded.add(id(facts))
    if function.cached:
        note_cached_call(machine, frame, function, receiver, args, kwargs, site)
        once = asks_for_one(function, args, kwargs) if receiver is None and on_yield is None else None
        if once is not None:
            if once not in machine.answers:
                loops, machine.loops, function.cached = machine.loops, (), False
                machine.answers[once] = call_function(machine, frame, function, receiver, args, kwargs, site, grad)
                machine.loops, function.cached = loops, True
            return machine.answers[once]
    if function.kind == "manager" and on_yield is None:
        manager = machine.allocate(frame, ("manager", site), "manager")
        manager.fields["$call"] = ((function, receiver, args, kwargs),)
        return (manager,)
    question = plain_question(machine, function, args, kwargs) if receiver is None and on_yield is None else None
    if question in machine.answers:
        return machine.answers[question]
    if says_plain(machine, function, receiver, (*args, *kwargs.values())):
        return LIGHT
    if function.frame.unit is not machine.home and is_a_check(function):
        return UNKNOWN
    if facts.generator and machine.grad == OFF and function.grad is None and on_yield is None and not asked:
        later = functools.partial(call_function, machine, frame, function, receiver, args, kwargs, site, asked=True)
        return (machine.generate_later(frame, (site, id(facts), id(receiver)), later),)
    active = 0
    for entry in machine.stack:
        active += entry.facts is facts
    by_home = frame.unit is machine.home
    of_others = by_home or receiver is None or machine.set_up is not None  # no step of a method that is looked at
    if of_others and is_beside_the_point(function, machine.home, (*args, *kwargs.values())):
        return unknown_call(machine, frame, (m.NAME, facts.name), args, kwargs, site)
    if active and function.owner is None and function.frame.function is not None:
        note_recursion(machine, function)
    again = active > 1 or (active and on_yield is None and len(facts.body) > 30)
    key = (site, id(facts), id(receiver))
    inner = frame.children.get(key)
    if again or machine.too_deep or not machine.may_enter(function, receiver, seen=inner is not None):
        return _unentered(machine, frame, function, args, kwargs, site)
    if function.frame.unit is machine.home and machine.stands_back(facts):
        return _as_before(machine, frame, machine.results[id(facts), machine.grad], (*args, *kwargs.values()), site)
    if inner is None:
        inner = Frame(facts, _lexical_parent(function), frame, site, function.frame.unit)
        frame.children[key] = inner
    inner.vars = {}
    inner.function, inner.receiver, inner.loops = function, receiver, machine.loops
    inner.returns = inner.yields = UNKNOWN
    inner.dead = 0
    inner.yielded_in = machine.loops[:0]
    inner.leaves_mode = None
    inner.first_node = len(machine.derivation.parents)
    inner.on_yield = on_yield
    if frame.unit is machine.home and inner.unit is not machine.home:
        args = [_handed_over(machine, value, site) for value in args]
        kwargs = {name: _handed_over(machine, value, site) for name, value in kwargs.items()}
    machine.stack.append(inner)
    bind(machine, inner, function, receiver, args, kwargs)
    outer_grad, conditions = machine.grad, machine.conditions
    if grad is not None:
        machine.grad = grad
    if function.grad is not None:
        machine.grad = function.grad
    passes = len(machine.backwards)
    written = machine.journal, len(machine.journal or ())
    generating = machine.generating
    if facts.generator and on_yield is None:
        machine.generating = len(machine.loops)
    noted = machine.noted()
    machine.block(inner, facts.body)
    if machine.noted() != noted:
        machine.telling.add(id(facts))
    machine.generating = generating
    machine.forget_locals(inner, *written)
    if function.grad is not None or grad is not None or not _leaves_its_mode(machine, inner, conditions):
        machine.grad = outer_grad
        if outer_grad != OFF or function.grad is not None:
            machine.turned_on = None
    elif inner.leaves_mode is not None:
        frame.leaves_mode = inner.leaves_mode
        if outer_grad == OFF and machine.grad == ON:
            machine.turned_on = inner.leaves_mode[2]
    machine.stack.pop()
    if function.cached and machine.context is not None and machine.context.kind == "process":
        machine.note("cached-by-worker", site, frame, (function, inner.returns, machine.context))
    _note_mode(machine, inner, function)
    machine.site = site
    if facts.generator and on_yield is None:
        made = machine.allocate(inner, "generator", "generator")
        machine.put(made.fields, "*", inner.yields)
        keep_locals(machine, made, inner)
        note_rounds(made, inner.yielded_in)
        if len(machine.backwards) > passes:
            made.fields["$backward"] = LIGHT  # each item comes after a backward pass
        return (made,)
    if facts.returns is not None and is_module_hint(facts.returns):  # `return loss(model)`, of a class of losses
        inner.returns = tuple(atom for atom in inner.returns if type(atom) is not Tensor)
    if inner.unit is machine.home:
        machine.results[id(facts), outer_grad] = inner.returns
    if not inner.returns and facts.returns is not None:
        hinted = value_of_hint(machine, inner, facts.returns, 2, "returns")
        return machine.join(hinted, NOTHING) if hinted and may_be_none(facts.returns) else hinted
    if frame.unit is not machine.home and inner.unit is machine.home:
        return _handed_over(machine, inner.returns, inner.returned_at)
    if question is not None and all(type(atom) in PLAIN for atom in inner.returns):
        machine.answers[question] = inner.returns
    return inner.returns


def _leaves_its_mode(machine: Machine, inner: Frame, conditions: int) -> bool:
    """Whether a function that has run changes the grad mode of who called it: `torch.set_grad_enabled(True)` as a
    statement, which ends a `no_grad` around the call as well."""
    if inner.facts.name in _OF_CONTEXTS:
        return True
    left = inner.leaves_mode
    return left is not None and left[:2] == (machine.grad, conditions) and machine.grad in (ON, OFF)


def _handed_over(machine: Machine, value: Value, site: Site, depth: int = 3) -> Value:
    """What the home file gives to a function of another file, or returns to one: whatever is done with it there
    is said of this line."""
    result: list[Any] = []
    for atom in value:
        if type(atom) is Tensor:
            atom = atom._replace(node=machine.derivation.node((atom.node,), ("handed over", site, atom.graph)))
        elif type(atom) is Obj and depth and atom.kind in ("dict", "tuple"):
            for key, part in list(atom.fields.items()):
                if key[:1] != "$" and machine.reach(part, depth - 1):
                    machine.put(atom.fields, key, _handed_over(machine, part, site, depth - 1))
        result.append(atom)
    return tuple(result)


def _note_mode(machine: Machine, inner: Frame, function: Function) -> None:
    """A function under `no_grad` from which no tensor comes out could run in inference mode. What a generator gives
    that it hands out is not known before somebody asks for it."""
    if function.mode != "no_grad" or any(type(atom) is Obj and atom.is_put_off for atom in inner.returns):
        return
    if inner.returns and not machine.reach(inner.returns):
        machine.note("no-grad-region", function.facts.site, inner)


def _unentered(
    machine: Machine, frame: Frame, function: Function, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """A call that there is no time for: what is given to one that differentiates may be what it differentiates. What
    one of another file returns is judged by its name, as if that file were not there."""
    given = tuple(atom for value in (*args, *kwargs.values()) for atom in value)
    parents = machine.nodes(given)
    if parents and not _DIFFERENTIATES.isdisjoint(function.facts.calls):
        more: Kwargs = {"create_graph": UNKNOWN} if _differentiates_for_others(function.facts) else {}
        backward(machine, frame, given, more, site, method=False, of_part=function.facts.name == "forward")
    elif function.frame.unit is not machine.home:
        named = returned_by_text(machine, frame, function, args, kwargs, site)
        if named is not None:
            return named
    if not parents:
        return UNKNOWN
    # what is cut off asks nothing of what was given
    node = machine.derivation.node(() if _returns_cut(function.facts) else tuple(parents))
    if machine.grad == OFF or function.grad == OFF:
        machine.derivation.unrecorded.add(node)
    return (Opaque(node),)


def _as_before(
    machine: Machine, frame: Frame, before: Value, given: Sequence[Value], site: Site, depth: int = 2
) -> Value:
    """What a function returns that has run often, judged by what it returned last: of the same kind, made of what it is
    given now."""
    node = machine.derivation.node(tuple(machine.nodes(tuple(atom for value in given for atom in value))))
    result: list[Any] = []
    for number, atom in enumerate(before):
        if type(atom) in (Tensor, Opaque):
            result.append(atom._replace(node=node))
        elif type(atom) is Obj and atom.kind == "tuple" and depth:
            made = machine.allocate(frame, ("as before", site, number, depth), "tuple", atom.cls)
            made.fields = {
                key: _as_before(machine, frame, part, given, site, depth - 1) for key, part in atom.fields.items()
            }
            result.append(made)
        elif type(atom) in PLAIN:
            result.append(atom)
    return tuple(result)


def _differentiates_for_others(facts: FunctionFacts) -> bool:
    """Whether a function may record what it differentiates, each time that it does: `create_graph=self.enabled`."""
    found = [call for call in calls(facts.body) if last_name(call[2]) in _DIFFERENTIATES]
    more = (any(name == "create_graph" and value != (m.CONST, False) for name, value in one[4]) for one in found)
    return bool(found) and all(more)


def _returns_cut(facts: FunctionFacts) -> bool:
    """Whether a function says in a `return` that it detaches: `return h.detach()`, where others return what its
    recursion made of the parts; or `return torch.cat(values).data`."""
    given = [one[2] for one in statements(facts.body) if one[0] == m.RETURN and one[2] is not None]
    if any(all(part[0] == m.ATTR and part[2] == "data" for part in _items(value)) for value in given):
        return True
    return "detach" in facts.calls and any(
        part[0] == m.ATTR and part[2] == "detach" for value in given for part in nodes(value)
    )


def _items(value: Expr) -> tuple[Expr, ...]:
    return value[3] if value[0] == m.NEW and value[3] else (value,)


def _lexical_parent(function: Function) -> Frame | None:
    """Where a function's free names are looked up: class bodies are no scope for their methods."""
    if function.owner is not None and function.frame is function.owner.frame:
        return function.frame.parent
    return function.frame


def bind(machine: Machine, inner: Frame, function: Function, receiver: Any, args: list[Value], kwargs: Kwargs) -> None:
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
        named.fields = {f"[{name}]" if name != "*" else name: value for name, value in left.items()}
        left.clear()
        return (named,)
    if given and not param.keyword:
        value = given.pop(0)
    elif param.name in left:
        value = left.pop(param.name)
    else:
        return default_of(machine, function, param)
    if param.hint is not None and is_tensor_hint(param.hint) and not any(_is_known(machine, atom) for atom in value):
        return value_of_hint(machine, inner, param.hint, 2, param.name)
    if not value and param.hint is not None and is_module_hint(param.hint):
        value = value_of_hint(machine, inner, param.hint, 2, param.name)
        for atom in value:
            if type(atom) is Obj:
                atom.birth = atom.made = ()  # the caller has been given it, whatever round this is
    return value


def _is_known(machine: Machine, atom: Any) -> bool:
    """Whether an atom says more than that it was made while gradients were off."""
    derivation = machine.derivation
    return type(atom) is not Opaque or atom.node not in derivation.unrecorded or bool(derivation.parents[atom.node])


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
        inner = Frame(facts, _lexical_parent(function), None, -1, function.frame.unit)
        parent.children[key] = inner
    inner.vars = {}
    inner.function, inner.receiver, inner.loops = function, receiver, machine.loops
    inner.returns = inner.yields = UNKNOWN
    inner.dead, inner.on_yield = 0, None
    inner.first_node = len(machine.derivation.parents)
    machine.stack.append(inner)
    _bind_unseen(machine, inner, function, receiver)
    grad = machine.grad
    if function.grad is not None:
        machine.grad = function.grad
    written = machine.journal, len(machine.journal or ())
    machine.block(inner, facts.body)
    machine.forget_locals(inner, *written)
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
        if index == 1 and inner.name == "__getitem__" and param.hint is None:
            inner.vars[param.name] = LIGHT  # an index or a key
            continue
        value = value_of_hint(machine, inner, param.hint, 2, param.name)
        if _makes_a_module_of_it(receiver, inner, param.name, value):
            value = UNKNOWN
        if not value or (param.hint is not None and param.hint[-1] == "Any"):
            value = machine.join(value, parameter(machine, inner, param.name))
        if (
            not value
            and context
            and (param.name in _TENSOR_INPUTS or _TENSOR_METHODS.intersection(inner.facts.uses.get(param.name, ())))
        ):
            value = (Tensor(MAYBE, 2, machine.derivation.node(), ""),)
        passes = inner.name == "forward" or asks_whether_it_trains(function.facts.body)
        if index == 1 and passes and type(receiver) is Obj and receiver.kind == "module":
            value = _input_of(machine, receiver, value)
        if param.default is not None and param.default[0] != m.CONST:
            default = default_of(machine, function, param)
            shown = any(type(atom) is Obj and atom.kind == "module" for atom in default)
            value = default if shown else machine.join(value, default)  # `metric: nn.Module = Accuracy()`
        inner.vars[param.name] = value


def _makes_a_module_of_it(receiver: Any, inner: Frame, name: str, value: Value) -> bool:
    """Whether an object is given the description of a module, `model: dict`, and has the module under that name later:
    by what its class does with the attribute."""
    if inner.name != "__init__" or not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    if not value or not all(type(atom) is Obj and atom.kind in ("dict", "list") for atom in value):
        return False
    return any(is_module_by_use(entry.facts.uses.get(name, ()), name) for entry in receiver.cls.mro)


def _input_of(machine: Machine, module: Obj, value: Value) -> Value:
    """What a module is given: a tensor, unless something else is known of it."""
    if value and not (len(value) == 1 and type(value[0]) is Tensor and value[0].graph == MAYBE):
        return value
    node = machine.derivation.node((), ("input", module))
    return (Tensor(MAYBE, value[0].weight if value else 1, node, ""),)


Machine.call_function = call_function
