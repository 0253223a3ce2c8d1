"""Methods that the file does not define: who answers a call, by the kind of the object."""

from __future__ import annotations

from ..facts import model as m
from ..facts.model import Site
from . import processes
from .containers import container_method
from .context_variables import KIND, variable_method
from .followed import owners
from .frames import Frame
from .hooks import call_hook, note_hook
from .machine import Machine
from .modules import module_method, state_of
from .stdlib import replaced
from .threads import run_in_thread, start
from .unknown import unknown_call
from .values import CONTAINERS, LIGHT, OFF, ON, UNKNOWN, Kwargs, Obj, Value

_STEP_HOOKS = ("register_step_pre_hook", "register_step_post_hook")  # which run in each later step


def call_object(
    machine: Machine, frame: Frame, obj: Obj, name: str, args: list[Value], kwargs: Kwargs, site: Site
) -> Value:
    """Call a method that the file does not define."""
    if name == "_replace" and obj.kind in ("tuple", "instance"):
        return replaced(machine, frame, [(obj,)], kwargs, site)
    if obj.kind in CONTAINERS or obj.kind in ("queue", "generator"):
        return container_method(machine, frame, obj, name, args, kwargs, site)
    if obj.kind == "module":
        return module_method(machine, frame, obj, name, args, kwargs, site)
    if obj.kind == "optimizer":
        if name == "add_param_group" and args:
            obj.fields["$of"] = (*obj.fields.get("$of", ()), *owners(machine, args[0]))
        if name in _STEP_HOOKS and args:
            note_hook(machine, frame, args[0], obj, site)
            call_hook(machine, frame, args[0], [(obj,), UNKNOWN, UNKNOWN], site, OFF)
        if name == "step":
            machine.trained.update(obj.fields.get("$of", ()))
            for loop in machine.loops:
                loop.steps = True
            if args or "closure" in kwargs:
                return _run_closure(machine, frame, args[0] if args else kwargs["closure"], site)
        return state_of(machine, frame, obj, site) if name == "state_dict" else LIGHT
    if obj.kind == "profiler":
        if name in ("start", "stop"):
            machine.note(
                "recording-on" if name == "start" else "recording-off", site, frame, ("profile", machine.conditions)
            )
        return LIGHT
    if obj.kind == "scheduler":
        return LIGHT
    if obj.kind == KIND:
        return variable_method(machine, obj, name, args)
    if obj.kind in ("pool", "mp-context", "delayed", "mp-manager"):
        return processes.call_object(machine, frame, obj, name, args, kwargs, site)
    if obj.kind == "future" and "$executed" in obj.fields:
        if name == "result":
            return machine.elements(frame, (obj,))
        if name == "add_done_callback" and args:  # which is given the future [docs: concurrent.futures]
            machine.call(frame, args[0], [(obj,)], {}, site)
            return LIGHT
    if obj.kind == "future" and "$remote" in obj.fields and processes.is_through_reference(frame, site):
        return processes.reference(machine, frame, site)
    if name == "start":
        start(machine, frame, obj, site)
    if obj.kind in ("thread", "executor"):
        return run_in_thread(machine, frame, obj, name, args, kwargs, site)
    return unknown_call(machine, frame, (m.ATTR, (m.NAME, "self"), name), args, kwargs, site, receiver=(obj,))


def _run_closure(machine: Machine, frame: Frame, closure: Value, site: Site) -> Value:
    """`optimizer.step(closure)` calls it at least once, with gradients recorded, and gives what it gave [measured]."""
    outer, machine.grad = machine.grad, ON
    loss = machine.call(frame, closure, [], {}, site)
    machine.grad = outer
    return loss
