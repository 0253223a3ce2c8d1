"""Where an abstract run starts: the module body, then every public function that nothing seen calls."""

from __future__ import annotations

from . import expressions as _expressions  # noqa: F401  registers what evaluates and executes
from . import knowledge
from . import model as m
from . import statements as _statements  # noqa: F401
from .functions import call_unseen
from .machine import Frame, Machine
from .model import FileFacts, FunctionFacts
from .unknown import modules_by_use
from .values import ASSUMED, OFF, ON, Class, Function, Light, Mode, Obj

# What makes a function worth a run of its own: it changes what others hold, or says how gradients are to be kept.
_SINKS = m.GROWS | m.KEEPS | m.BACKWARD | m.HOOKS | m.THREADS | m.RECORDS | m.DISCARDS | m.MODE | m.RELEASES | m.EVALUATES
# A graph that only locals keep matters while the function trains or evaluates, itself or through what it calls.
_DRIVES = m.BACKWARD | m.EVALUATES | m.MODE | m.HOOKS | m.THREADS
_ROUNDS = 2


def run(facts: FileFacts) -> Machine:
    """Run everything in a file; returns the machine with what it noted."""
    machine = Machine(facts)
    machine.used_as_modules = modules_by_use(facts)
    machine.stack.append(machine.module_frame)
    machine.grad = ON
    machine.block(machine.module_frame, facts.functions[0].body)
    machine.stack.pop()
    worth = _worth(facts)
    _functions(machine, machine.module_frame, worth)
    for cls in list(machine.classes.values()):
        _methods(machine, cls, worth)
    return machine


def _worth(facts: FileFacts) -> set[int]:
    """The functions that a rule could speak about: with a sink of their own, or calling one by that name."""
    worth = {i for i, function in enumerate(facts.functions) if function.flags & _SINKS or _evaluation(function)}
    driving = {i for i, function in enumerate(facts.functions) if function.flags & _DRIVES or _evaluation(function)}
    _add_callers(facts, driving)
    worth |= {i for i in driving if facts.functions[i].flags & m.LOCAL}
    _add_callers(facts, worth)
    return worth


def _add_callers(facts: FileFacts, chosen: set[int]) -> None:
    """Add all functions that call a chosen one by its name, or that it is defined in."""
    callers: dict[str, list[int]] = {}
    outer: dict[int, int] = {}
    for index, function in enumerate(facts.functions):
        for name in function.calls:
            callers.setdefault(name, []).append(index)
        for inner in function.inner:
            outer[inner] = index
    queue = list(chosen)
    while queue:
        index = queue.pop()
        found = callers.pop(facts.functions[index].name, [])
        if index in outer:
            found.append(outer[index])
        for caller in found:
            if caller not in chosen:
                chosen.add(caller)
                queue.append(caller)


def _evaluation(function: FunctionFacts) -> bool:
    name = function.name.lower()
    return any(word in name for word in knowledge.EVALUATION_WORDS) and bool(function.calls)


def _functions(machine: Machine, frame: Frame, worth: set[int]) -> None:
    indices = {id(machine.facts.functions[index]): index for index in worth}
    pending = [
        atom
        for value in list(frame.vars.values())
        for atom in value
        if type(atom) is Function and id(atom.facts) in indices and atom.frame is frame
    ]
    called = {name for function in machine.facts.functions for name in function.calls}
    pending.sort(key=lambda function: function.facts.name in called)  # callers before what they call
    for function in pending:
        if id(function.facts) not in machine.reached:
            enter(machine, function, None)


def enter(machine: Machine, function: Function, receiver: object) -> None:
    """Run a function as code that is not seen would: again and again, with grad mode as the framework has it."""
    name = function.facts.name
    loop = machine.loop_at(machine.module_frame, ("entry", id(function.facts), id(receiver)), "call")
    loop.name = name
    outer = machine.loops, machine.grad
    machine.grad = _grad_of_entry(function, receiver)
    once = name in ("__init__", "setup", "build", "configure_optimizers", "main", "__post_init__", "prepare_data")
    machine.loops = () if once else (loop,)

    machine.begin_round(loop)

    def body() -> None:
        _, value = call_unseen(machine, function, receiver)
        machine.escape(value)
        machine.entered.update(atom.site for atom in value if type(atom) is Mode)

    machine.branch(machine.module_frame, [body, lambda: None], conditional=False)
    machine.loops, machine.grad = outer


def _grad_of_entry(function: Function, receiver: object) -> int:
    """The grad mode in which a framework runs a method of a class that derives from it."""
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return ASSUMED
    bases = receiver.cls.external
    if function.facts.name in knowledge.LIGHTNING_GRAD_OFF and any("ightning" in dotted for dotted in bases):
        return OFF
    if function.facts.name in ("update", "compute") and any(dotted.endswith("Metric") for dotted in bases):
        return OFF  # torchmetrics wraps both in set_grad_enabled(self._enable_grad), which is off
    return ASSUMED


def _methods(machine: Machine, cls: Class, worth: set[int]) -> None:
    own = [
        function
        for value in cls.frame.vars.values()
        for function in value
        if type(function) is Function and function.frame is cls.frame and function.kind != "setter"
    ]
    indices = {id(machine.facts.functions[index]) for index in worth}
    wanted = [f for f in own if id(f.facts) in indices and id(f.facts) not in machine.reached]
    if not wanted:
        return
    if "torch.autograd.Function" in cls.external:
        for function in wanted:
            if function.facts.name in ("forward", "setup_context"):
                enter(machine, function, Light("ctx"))
        return
    reached = set(machine.reached)
    receiver = machine.instance_of(machine.module_frame, cls, "entry")[0]
    machine.reached = reached  # what the constructor alone reaches is called again by others
    called = {name for function in own for name in function.facts.calls}
    wanted.sort(key=lambda f: (f.facts.name.startswith("_"), f.facts.name in called))
    entered = []
    for _ in range(_ROUNDS):
        for function in wanted:
            if function in entered or id(function.facts) not in machine.reached:
                if function not in entered:
                    entered.append(function)
                given = None if function.kind == "static" else (cls if function.kind == "class" else receiver)
                if function.facts.name != "__init__" and not machine.exhausted:
                    enter(machine, function, given)
