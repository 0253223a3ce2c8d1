"""Clean-ups that let go of what their counterpart has loaded, but of one model not.

`load()` sets `self.model` and `self.vision`; `unload()` sets the first to None and empties the cache. What a method
keeps on purpose is not set anew each time: `if self.vision is None: self.vision = load_vision()`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site
from ..facts.program import Program, expressions, targets, text
from ..facts.walk import calls, nodes, with_conditions
from ..interpreter.holders import has_parameters
from ..interpreter.machine import Machine
from ..interpreter.values import Obj, Value
from ..lexical.cleanup import empties
from .forgotten import UNDOES, Forgotten, is_let_go, is_of, teardowns

_SELF = (m.NAME, "self")
_AT_WILL = ("setattr", "delattr", "vars")


def left_loaded(machine: Machine, program: Program) -> Iterator[Forgotten]:
    """Models that `load()` sets as it sets others, and that `unload()` does not let go of as it does of those."""
    for cls in program.facts.classes if program.empties else ():
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        for teardown in teardowns(program, methods):
            function = methods[teardown.name]
            setup = next((methods[one] for one in UNDOES.get(teardown.name, ()) if one in methods), None)
            if setup is None or not any(empties(program, call) for call in calls(function.body)):
                continue
            values = _values(machine, cls)
            freed = set().union(*(_models(values.get(name, [])) for name in teardown.freed))
            for name, site in _made(setup) if freed else ():
                left = name not in teardown.freed and not _models(values.get(name, [])) <= freed
                if left and not _may_let_go(program, function, name):
                    at = min(teardown.freed.values())
                    yield Forgotten(site, f"self.{name}", "module", teardown.name, tuple(teardown.freed), at)


def _values(machine: Machine, cls: ClassFacts) -> dict[str, list[Value]]:
    """What the attributes of a class's objects have in the end, and what they have had when it went."""
    found: dict[str, list[Value]] = {}
    for one in (one for known in machine.instances.values() for one in known if is_of(one, cls)):
        for name, value in one.fields.items():
            found.setdefault(name, []).append(value)
    for note in machine.plain:
        if note.kind == "dropped-part" and is_of(note.detail[0], cls):
            found.setdefault(note.detail[1], []).append(note.detail[2])
    return found


def _made(setup: FunctionFacts) -> Iterator[tuple[str, Site]]:
    """The attributes that a method binds to what it makes, whether there was something before or not."""
    for statement, conditions in with_conditions(setup.body):
        if statement[0] == m.ASSIGN and statement[3][0] == m.CALL:
            for target in targets(statement):
                if target[:2] == (m.ATTR, _SELF) and not any(_asks(test, target) for test, _ in conditions):
                    yield target[2], statement[1]


def _asks(test: Expr, place: Expr) -> bool:
    return any(part == place for part in nodes(test))


def _models(values: list[Value]) -> set[int]:
    """The models with parameters among these, themselves and not in something else."""
    atoms = (atom for value in values for atom in value)
    return {id(atom) for atom in atoms if type(atom) is Obj and atom.kind == "module" and has_parameters(atom)}


def _may_let_go(program: Program, function: FunctionFacts, attribute: str) -> bool:
    """Whether anything lets go of an attribute, or the clean-up does something with it, or with whatever is there."""
    place = (m.ATTR, _SELF, attribute)
    named = any(part == place for part in expressions(function.body))
    at_will = any(call[2][-1] in _AT_WILL or "__dict__" in text(call[2]) for call in calls(function.body))
    at_will = at_will or any(call[2] == (m.NAME, "super") for call in calls(function.body))
    return named or at_will or is_let_go(program, attribute)
