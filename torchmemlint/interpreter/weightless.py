"""Modules of the project without parameters, by their text: a metric, an estimator, a transform. What one computes has
a graph only if what it is given has one."""

from __future__ import annotations

from collections.abc import Iterable

from ..facts import model as m
from ..facts.knowledge import BUILTINS, LIGHT_ROOTS, PARAMETERLESS
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.walk import calls_of, last_name, root_of, statements
from .imagined import is_module_by_use
from .linking import Unit
from .machine import Machine
from .module_classes import is_module
from .values import CONTAINERS, Bound, Class, External, Function, Obj, Value
from .written_parts import PLAIN_BASES

_MAKE_NONE = (BUILTINS | LIGHT_ROOTS | {"super"}) - {"eval", "getattr", "globals", "locals", "map", "next", "type"}
_REGISTERING = frozenset(("Parameter", "register_parameter", "add_module", "register_module", "setattr"))
_COMPUTE = ("torch.nn.functional.", "torch.fft.", "torch.linalg.", "torch.autograd.Variable")
_GIVE_ANY = frozenset(("load", "compile"))
_LOSSES = ("torch.nn.modules.loss._Loss", "torch.nn.modules.loss._WeightedLoss")
_DEEPEST = 3  # functions, and classes of parts


def has_no_weights(machine: Machine, obj: Obj, args: Iterable[Value]) -> bool:
    """Whether no method of a module makes a part, it was made with settings alone, and it is given none to run."""
    cls = obj.cls
    if type(cls) is not Class or obj.unknown or obj.is_put_off or "$settings" not in obj.fields:
        return False
    for atom in (atom for value in args for atom in value):
        if type(atom) in (Function, Bound, Class) or (type(atom) is Obj and atom.kind not in CONTAINERS):
            return False
    if cls.weightless is None:
        cls.weightless = False  # meanwhile, for one that makes others of itself
        cls.weightless = _is_weightless(machine, cls, _DEEPEST)
    return cls.weightless


def _is_weightless(machine: Machine, cls: Class, depth: int) -> bool:
    if not all(base.startswith(PLAIN_BASES) or base in _LOSSES for base in cls.external):
        return False
    for entry in cls.mro:
        unit = entry.frame.unit
        for index in entry.facts.methods.values():
            if not _brings_none(machine, unit, unit.facts.functions[index], depth):
                return False
    return all(
        _makes_none(machine, entry.frame.unit, one, depth) for entry in cls.mro for one in entry.frame.facts.body
    )


def _brings_none(machine: Machine, unit: Unit, method: FunctionFacts, depth: int) -> bool:
    """Whether a method neither runs what it is given nor gives the object a part: `self.head = nn.Linear(8, 2)`."""
    given = {param.name for param in method.params if param.name != "self"}
    if any(is_module_by_use(method.uses.get(name, ()), name) for name in given):
        return False
    for statement in statements(method.body):
        for call in calls_of(statement):
            if last_name(call[2]) in _REGISTERING or (call[2][0] == m.NAME and call[2][1] in given):
                return False
        own = statement[0] == m.ASSIGN and any(root_of(target) == (m.NAME, "self") for target in statement[2])
        if own and not _makes_none(machine, unit, statement, depth):
            return False
    return True


def _makes_none(machine: Machine, unit: Unit, statement: Stmt, depth: int) -> bool:
    return all(_gives_none(machine, unit, call[2], depth) for call in calls_of(statement))


def _gives_none(machine: Machine, unit: Unit, callee: Expr, depth: int) -> bool:
    """Whether what is called makes nothing with parameters: `torch.ones`, `nn.AvgPool2d`, a helper that computes a
    window, a part of such a kind."""
    root = root_of(callee)
    if root[0] != m.NAME:
        return root[0] == m.CALL and _gives_none(machine, unit, root[2], depth)  # `torch.ones(8).view(2, 4)`
    if root[1] in ("self", "cls"):
        return callee != root
    if root[1] in _MAKE_NONE:
        return True
    found = machine.eval(unit.frame, callee)
    if not found:
        return callee != root  # a method of what the function has made, or was given
    return all(_is_none(machine, atom, depth) for atom in found)


def _is_none(machine: Machine, atom: object, depth: int) -> bool:
    if type(atom) is External:
        if atom.dotted.startswith(_COMPUTE) or atom.dotted.partition(".")[0] in LIGHT_ROOTS:
            return True
        tail = atom.dotted.rsplit(".", 1)[-1]
        if atom.dotted.startswith("torch.nn."):
            return tail in PARAMETERLESS or tail.endswith("Loss")
        return atom.dotted.startswith("torch.") and atom.dotted.count(".") == 1 and tail not in _GIVE_ANY
    if not depth:
        return False
    if type(atom) is Class:
        return is_module(atom) and _is_weightless(machine, atom, depth - 1)
    if type(atom) is not Function:
        return False
    unit = atom.frame.unit
    return all(_makes_none(machine, unit, one, depth - 1) for one in statements(atom.facts.body))
