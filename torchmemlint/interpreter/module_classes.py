"""What is known of a module class without running it: whether it is one, and whether its constructor or its passes do
anything that a rule could speak about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..facts import knowledge
from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.program import expressions
from ..facts.walk import calls, last_name, nodes, once, statements
from .linking import Unit
from .machine import Machine
from .values import Bound, Class, Function, Obj, Value

# Methods of modules that prepare them, or give and take what they have.
_PREPARING = (
    *knowledge.PREPARES, "__init__", "load_", "_load", "state_dict", "_save", "__setstate__", "get_", "_get_",
)  # fmt: skip
_CUTS = frozenset(("detach", "data", "item", "tolist", "numpy"))
PLAIN_BASES = frozenset(("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"))


def is_module(cls: Class) -> bool:
    """Whether a class of the file is an nn.Module, by its bases or, where these are not seen, by its `forward`."""
    for dotted in cls.external:
        if dotted.startswith(("torch.autograd.", "torch.backends.")):
            return False
        if dotted.startswith("torch.nn.") or dotted.endswith(("Module", "PreTrainedModel")):
            return True
    if PLAIN_BASES.issuperset(cls.external):
        return False
    made = cls.find("__init__") or ()
    registers = any(type(member) is Function and _registers(member.facts.body) for member in made)
    return registers or cls.find("forward") is not None


def is_pass(cls: Class, name: str) -> bool:
    """Whether a method is the pass of a module, which others run as `module(x)`, whatever its own methods do with it:
    `with torch.no_grad(): self.forward(x)`."""
    return name == "forward" and is_module(cls) and cls.find("__call__") is None


def _has_parameters(block: tuple[Stmt, ...]) -> bool:
    """`self.scale = nn.Parameter(...)`, `self.blocks = ModuleList(...)`: in a constructor, for a module to register."""
    return any(
        one[0] == m.ASSIGN
        and one[3][0] == m.CALL
        and last_name(one[3][2]) in ("Parameter", "ModuleList", "ModuleDict")
        and any(target[:2] == (m.ATTR, (m.NAME, "self")) for target in one[2])
        for one in statements(block)
    )


_registers = once(_has_parameters)


def is_dull(machine: Machine, cls: Class) -> bool:
    """Whether a module class of another file does nothing that a rule could speak about: what it computes is known
    without running it."""
    known = cls.dull
    if known is None:
        known = cls.frame.unit is not machine.home and is_module(cls)
        known = known and all(name.startswith(_PREPARING) for _, name, _ in _worth(cls))
        passes = [one for one in cls.find("forward") or () if type(one) is Function] if known else []
        known = known and not any(one.grad is not None or _lets_go(cls, one) for one in passes)
        known = known and not _freezes_itself(cls) and not _calls_back(cls, passes)
        known = known and not _keeps_elsewhere(machine, cls)
        cls.dull = known
    return known


def given_loud_parts(machine: Machine, given: Iterable[Value], depth: int = 3) -> bool:
    """Whether a constructor is given a module of the project that is not dull, alone or in a container: then the passes
    of the whole are not, either."""
    for atom in (atom for value in given for atom in value if type(atom) is Obj):
        if atom.kind == "module" and type(atom.cls) is Class:
            loud = _is_loud(machine, atom.cls)
        else:
            inside = depth and atom.kind in ("module", "list", "tuple", "dict") and not atom.is_put_off
            loud = bool(inside) and given_loud_parts(machine, atom.fields.values(), depth - 1)
        if loud:
            return True
    return False


def _is_loud(machine: Machine, cls: Class) -> bool:
    known = cls.loud
    if known is None:
        known = any(not name.startswith(_PREPARING) for _, name, _ in _worth(cls)) or _keeps_elsewhere(machine, cls)
        cls.loud = known
    return known


def _lets_go(cls: Class, function: Function) -> bool:
    """`return self.net(x).detach()`, or `return self.infer(x)` of a method that sees to the gradients itself."""
    for one in statements(function.facts.body):
        if one[0] != m.RETURN or not one[2]:
            continue
        if "detach" in function.facts.calls and any(
            part[:1] + part[2:] == (m.ATTR, "detach") for part in nodes(one[2])
        ):
            return True
        given = one[2][2] if one[2][0] == m.CALL else one[2]
        own = cls.find(given[2]) if given[:2] == (m.ATTR, (m.NAME, "self")) else None
        if any(type(member) is Function and member.grad is not None for member in own or ()):
            return True
    return False


def gives_cut(cls: Class) -> bool:
    """Whether all that the pass of a module returns is off its graph: `return self.net(x).detach().squeeze()`."""
    passes = [one.facts for one in cls.find("forward") or () if type(one) is Function]
    given = [one[2] for facts in passes for one in statements(facts.body) if one[0] == m.RETURN]
    return bool(given) and all(value is not None and _is_cut(value) for value in given)


def _is_cut(value: Expr) -> bool:
    if value[0] == m.NEW and value[3]:
        return all(map(_is_cut, value[3]))
    while value[0] in (m.CALL, m.ATTR):
        if value[0] == m.ATTR and value[2] in _CUTS:
            return True
        value = value[2] if value[0] == m.CALL else value[1]
    return False


def _keeps_elsewhere(machine: Machine, cls: Class) -> bool:
    """Whether a pass of the class, or of a part that it makes, calls something of a third file that may keep what it
    is given: `losses.save(aux)`."""
    for entry in cls.mro:
        unit = entry.frame.unit
        effects = unit.outline.calls_for_effect
        called = (one for index, one in effects.items() if unit.classes.get(index) is entry)
        for callee in (callee for one in called for callee in one):
            for atom in machine.eval(unit.frame, callee):
                found = atom.function if type(atom) is Bound else atom
                if type(found) is Function and found.frame.unit.is_worth_running(found.facts):
                    return True
    return False


def _freezes_itself(cls: Class) -> bool:
    """Whether a constructor says which parameters require gradients: what they compute may have no graph."""
    return any(
        node[0] == m.ATTR and node[2] in ("requires_grad", "requires_grad_")
        for member in cls.find("__init__") or ()
        if type(member) is Function
        for node in expressions(member.facts.body)
    )


def _calls_back(cls: Class, passes: list[Function]) -> bool:
    """Whether a pass calls what may be put on the module, `self.observer = None` in the constructor: whoever puts it
    there gets what the pass computes."""
    called = {
        callee[2]
        for one in passes
        for callee in (call[2] for call in calls(one.facts.body))
        if callee[:2] == (m.ATTR, (m.NAME, "self"))
    }
    return bool(called) and any(
        one[0] == m.ASSIGN
        and one[3] == (m.CONST, None)
        and any(target[:2] == (m.ATTR, (m.NAME, "self")) and target[2] in called for target in one[2])
        for member in cls.find("__init__") or ()
        if type(member) is Function
        for one in statements(member.facts.body)
    )


def is_quiet(cls: Class) -> bool:
    """Whether a module class does nothing that a rule could speak about: an instance is of interest only to who
    looks into it, and its constructor can wait until somebody does."""
    known = cls.quiet
    if known is None:
        known = is_module(cls)
        known = known and all(
            name == "__init__" and index not in unit.outline.loud for unit, name, index in _worth(cls)
        )
        cls.quiet = known
    return known


def _worth(cls: Class) -> Iterator[tuple[Unit, str, int]]:
    """The methods of a class, and of its bases, that are worth running."""
    for entry in cls.mro:
        unit = entry.frame.unit
        for name, index in entry.facts.methods.items():
            if unit.is_worth_running(unit.facts.functions[index]):
                yield unit, name, index
