"""Where an abstract run starts: the module body, then every public function that nothing seen calls."""

from __future__ import annotations

from collections.abc import Set

from ..facts import knowledge
from ..facts import model as m
from ..facts.answering import answers_requests
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.outline import Outline
from ..facts.served import set_up_by
from . import assignment, displays, elements, expressions, loops, statements  # noqa: F401  they register themselves
from .branching import begin_round, branch, loop_at, skip
from .contexts import Kept, context_of_entry, is_dataset
from .events import Store
from .frames import Frame
from .functions import call_unseen
from .imagined import modules_by_use
from .leading import bring, leading
from .linking import Project, Unit
from .machine import Machine
from .module_classes import is_pass
from .templates import filled, giving, templates
from .values import ASSUMED, ATTACHED, DEPENDS, OFF, ON, Class, Function, Light, Mode, Obj, Value

_ROUNDS = 3
_HAVE_TORCHMETRICS = ("torchmetrics.", "lightning.", "pytorch_lightning.")
_FEW = 7  # entries of a table that is not worth putting off


def run(outline: Outline, path: str = "", project: Project | None = None) -> Machine:
    """Run everything in a file, with what it uses of the project; returns the machine with what it noted."""
    machine = _begun(outline, path, project)
    worth = outline.worth
    classes = [cls for cls in machine.home.classes.values() if isinstance(cls, Class)]
    helpers = _functions(machine, machine.module_frame, worth)
    for cls in sorted(classes, key=lambda cls: cls.facts.name.startswith("_")):  # the file's own, after their makers
        _methods(machine, cls, worth)
    _unreached(machine, helpers + machine.routes)
    later = outline.releasing
    if later and (machine.stores or machine.plain):
        _unreached(machine, _functions(machine, machine.module_frame, later))
        keeping = _keeping(machine)
        for cls in classes:
            if any(id(entry) in keeping for entry in cls.mro):
                _methods(machine, cls, later)
    return machine


def run_led(outline: Outline, path: str, project: Project) -> Machine | None:
    """Run what the programs of other files do with a file, see leading.py; None if there are none."""
    items = any("__getitem__" in cls.methods for cls in outline.whole.classes)  # what a loader's workers do
    programs = project.leading(path) if outline.worth or items else []
    machine = _begun(outline, path, project) if programs else None
    led = leading(machine, programs) if machine is not None else []
    for unit, using in led:
        assert machine is not None
        if 0 in using:
            _script(machine, unit)
        classes = bring(machine, unit, using)
        helpers = _functions(machine, unit.frame, using)
        for cls in classes:
            _methods(machine, cls, using)
        _unreached(machine, helpers)
    return machine if led else None


def _begun(outline: Outline, path: str, project: Project | None) -> Machine:
    """A machine that has run the module's body."""
    machine = Machine(outline, path, project)
    machine.home.stars = outline.bindings[1]
    machine.used_as_modules = modules_by_use(outline.facts)
    machine.stack.append(machine.module_frame)
    machine.grad = ON
    machine.block(machine.module_frame, _without_tables(machine, outline))
    machine.stack.pop()
    return machine


def _script(machine: Machine, unit: Unit) -> None:
    """Run a module's body from its first statement to the last, as the program that it is."""
    unit.pending = {}
    machine.stack.append(unit.frame)
    machine.grad = ON
    machine.block(unit.frame, unit.outline.whole.functions[0].body)
    machine.stack.pop()


def _without_tables(machine: Machine, outline: Outline) -> list[Stmt]:
    """The module's body but for big tables of constants, which are made when somebody looks at them."""
    body = []
    pending, _ = outline.bindings
    for statement in outline.facts.functions[0].body:
        if statement[0] == m.ASSIGN and len(statement[2]) == 1 and statement[2][0][0] == m.NAME:
            name = statement[2][0][1]
            if _is_table(statement[3]) and len(pending[name]) == 1:
                machine.home.pending[name] = [statement]
                continue
        body.append(statement)
    return body


def _is_table(value: Expr) -> bool:
    """`{"a": Config(size=1), ...}`, or a call that is given one."""
    if value[0] == m.CALL and value[2][0] == m.NAME and len(value[3]) == 1 and not value[4]:
        value = value[3][0]
    return value[0] == m.DICT and len(value[2]) > _FEW and all(_is_entry(item) for _, item in value[2])


def _is_entry(value: Expr) -> bool:
    if value[0] == m.CALL:
        return value[2][0] == m.NAME and all(_is_entry(part) for part in (*value[3], *(item for _, item in value[4])))
    if value[0] == m.NEW:
        return all(_is_entry(item) for item in value[3])
    if value[0] == m.DICT:
        return all(key is not None and _is_entry(item) for key, item in value[2])
    return value[0] in (m.CONST, m.NAME, m.TEXT, m.UNARY)


def _keeping(machine: Machine) -> set[int]:
    """The classes, by identity, of objects that something was put into or noted of, and their bases."""
    objects: set[Obj] = {note.frame.receiver for note in machine.plain if isinstance(note.frame.receiver, Obj)}
    owners = [store.owner for store in machine.stores if _may_stay(store)]
    owners += [note.detail.owner for note in machine.plain if isinstance(note.detail, Kept)]
    for owner in owners:
        if isinstance(owner, Obj) and owner not in objects:
            objects.update(holder for holder in owner.holders if isinstance(holder, Obj))
    return {id(entry) for obj in objects if isinstance(obj.cls, Class) for entry in obj.cls.mro}


def _may_stay(store: Store) -> bool:
    """Whether a rule could speak of a store, unless something lets go of it."""
    if any(tensor.graph == ATTACHED for tensor in store.tensors):
        return True
    return store.how in ("grow", "keyed") and any(
        loop.kind in ("loop", "call") and loop not in store.birth for loop in store.loops
    )


def _functions(machine: Machine, frame: Frame, worth: set[int]) -> list[Function]:
    """Enter the functions of a file that nobody seen calls, and hand out those that methods call: they are for later,
    if these do not come to them, since a method may run its helper with gradients off."""
    facts = frame.unit.facts
    indices = {id(facts.functions[index]): index for index in worth}
    pending: dict[str, list[Function]] = {}
    for value in list(frame.vars.values()):
        for atom in value:
            if type(atom) is Function and id(atom.innermost.facts) in indices and atom.innermost.frame is frame:
                pending.setdefault(atom.innermost.facts.name, []).append(atom.innermost)
    callers = _callers(frame.unit, pending.keys())
    order: list[str] = []
    for name in sorted(pending, key=lambda name: bool(callers[name])):
        _put_callers_first(name, callers, order)
    of_methods: set[str] = set()
    for name in order:
        if any(one.owner >= 0 or one.name in of_methods for one in callers[name]):
            of_methods.add(name)
    _unreached(machine, [function for name in order if name not in of_methods for function in pending[name]])
    return [function for name in order if name in of_methods for function in pending[name]]


def _callers(unit: Unit, names: Set[str]) -> dict[str, list[FunctionFacts]]:
    """What calls each of these functions by its name alone; a call of a method may have the same last name."""
    found: dict[str, list[FunctionFacts]] = {name: [] for name in names}
    for function in unit.facts.functions[1:]:
        for name in names & set(function.calls):
            if name != function.name and name in unit.outline.named_in(function):
                found[name].append(function)
    return found


def _put_callers_first(name: str, callers: dict[str, list[FunctionFacts]], order: list[str]) -> None:
    waiting, begun = [name], set(order)
    while waiting:
        last = waiting[-1]
        above = [] if last in begun else [one.name for one in callers[last] if one.name in callers and one.owner < 0]
        begun.add(last)
        above = [other for other in above if other not in begun]
        if above:
            waiting += above
        elif waiting.pop() not in order:
            order.append(last)


def _unreached(machine: Machine, functions: list[Function]) -> None:
    for function in functions:
        if id(function.facts) not in machine.reached:
            enter(machine, function, None)


def enter(machine: Machine, function: Function, receiver: object) -> set[str]:
    """Run a function as code that is not seen would: again and again, with grad mode as the framework has it. Returns
    the attributes that have changed of what was there before, and "" if it was anything else."""
    name = function.facts.name
    loop = loop_at(machine, machine.module_frame, ("entry", id(function.facts), id(receiver)), "call")
    loop.name = name
    outer = machine.loops, machine.grad
    if machine.grad != OFF:  # which the module's body sets for the whole process
        machine.grad = _grad_of_entry(function, receiver)
    machine.context = context_of_entry(function, receiver)
    once = name in ("__init__", "setup", "build", "configure_optimizers", "main", "__post_init__", "prepare_data")
    once |= function.owner is not None and name in set_up_by(function.owner.facts)
    machine.loops = () if once else (loop,)

    begin_round(machine, loop)

    def body() -> None:
        _, value = call_unseen(machine, function, receiver)
        if _is_differentiated(function, receiver):
            machine.losses.update(machine.nodes(_loss_of(value), 1))
        if not _starts_the_program(function):
            machine.escape(tuple(atom for atom in value if atom is not receiver))  # whoever called has that anyway
        machine.entered.update(atom.site for atom in value if type(atom) is Mode)

    changed: set[str] = set()
    branch(machine, machine.module_frame, [body, skip], conditional=False, places=changed)
    machine.loops, machine.grad = outer
    machine.context = machine.turned_on = None
    return changed


def _is_differentiated(function: Function, receiver: object) -> bool:
    """Whether a framework back-propagates what a method returns [docs of Lightning; of transformers.Trainer]."""
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    bases = receiver.cls.base_names
    if function.facts.name == "training_step" and _is_driven_by_lightning(receiver.cls, bases):
        return True
    return function.facts.name == "compute_loss" and any(dotted.endswith("Trainer") for dotted in bases)


def _loss_of(value: Value) -> Value:
    """The loss of what a step returns: alone, first of a tuple, or in a dictionary."""
    found: list[object] = []
    for atom in value:
        table = atom.kind in ("tuple", "dict") if isinstance(atom, Obj) else False
        names = ("[0]", "[loss]", "*") if table and "[loss]" not in atom.fields else ("[0]", "[loss]")
        found += [one for name in names for one in atom.fields.get(name, ())] if table else [atom]
    return tuple(found)


def _starts_the_program(function: Function) -> bool:
    """Whether a function is called once, with gradients on, and nobody asks what it returns."""
    return function.facts.name == "main" and function.owner is None


def _grad_of_entry(function: Function, receiver: object) -> int:
    """The grad mode in which a framework runs a method of a class that derives from it."""
    if _starts_the_program(function) or answers_requests(function.facts):
        return ON  # a server calls it in a thread or task of its own
    if function.owner is not None and "torch.autograd.Function" in function.owner.external:
        return OFF  # [docs: Extending PyTorch, "forward"]: what it computes is not recorded
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return ASSUMED
    bases = receiver.cls.base_names
    if function.facts.name in knowledge.LIGHTNING_GRAD_OFF and _is_driven_by_lightning(receiver.cls, bases):
        return OFF
    if function.facts.name in ("update", "compute") and is_of_torchmetrics(receiver.cls):
        return OFF  # both are wrapped in set_grad_enabled(self._enable_grad), which is off
    if function.facts.name == "_forward" and any(dotted.endswith("Pipeline") for dotted in bases):
        return OFF  # [docs of transformers: `Pipeline.forward` runs `_forward` under `no_grad`]
    return grad_of_callers(receiver.cls, function.facts.name)


def grad_of_callers(cls: Class, name: str, depth: int = 4) -> int:
    """The grad mode in which the methods that a class inherits call this one, which it defines for them."""
    modes = set()
    for entry in cls.mro[1:] if depth and not is_pass(cls, name) else ():
        for caller, off in entry.frame.unit.outline.own_callers(entry.facts).get(name, ()):
            modes.add(OFF if off else grad_of_callers(cls, caller, depth - 1))
    if not modes:
        return ASSUMED
    return modes.pop() if len(modes) == 1 else DEPENDS  # training leads through it as well as evaluation


def _is_loss_of_trainer(cls: Class, function: Function) -> bool:
    """`compute_loss` of a class that derives from a Trainer, which is not seen [docs of transformers: Trainer]."""
    return function.facts.name == "compute_loss" and any(dotted.endswith("Trainer") for dotted in cls.external)


def _is_driven_by_lightning(cls: Class, bases: tuple[str, ...]) -> bool:
    """Whether a class derives from Lightning's, by name, or has the steps of one and a base that is not seen."""
    if any("ightning" in dotted for dotted in bases):
        return True
    steps = {name for entry in cls.mro for name in entry.facts.methods} & {"training_step", "validation_step"}
    return len(steps) == 2 and any(not dotted.startswith(("torch.", "builtins.")) for dotted in cls.external)


def is_of_torchmetrics(cls: Class) -> bool:
    """Whether a class derives from torchmetrics' `Metric`; those of other packages leave the grad mode alone."""
    if not any(dotted.endswith("Metric") for dotted in cls.base_names):
        return False
    if any(dotted.startswith(_HAVE_TORCHMETRICS) for dotted in cls.external):
        return True
    methods = [entry.frame.unit.facts.functions[i] for entry in cls.mro for i in entry.facts.methods.values()]
    return any("add_state" in method.calls for method in methods)


def _methods(machine: Machine, cls: Class, worth: set[int]) -> None:
    own = [
        atom.innermost
        for value in cls.members.values()
        for atom in value
        if type(atom) is Function and atom.innermost.frame is cls.frame and atom.kind != "setter"
    ]
    facts = cls.frame.unit.facts
    indices = {id(facts.functions[index]) for index in worth}
    again = {"__getitem__", "__iter__"} if is_dataset(cls) else set()  # a loader's worker calls them as well
    if "torch.autograd.Function" in cls.external:
        again = {"forward", "setup_context"}  # what a caller of the file applies it to may be unknown
    # a trainer calls it with gradients on, whatever those do who call it here
    again |= {f.facts.name for f in own if _is_loss_of_trainer(cls, f) and id(f.facts) not in machine.recorded}
    giving_on = giving(machine, cls, own)
    wanted = [
        f
        for f in own
        if (id(f.facts) in indices or f in giving_on) and (id(f.facts) not in machine.reached or f.facts.name in again)
    ]
    inherited = [f for f in filled(machine, cls, indices) if f not in wanted]
    again |= {f.facts.name for f in inherited}  # the base alone may have reached it
    wanted += templates(machine, cls) + inherited
    if wanted and (begin := set_up_by(cls.facts)):  # a server calls it before all else
        wanted = [f for f in own if f.facts.name in begin] + [f for f in wanted if f.facts.name not in begin]
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
    off = {f for f in wanted if _grad_of_entry(f, receiver) == OFF}  # first: what they call, nobody else may call
    wanted.sort(key=lambda f: (f.facts.name.startswith("_") and f not in off, f.facts.name in called))
    asked: dict[Function, set[str]] = {}  # the attributes that each has asked for
    changed: dict[Function, set[str]] = {}  # those that have changed since it began
    late: set[str] = set()  # the containers that the second round was the first to fill
    for number in range(_ROUNDS):
        for function in wanted:
            name = function.facts.name
            if number == 2 and late.isdisjoint(asked.get(function, ())):
                continue
            if function in asked:
                if "" not in changed[function] and asked[function].isdisjoint(changed[function]):
                    continue  # a second look would see what the first has seen
            elif (
                id(function.facts) in machine.reached
                and name not in again
                and (id(function.facts) in machine.recorded or not is_pass(cls, name))
            ):
                continue
            given = None if function.kind == "static" else (cls if function.kind == "class" else receiver)
            asked[function], changed[function] = set(), set()
            if name != "__init__" and not machine.is_over(function.frame.unit):
                machine.looked_at = asked[function]
                changes = enter(machine, function, given)
                if number == 1 and machine.first_filled:
                    late.add(machine.first_filled)
                for since in changed.values():
                    since |= changes
