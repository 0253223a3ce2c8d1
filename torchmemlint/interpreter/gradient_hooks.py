"""Hooks on parameters: how they run, and which ones pile up there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, Site
from ..facts.program import targets
from ..facts.walk import call_at, calls_of, expressions_of, last_name, nodes, statements, with_tests
from .arguments import argument, call_of
from .defaults import default_of
from .followed import owners
from .frames import Frame, Loop
from .holders import captured
from .hooks import (
    Hooked,
    belongs,
    call_hook,
    is_put_away,
    keeper_of,
    new_containers,
    owners_of,
    repeats,
    who_gets_the_handle,
)
from .machine import Machine
from .tensors import free
from .values import LEAF, OFF, Class, Function, Obj, Partial, Tensor, Value, is_light

BACKWARD = "backward"  # names the calls of a hook that each backward pass makes
OF_GRADIENTS = ("register_hook", "register_post_accumulate_grad_hook")


def run_gradient_hook(machine: Machine, frame: Frame, name: str, tensor: Tensor, args: list[Value], site: Site) -> None:
    """A hook on a parameter runs in every later backward pass, without a graph."""
    if tensor.graph == LEAF and args and args[0] and not machine.in_hook:
        _note_one_more(machine, frame, tensor, args[0], site)
        _note_owners(machine, frame, tensor, args[0], site)
        given = free(machine) if name == "register_hook" else (tensor,)
        call_hook(machine, frame, args[0], [given], site, OFF, BACKWARD)


def _note_one_more(machine: Machine, frame: Frame, tensor: Tensor, callee: Value, site: Site) -> None:
    """Note a function that each round of a loop puts on a parameter, with the tensors that it refers to, where the
    module was there before: it has one hook, and then two, and runs them all."""
    loops = [loop for loop in machine.loops if loop.kind == "loop"]
    call = call_at(frame.facts.body, site) if loops else None
    if call is None or call[2][0] != m.ATTR:
        return
    dropped = machine.statement_call(site) or is_put_away(frame, site)
    asked = machine.conditions - _tests_of_the_parameter(frame, site)
    loops = [loop for loop in loops if asked <= loop.conditions]  # `if epoch == 0` is no test of each round
    for module in owners(machine, (tensor,)):
        steps = [loop for loop in loops if loop not in module.birth and not _picks(frame, loop, call[2][1])]
        for atom in callee if steps and not module.unknown else ():
            if any(one.weight > 1 for value in _referred(machine, atom) for one in machine.reach(value)):
                name = atom.facts.name if type(atom) is Function else "hook"
                machine.note("hook", site, frame, Hooked(name, True, frame, dropped, made=tuple(steps)))


def _note_owners(machine: Machine, frame: Frame, tensor: Tensor, callee: Value, site: Site) -> None:
    """Note the objects that each round of a loop makes, and whose methods they put on the parameters of a module that
    was there before; and functions with a container that each round makes. Not what is made for one parameter each."""
    call = call_at(frame.facts.body, site) if any(loop.kind == "loop" for loop in machine.loops) else None
    if call is None or call[2][0] != m.ATTR:
        return
    dropped = machine.statement_call(site) or is_put_away(frame, site)
    for module in owners(machine, (tensor,)):
        for atom in () if module.unknown else callee:
            for owner in (*owners_of(atom), *new_containers(atom, module)):
                made = [loop for loop in repeats(owner.birth, module) if loop.kind == "loop"]
                made = [loop for loop in made if not _picks(frame, loop, call[2][1])]
                if not made or owner.unknown or belongs(module, owner):
                    continue
                if isinstance(owner.cls, Class):
                    keeper = None if dropped else keeper_of(who_gets_the_handle(frame, site), module)
                    hooked = Hooked(owner.cls.facts.name, False, owner, dropped, keeper, tuple(made))
                else:
                    hooked = Hooked(atom.facts.name, True, frame, dropped, made=tuple(made))
                machine.note("hook", site, frame, hooked)


def _tests_of_the_parameter(frame: Frame, site: Site) -> int:
    """How many tests around the hook ask for what an inner loop binds: `if name in masks`, `if param.dim() > 1`."""
    bound: set[Expr] = set()
    for one, tests in with_tests(frame.facts.body):
        if one[0] == m.FOR:
            bound = set(targets(one))
        elif any(call[1] == site for call in calls_of(one)):
            return sum(any(part in bound for part in nodes(test)) for test in tests)
    return 0


def _picks(frame: Frame, loop: Loop, hooked: Expr) -> bool:
    """Whether each round of a loop hooks another parameter: it is found by what the loop binds, here or in a caller."""
    inner: Frame | None = frame
    places = [hooked]
    while inner is not None and places:
        names = _led_by(inner, places)
        if not names.isdisjoint(_bound_by(inner, loop)):
            return True
        params = [param.name for param in inner.facts.params if (m.NAME, param.name) in names]
        places = []
        for name, given in ((name, argument(inner, name)) for name in params):
            if given is not None:
                places += _names_of(inner.caller, given) if _is_an_optimizer(inner, name) else [given]
        call = call_of(inner)
        if (m.NAME, "self") in names and call is not None and call[2][0] == m.ATTR:
            places.append(call[2][1])
        inner = inner.caller
    return False


def _led_by(frame: Frame, places: list[Expr]) -> set[Expr]:
    """The names by which a function comes to these places."""
    names = {name for place in places for name in _names_of(None, place)}
    body = list(statements(frame.facts.body))
    for _ in range(3):
        for one in body:
            if one[0] in (m.ASSIGN, m.FOR) and not names.isdisjoint(targets(one)):
                makes = all(target[0] == m.NAME and _is_an_optimizer(frame, target[1]) for target in targets(one))
                names |= _names_of(frame if makes else None, one[3])
    return names


def _names_of(maker: Frame | None, value: Expr) -> set[Expr]:
    """The names in a value; where the function makes an optimizer of it, those that say what that is made for:
    `SGD(net[i].parameters(), lr=rate)`, `build(net, rate)`."""
    if maker is not None and value[0] == m.CALL and value[3]:
        first, *numbers = value[3]
        groups = [pair for part in nodes(first) if part[0] == m.DICT for pair in part[2]]
        parts = [one for key, one in groups if key == (m.CONST, "params")] or [first]
        numbers += [one for _, one in (*value[4], *(groups if parts != [first] else ()))]
        if last_name(value[2])[:1].isupper() or _leads_on(maker, first):
            numbers = [one for one in numbers if any(_leads_on(maker, name) for name in _names_of(None, one))]
        return {name for one in (*parts, *numbers) for name in _names_of(None, one)}
    parts = list(nodes(value))
    own = {name for part in parts if part[0] == m.COMP for target, *_ in part[5] for name in nodes(target)}
    return {part for part in parts if part[0] == m.NAME and part not in own}


def _leads_on(frame: Frame, name: Expr) -> bool:
    """Whether a variable has something from which one may come to parameters."""
    value = frame.vars.get(name[1], ()) if name[0] == m.NAME else ()
    return value != () and not is_light(value)


def _is_an_optimizer(frame: Frame, name: str) -> bool:
    value = frame.vars.get(name, ())
    return value != () and all(type(atom) is Obj and atom.kind == "optimizer" for atom in value)


def _bound_by(frame: Frame, loop: Loop) -> set[Expr]:
    """What a loop binds that stands in this function, and all that its comprehensions bind."""
    bound: set[Expr] = set()
    for one in statements(frame.facts.body):
        if one[0] == m.FOR and one[1] == loop.site:
            bound.update(targets(one))
        parts = (part for part in expressions_of(one) if part[0] == m.COMP)
        bound.update(name for part in parts for target, *_ in part[5] for name in nodes(target))
    return bound


def _referred(machine: Machine, hook: Any) -> Iterator[Value]:
    """What a function refers to: variables around it, its own defaults, and what a partial gives it."""
    if type(hook) is Partial:
        yield from (*hook.args, *(value for _, value in hook.kwargs))
    elif type(hook) is Function:
        yield from (value for _, value in captured(hook))
        yield from (default_of(machine, hook, param) for param in hook.facts.params if param.default is not None)
