"""Abstract execution of statements: what stands alone, ways out, branches, contexts, definitions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..facts import model as m
from ..facts.batches import is_part_of_a_batch
from ..facts.evaluating import says_no_grad
from ..facts.knowledge import GRAD_MODES, MODEL_NAMES
from ..facts.model import Expr, Site, Stmt
from ..facts.walk import last_name
from .assignment import assign
from .branching import branch, skip
from .calls import call_method
from .definitions import define_class, define_function
from .frames import JUMPED, NEVER_RUN, RETURNED, Frame
from .functions import call_function
from .linking import bind_again, import_name
from .machine import Machine, executes
from .narrowing import (
    holds_as_long_as_it_lives,
    narrow_attribute,
    narrow_mode,
    renews_what_is_there,
    sees_to_mode,
    truth,
    without_method,
)
from .values import (
    LIGHT,
    NOTHING,
    OFF,
    UNKNOWN,
    Caught,
    Class,
    External,
    Function,
    Mode,
    Obj,
    Opaque,
    Tensor,
    Value,
    is_light,
)

_COPIES = ("detach", "cpu", "cuda", "to", "float", "half", "double", "numpy", "clone", "contiguous")


@executes(m.EXPR)
def _expr(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, value = statement
    machine.bare = value[1] if value[0] == m.CALL else -1
    result = machine.eval(frame, value)
    if frame is machine.module_frame:
        machine.shown[site] = result
    if value[0] != m.CALL:
        return
    if len(result) == 1 and type(result[0]) is Mode:
        machine.note("mode-discarded", site, frame, result[0].grad)
    elif value[2][0] == m.ATTR and value[2][2] in _COPIES:
        _discarded(machine, frame, value, site)


def _discarded(machine: Machine, frame: Frame, call: Expr, site: Site) -> None:
    """A bare `x.detach()`, `x.detach().cpu()`: a note if `x` is a tensor for certain, and not called a module, which is
    moved in place."""
    methods: list[str] = []
    owner = call
    while owner[0] == m.CALL and owner[2][0] == m.ATTR and owner[2][2] in _COPIES:
        methods.append(owner[2][2])
        owner = owner[2][1]
    if owner[0] not in (m.NAME, m.ATTR) or owner[-1].rpartition("_")[2] in MODEL_NAMES:
        return
    receiver = machine.eval(frame, owner)
    of_tensors = not {"detach", "cpu"}.isdisjoint(methods)  # what a model gives has these methods if it is one
    sure = all(type(atom) is Tensor and atom.weight > 1 and (of_tensors or not atom.bundle) for atom in receiver)
    if (receiver and sure) or (not receiver and is_part_of_a_batch(frame.facts.body, owner)):
        machine.note("discarded", site, frame, ("().".join(reversed(methods)), owner[-1], bool(receiver)))


@executes(m.RETURN)
def _return(machine: Machine, frame: Frame, statement: Stmt) -> None:
    if statement[2] is not None:
        value = machine.eval(frame, statement[2])
        if not is_light(value):
            frame.returned_at = statement[1]
        frame.returns = machine.join(frame.returns, value)
    else:
        frame.returns = machine.join(frame.returns, NOTHING)
    frame.dead = RETURNED


@executes(m.RAISE)
def _raise(machine: Machine, frame: Frame, statement: Stmt) -> None:
    if statement[2] is not None:
        machine.eval(frame, statement[2])
    frame.dead = RETURNED


@executes(m.JUMP)
def _jump(machine: Machine, frame: Frame, statement: Stmt) -> None:
    frame.dead = JUMPED


@executes(m.ASSERT)
def _assert(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, narrowing, _ = truth(machine, frame, statement[2])
    for place, value in narrowing.items():
        if value:
            machine.put(frame.vars, place, value)
    narrow_mode(machine, frame, statement[2], True)


# -- branches -------------------------------------------------------------------------------------


@executes(m.IF)
def _if(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, _site, test, body, orelse = statement
    known, positive, negative = truth(machine, frame, test)
    if known is True:
        machine.block(frame, body)
        return
    if known is False:
        machine.block(frame, orelse)
        return

    if not orelse and len(body) == 1 and _only_leaves(machine, frame, body[0], positive, negative):
        return

    def arm(outcome: bool, narrowing: dict[str, Value], statements: tuple[Stmt, ...]) -> None:
        narrow_attribute(machine, frame, test, outcome)
        for name, value in narrowing.items():
            if not value:
                frame.dead = NEVER_RUN
                return
            machine.put(frame.vars, name, value)
        machine.block(frame, statements)

    holds = holds_as_long_as_it_lives(machine, frame, test) or (not orelse and renews_what_is_there(test, body))
    otherwise = functools.partial(arm, False, negative, orelse) if orelse or negative else skip
    if not orelse and sees_to_mode(test, body):
        otherwise = functools.partial(narrow_mode, machine, frame, test, False)
    branch(
        machine,
        frame,
        [functools.partial(arm, True, positive, body), otherwise],
        conditional=not holds,
    )


def _only_leaves(
    machine: Machine, frame: Frame, way_out: Stmt, positive: dict[str, Value], negative: dict[str, Value]
) -> bool:
    """An arm that does nothing but leave, `if x is None: return None`, has nothing to be joined with: what is known of
    names after it is done here, if it is such an arm."""
    op = way_out[0]
    if not (all(positive.values()) and all(negative.values())):
        return False  # one of the two is never run
    if op == m.JUMP:
        return True  # what comes after the loop is reached either way
    if op == m.RETURN and (way_out[2] is None or way_out[2][0] == m.CONST):
        _return(machine, frame, way_out)
        frame.dead = 0
    elif op != m.RAISE or machine.tried:  # an exception may have been made of another one
        return False
    for name, value in negative.items():
        machine.put(frame.vars, name, value)
    return True


@executes(m.TRY)
def _try(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, body, handlers, orelse, final = statement

    def normal() -> None:
        machine.block(frame, body)
        if not frame.dead:
            machine.block(frame, orelse)

    def handle(caught: Expr | None, name: str | None, statements: tuple[Stmt, ...]) -> None:
        if name is not None:
            machine.tried[site] = statement
            machine.put(frame.vars, name, (Caught(site, frame),))
        for subject, rest in without_method(machine, frame, body, caught).items():
            if not rest:
                frame.dead = NEVER_RUN
                return
            machine.put(frame.vars, subject, rest)
        outer, frame.handles = frame.handles, statement
        machine.block(frame, statements)
        frame.handles = outer

    if handlers:
        arms: list[Callable[[], None]] = [
            normal,
            *(functools.partial(handle, caught, name, code) for caught, name, code in handlers),
        ]
        branch(machine, frame, arms, conditional=False)
    else:
        normal()
    if final:
        dead, frame.dead = frame.dead, 0
        machine.block(frame, final)
        frame.dead = frame.dead or dead


# -- contexts -------------------------------------------------------------------------------------


@executes(m.WITH)
def _with(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, site, items, body = statement
    _enter(machine, frame, list(items), body, site)


def _enter(machine: Machine, frame: Frame, items: list[Any], body: tuple[Stmt, ...], site: Site) -> None:
    if not items:
        machine.block(frame, body)
        return
    context, target = items[0]
    value = machine.eval(frame, context)
    if context[0] in (m.ATTR, m.NAME) and value and type(value[0]) is External:
        tail = value[0].dotted.rsplit(".", 1)[-1]
        if value[0].dotted.startswith("torch") and tail in GRAD_MODES:
            machine.note("mode-not-called", site, frame, tail)

    if not value or type(value[0]) is Opaque:
        value = _mode_by_name(context, site)

    def inside(entered: Value) -> None:
        machine.site = machine.statement = site
        if target is not None:
            assign(machine, frame, target, entered, site)
        _enter(machine, frame, items[1:], body, site)

    _enter_context(machine, frame, value, inside, site, body)


def _mode_by_name(context: Expr, site: Site) -> Value:
    """A context of other code whose name says that it evaluates, like MONAI's `eval_mode`: it may turn
    gradients off, and does in the projects that have one."""
    name = last_name(context)
    return (Mode(OFF, site, name),) if says_no_grad(name) else UNKNOWN


def _enter_context(
    machine: Machine,
    frame: Frame,
    value: Value,
    inside: Callable[[Value], None],
    site: Site,
    body: tuple[Stmt, ...],
) -> None:
    """Run what stands in a `with` between the enter and the exit of its context."""
    for atom in value:
        if type(atom) is Mode:
            machine.entered.add(atom.site)
            outer, machine.grad = machine.grad, atom.grad
            inside(LIGHT)
            machine.grad, machine.turned_on = outer, None
            return
        if type(atom) is Obj and atom.kind == "manager":
            _enter_generator(machine, frame, atom, inside, site)
            return
        if type(atom) is Obj and isinstance(atom.cls, Class) and atom.cls.find("__enter__") is not None:
            outer = machine.grad
            entered = call_method(machine, frame, atom, "__enter__", [], {}, site)
            inside(entered)
            given = [LIGHT, _raised_inside(machine, frame, atom.cls, site, body), LIGHT]
            _leave(machine, frame, atom, "__exit__", given, site)
            machine.grad = outer
            return
        if type(atom) is Obj and atom.kind == "context":
            inside(atom.fields["$entered"])
            for held in atom.fields["$entered"] if "$closes" in atom.fields else ():
                if type(held) is Obj and isinstance(held.cls, Class):
                    _leave(machine, frame, held, "close", [], site)
            return
    outer = machine.grad
    inside(value if value and type(value[0]) is Obj else UNKNOWN)
    for atom in value:
        if type(atom) is Obj and "$stack" in atom.fields:
            machine.grad = outer
            call_method(machine, frame, atom, "close", [], {}, site)


def _enter_generator(machine: Machine, frame: Frame, manager: Obj, inside: Callable[[Value], None], site: Site) -> None:
    """Run what stands in a `with` where its generator yields; or after all that there was time for."""
    function, receiver, args, kwargs = manager.fields["$call"][0]
    reached: list[Value] = []

    def at_yield(entered: Value) -> None:
        reached.append(entered)
        inside(entered)

    call_function(machine, frame, function, receiver, args, kwargs, site, on_yield=at_yield)
    if not reached and not frame.dead:
        inside(UNKNOWN)


def _leave(machine: Machine, frame: Frame, atom: Obj, method: str, args: list[Value], site: Site) -> None:
    """What a context does at its end, also where nothing goes on after it."""
    dead, frame.dead = frame.dead, 0
    call_method(machine, frame, atom, method, args, {}, site)
    frame.dead = dead


def _raised_inside(machine: Machine, frame: Frame, cls: Class, site: Site, body: tuple[Stmt, ...]) -> Value:
    """What a block of this file may have raised, where the context's class is of another file and may keep it: of one
    of this file the text shows that."""
    leaves = next((one for one in cls.find("__exit__") or () if type(one) is Function), None)
    if leaves is None or leaves.frame.unit is machine.home or frame.unit is not machine.home:
        return LIGHT
    if len(leaves.facts.params) < 3 or not leaves.facts.flags & (m.GROWS | m.KEEPS):
        return LIGHT
    machine.tried.setdefault(site, (m.TRY, site, body, (), (), ()))
    return (*NOTHING, machine.caught(frame, site))


# -- definitions ----------------------------------------------------------------------------------


@executes(m.DEF)
def _def(machine: Machine, frame: Frame, statement: Stmt) -> None:
    facts = frame.unit.facts.functions[statement[2]]
    machine.put(frame.vars, facts.name, define_function(machine, frame, facts))


@executes(m.CLASS)
def _class(machine: Machine, frame: Frame, statement: Stmt) -> None:
    facts = frame.unit.facts.classes[statement[2]]
    machine.put(frame.vars, facts.name, define_class(machine, frame, statement[2], facts))


@executes(m.IMPORT)
def _import(machine: Machine, frame: Frame, statement: Stmt) -> None:
    for local, dotted in statement[2]:
        machine.put(frame.vars, local, import_name(machine, frame, 0, dotted, ""))


@executes(m.FROM)
def _from(machine: Machine, frame: Frame, statement: Stmt) -> None:
    _, _, level, module, names = statement
    for name, local in names:
        if name != "*":
            machine.put(frame.vars, local, import_name(machine, frame, level, module, name))
        elif frame is machine.module_frame:
            bind_again(machine, frame, (level, module))


@executes(m.GLOBAL)
def _global(machine: Machine, frame: Frame, statement: Stmt) -> None:
    for name in statement[2]:
        frame.outer[name] = frame.unit.frame


@executes(m.NONLOCAL)
def _nonlocal(machine: Machine, frame: Frame, statement: Stmt) -> None:
    for name in statement[2]:
        scope = frame.parent
        while scope is not None and name not in scope.vars:
            scope = scope.parent
        if scope is not None:
            frame.outer[name] = scope
