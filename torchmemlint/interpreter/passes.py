"""Passes of modules: in which mode and in which loops one runs."""

from __future__ import annotations

from typing import Any

from ..facts import model as m
from ..facts.model import Site
from ..facts.walk import calls_of, in_loops
from .events import ModuleCall
from .frames import Frame
from .machine import Machine
from .values import ATTACHED, LEAF, OFF, ON, UNKNOWN, Const, Obj, Value, constant


def record_module_call(
    machine: Machine,
    frame: Frame,
    obj: Obj,
    node: int,
    site: Site,
    args: list[Value],
    weight: int,
    through: bool = False,
) -> None:
    if machine.module_depth or machine.in_hook:
        if machine.grad != OFF:
            machine.inner_runs.append((obj, node))
        return
    note_run(machine)
    attached = tuple(t.node for value in args for t in machine.reach(value, 2) if t.graph in (ATTACHED, LEAF))
    machine.module_calls.append(
        ModuleCall(
            site, frame.trail(), obj, node, in_eval_mode(obj), machine.loops, frame,
            tuple(machine.stack), machine.grad, attached, weight, bool(machine.threads), through,
            any(t.weight > 1 for value in args for t in machine.reach(value, 2)),
            0 <= machine.generating < len(machine.loops),
        )
    )  # fmt: skip


def note_run(machine: Machine) -> None:
    """A model runs, with gradients recorded, in each of these loops."""
    if not machine.module_depth and machine.grad != OFF:
        if machine.turned_on is not None and machine.grad == ON:
            machine.note("mode-left-on", *machine.turned_on)
        for loop in machine.loops:
            loop.runs = True


def goes_in_rounds(method: Any) -> bool:
    """Whether a module's method runs the whole module again and again, in a loop or by a function that it hands on, as
    `generate` does for each token: then it makes passes, and is none itself."""
    facts = method.facts
    if any("self" in method.frame.unit.facts.functions[index].calls for index in facts.inner):
        return True
    return "self" in facts.calls and any(
        looped and any(call[2] == (m.NAME, "self") for call in calls_of(statement))
        for statement, looped in in_loops(facts.body)
    )


def put_in_mode(machine: Machine, obj: Obj, training: bool | None) -> None:
    """Note what mode a module is in now; None if it depends."""
    obj.weight = max(obj.weight, 2)  # whatever its name: it has a mode
    machine.put(obj.fields, "$mode", UNKNOWN if training is None else (Const("train" if training else "eval"),))


def in_eval_mode(obj: Obj) -> bool:
    return _marked(obj, "$mode", "eval")


def frozen(obj: Obj) -> bool:
    return _marked(obj, "$frozen", True)


def runs_frozen(machine: Machine, obj: Obj) -> bool:
    """Whether what runs is frozen, or runs in the pass of a module that is: it is a part of that one, wherever it was
    put while both were made."""
    if not machine.freezes:
        return False
    if frozen(obj):
        return True
    for frame in reversed(machine.stack):
        owner = frame.receiver
        if type(owner) is not Obj or owner.kind != "module":
            return False
        if frozen(owner):
            return True
    return False


def _marked(obj: Obj, key: str, wanted: Any) -> bool:
    """Whether a module, or one that it is part of, was last put in this state."""
    for holder in obj.holders:
        mark = constant(holder.fields.get(key, UNKNOWN)) if isinstance(holder, Obj) else ...
        if mark is not ...:
            return bool(mark == wanted)
    return False
