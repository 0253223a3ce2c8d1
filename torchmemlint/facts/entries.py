"""Where an abstract run starts: the module body, then every public function that nothing seen calls."""

from __future__ import annotations

from . import expressions as _expressions  # noqa: F401  registers what evaluates and executes
from . import knowledge
from . import statements as _statements  # noqa: F401
from .contexts import context_of_entry, is_dataset
from .functions import call_unseen
from .linking import Project
from .machine import Frame, Machine
from .model import FileFacts
from .relevance import worth_running
from .unknown import modules_by_use
from .values import ASSUMED, OFF, ON, Class, Function, Light, Mode, Obj

_ROUNDS = 2


def run(facts: FileFacts, path: str = "", project: Project | None = None) -> Machine:
    """Run everything in a file, with what it uses of the project; returns the machine with what it noted."""
    machine = Machine(facts, path, project)
    machine.used_as_modules = modules_by_use(facts)
    machine.stack.append(machine.module_frame)
    machine.grad = ON
    machine.block(machine.module_frame, facts.functions[0].body)
    machine.stack.pop()
    worth = worth_running(facts)
    _functions(machine, machine.module_frame, worth)
    for cls in [cls for cls in machine.home.classes.values() if isinstance(cls, Class)]:
        _methods(machine, cls, worth)
    return machine


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


def _templates(machine: Machine, cls: Class) -> list[Function]:
    """Methods that a class inherits from another file and that call what the class defines."""
    own = {name for entry in cls.mro if entry.frame.unit is machine.home for name in entry.facts.methods}
    found: dict[str, Function] = {}
    for entry in cls.mro:
        unit = entry.frame.unit
        if unit is machine.home:
            continue
        for name, index in entry.facts.methods.items():
            function = unit.facts.functions[index]
            if name in own or name in found or name == "__init__" or own.isdisjoint(function.calls):
                continue
            if not unit.is_worth_running(function):
                continue
            for member in entry.frame.vars.get(name, ()):
                if type(member) is Function and member.kind in ("", "class"):
                    found[name] = member
    return list(found.values())


def enter(machine: Machine, function: Function, receiver: object) -> None:
    """Run a function as code that is not seen would: again and again, with grad mode as the framework has it."""
    name = function.facts.name
    loop = machine.loop_at(machine.module_frame, ("entry", id(function.facts), id(receiver)), "call")
    loop.name = name
    outer = machine.loops, machine.grad
    machine.grad = _grad_of_entry(function, receiver)
    machine.context = context_of_entry(function, receiver)
    once = name in ("__init__", "setup", "build", "configure_optimizers", "main", "__post_init__", "prepare_data")
    machine.loops = () if once else (loop,)

    machine.begin_round(loop)

    def body() -> None:
        _, value = call_unseen(machine, function, receiver)
        machine.escape(value)
        machine.entered.update(atom.site for atom in value if type(atom) is Mode)

    machine.branch(machine.module_frame, [body, lambda: None], conditional=False)
    machine.loops, machine.grad = outer
    machine.context = None


def _grad_of_entry(function: Function, receiver: object) -> int:
    """The grad mode in which a framework runs a method of a class that derives from it."""
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return ASSUMED
    bases = (*receiver.cls.external, *(entry.facts.name for entry in receiver.cls.mro[1:]))
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
    again = ("__getitem__", "__iter__") if is_dataset(cls) else ()  # a loader's worker calls them as well
    wanted = [
        f for f in own if id(f.facts) in indices and (id(f.facts) not in machine.reached or f.facts.name in again)
    ]
    wanted += _templates(machine, cls)
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
            if function in entered or id(function.facts) not in machine.reached or function.facts.name in again:
                if function not in entered:
                    entered.append(function)
                given = None if function.kind == "static" else (cls if function.kind == "class" else receiver)
                if function.facts.name != "__init__" and not machine.exhausted:
                    enter(machine, function, given)
