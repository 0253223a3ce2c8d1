"""What stands for values whose origin is not seen: evidence of use and names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Expr, FileFacts
from ..facts.model_names import names_model
from ..facts.walk import root_of, statements
from .arguments import argument
from .frames import Frame, Loop
from .machine import Machine
from .module_classes import is_module
from .values import ATTACHED, FREE, MAYBE, OFF, UNKNOWN, Class, Obj, Tensor, Value

_OF_MODELS = frozenset(("train", "to", "cuda", "state_dict", "load_state_dict", "zero_grad"))
_LISTS = frozenset(("builtins.list", "collections.deque", "collections.UserList"))
_LOADED = frozenset(("state_dict", "load_state_dict"))


def from_uses(machine: Machine, frame: Frame, ident: Any, uses: Collection[str], name: str) -> Value:
    """What a value must be, by the methods that the code calls on it and, weakest, by its name."""
    used = set(uses)
    if "step" in used and ("zero_grad" in used or "param_groups" in used):
        return (machine.allocate(frame, ident, "optimizer"),)
    if _is_module(used):
        return (imagined_module(machine, frame, ident, 2),)
    if used & _LOADED and "step" not in used and any(name in one.calls for one in machine.facts.functions):
        return (imagined_module(machine, frame, ident, 2),)  # an optimizer cannot be called
    if "backward" in used and machine.grad != OFF and "loss" in name:
        return (Tensor(ATTACHED, 2, machine.derivation.node((), ("differentiated", 0, "")), "scalar"),)
    if used & {"append", "extend", "appendleft"} and used.isdisjoint(knowledge.NOT_OF_LISTS):
        return (_imagined(machine, frame, ident, "list"),)
    if "manager" in name.lower() and used & {"dict", "list", "Namespace"}:
        return (machine.allocate(frame, ident, "mp-manager"),)
    if names_model(name):
        return (imagined_module(machine, frame, ident, 1 + is_module_by_use(used, name)),)
    return UNKNOWN


def _imagined(machine: Machine, frame: Frame, ident: Any, kind: str) -> Obj:
    obj = machine.allocate(frame, ident, kind)
    obj.unknown = True
    return obj


def imagined_module(machine: Machine, frame: Frame, ident: Any, weight: int) -> Obj:
    """A module that is made up for something whose origin is not seen."""
    obj = machine.allocate(frame, ident, "module", "?", weight)
    obj.unknown = True
    return obj


def imagine_attribute(machine: Machine, frame: Frame, obj: Obj, name: str) -> Value:
    """`self.name` that no code seen has set."""
    assert isinstance(obj.cls, Class)
    if name in ("training", "device", "dtype", "args", "config", "cfg", "hparams", "logger", "trainer"):
        return UNKNOWN
    if name == "state" and any(base.endswith(".Optimizer") for base in obj.cls.external):
        state = _imagined(machine, machine.module_frame, ("attribute", obj.serial, name), "dict")
        state.birth, state.home = obj.birth, (obj, name)  # made by the base class [docs: torch.optim.Optimizer]
        machine.put(obj.fields, name, (state,))
        return (state,)
    uses: set[str] = set()
    items: set[str] = set()
    for entry in obj.cls.mro:
        uses.update(entry.facts.uses.get(name, ()))
        items.update(entry.facts.uses.get(name + "[]", ()))
    value = from_uses(machine, machine.module_frame, ("attribute", obj.serial, name), uses, name)
    if any(type(atom) is Obj and atom.kind == "list" for atom in value) and _is_of_a_class(machine, obj.cls, name):
        return UNKNOWN  # whose `append` is not a list's
    named = any(type(atom) is Obj and atom.kind == "module" and atom.weight == 1 for atom in value)
    if named and _is_of_no_module(machine, obj.cls, name):
        return UNKNOWN  # a description of one: `self.model: Space = model`
    for atom in value:
        if type(atom) is Obj and atom.kind == "module" and obj.kind == "module":
            atom.weight = 2  # what a module has under a model's name is a module
    if not value and (items & {"eval", "parameters"}):
        holder = _imagined(machine, machine.module_frame, ("attribute", obj.serial, name), "dict")
        module = imagined_module(machine, machine.module_frame, ("element", obj.serial, name), 2)
        module.home = (holder, "*")
        holder.fields["*"] = (module,)
        value = (holder,)
    for atom in value:
        if type(atom) is Obj:
            atom.birth = obj.birth
            atom.home = atom.home or (obj, name)
    if value:
        machine.put(obj.fields, name, value)
    return value


def _is_of_a_class(machine: Machine, cls: Class, name: str) -> bool:
    """Whether an attribute is of a class of the project that is no list, in the words of methods that were not run."""
    return any(
        type(atom) is Class and _LISTS.isdisjoint(atom.external)
        for entry in cls.mro
        for said in _classes_of(entry, name)
        for atom in machine.eval(entry.frame, said)
    )


def _is_of_no_module(machine: Machine, cls: Class, name: str) -> bool:
    """Whether an attribute is of a class of the project that is no module, in the same words."""
    said = [atom for entry in cls.mro for one in _classes_of(entry, name) for atom in machine.eval(entry.frame, one)]
    return bool(said) and all(type(atom) is Class and not is_module(atom) for atom in said)


def _classes_of(cls: Class, name: str) -> Iterator[Expr]:
    """`Rows` of `rows: Rows` in the body of a class, and of `self.rows = Rows(8)` in one of its methods."""
    functions = cls.frame.unit.facts.functions
    for index in (cls.facts.body, *cls.facts.methods.values()):
        place: Expr = (m.NAME, name) if index == cls.facts.body else (m.ATTR, (m.NAME, "self"), name)
        for one in statements(functions[index].body):
            if one[0] == m.ANNOTATE and one[2] == place:
                yield one[3]
            elif one[0] == m.ASSIGN and place in one[2] and one[3][0] == m.CALL:
                yield one[3][2]


def modules_by_use(facts: FileFacts) -> set[str]:
    """The names that a file uses as modules: `net.eval()`, `net.parameters()`."""
    return {
        name
        for function in facts.functions
        for name, uses in function.uses.items()
        if _is_module(set(uses)) and name not in ("self", "cls")
    }


def _is_module(used: set[str]) -> bool:
    evidence = used & knowledge.MODULE_EVIDENCE or "eval" in used or {"train", "state_dict"} <= used
    return bool(evidence) and "step" not in used


def is_module_by_use(uses: Collection[str], name: str) -> bool:
    """Whether the methods that are called on a name say that it is a module: a model's name leaves less open."""
    return _is_module(set(uses)) or (names_model(name) and not _OF_MODELS.isdisjoint(uses))


def imagine_name(machine: Machine, frame: Frame, name: str) -> Value:
    """A name whose value is not seen and that is used as a module, here or in another function."""
    scope: Frame | None = frame.outer.get(name, frame)
    while scope is not None and name not in scope.vars:
        scope = scope.parent
    owner = scope or machine.module_frame
    module = imagined_module(machine, owner, ("name", name), 2)
    module.birth = _birth_of(owner, name)
    module.home = module.home or (owner, name)
    machine.put(owner.vars, name, (module,))
    return (module,)


def _birth_of(frame: Frame, name: str) -> tuple[Loop, ...]:
    """The loops that ran when a variable got its value. What a parameter is given as a part of something,
    `Probe(model.layer4)`, is as old as that, whoever called."""
    while frame.caller is not None:
        given = argument(frame, name)
        root = root_of(given) if given is not None else ()
        if root[:1] != (m.NAME,) or root[1] not in frame.caller.births:
            break
        frame, name = frame.caller, root[1]
    return frame.births.get(name, ())


def imagine_element(machine: Machine, frame: Frame, container: Expr) -> Value:
    """`self.models[key]` of which nothing is seen but that its elements are used as modules."""
    uses: set[str] = set()
    if container[0] == m.NAME:
        uses.update(frame.facts.uses.get(container[1] + "[]", ()))
    elif container[0] == m.ATTR and container[1] == (m.NAME, "self"):
        for owner in machine.look_up(frame, "self") or ():
            if type(owner) is Obj and isinstance(owner.cls, Class):
                for entry in owner.cls.mro:
                    uses.update(entry.facts.uses.get(container[2] + "[]", ()))
    if not uses & {"eval", "parameters", "named_parameters"}:
        return UNKNOWN
    module = imagined_module(machine, machine.module_frame, ("element", container[-1]), 2)
    for holder in machine.eval(frame, container):
        if type(holder) is Obj:
            module.home = module.home or (holder, "*")
            machine.put(holder.fields, "*", machine.join(holder.fields.get("*", UNKNOWN), (module,)))
    return (module,)


def parameter(machine: Machine, frame: Frame, name: str) -> Value:
    """A parameter whose arguments are not seen and which has no annotation."""
    uses = frame.facts.uses.get(name, ())
    value = from_uses(machine, frame, ("parameter", name), uses, name)
    if value:
        return value
    items = set(frame.facts.uses.get(name + "[]", ()))
    if items & {"eval", "parameters"}:
        holder = _imagined(machine, frame, ("parameter", name), "dict")
        module = imagined_module(machine, frame, ("element", name), 2)
        holder.fields["*"] = (module,)
        return (holder,)
    if name == "outputs" and frame.name in knowledge.LIGHTNING_GRAD_OFF and frame.name.endswith("_batch_end"):
        return (Tensor(FREE, 2, machine.derivation.node(), "", True),)  # as the step gave it
    if name in ("batch", "inputs", "input", "images", "image", "data"):
        given = name == "batch" and frame.name.endswith(knowledge.STEP_HOOKS)  # by its contract, what a loader gives
        return (Tensor(MAYBE, 1 + given, machine.derivation.node(), "", True),)
    return UNKNOWN
