"""The programs that lead to a file: what they make and call of it, how often, and with what, they say and it does not.

They have a run of their own: what the file says by itself stays as it is, for others may use it otherwise. What is
noted of the file's own statements is judged like the rest; what is noted of theirs is theirs to judge.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..facts.model import FunctionFacts
from ..facts.walk import loops
from .linking import Unit, module_member, unit_at
from .machine import Machine
from .values import Class

_STEPS = 200  # in programs and what they use of other files; and one for each of the file's own statements


def leading(machine: Machine, programs: Sequence[str]) -> list[tuple[Unit, set[int]]]:
    """The programs, each with its functions that call something of the home file, by index: 0 is the module's body."""
    facts = machine.facts
    own = {one.name for one in facts.classes} | {one.name for one in facts.functions[1:] if one.owner < 0}
    machine.most_steps_away = machine.steps_away + _STEPS + facts.statements
    found = []
    for path in programs:
        unit = unit_at(machine, path)
        if unit is not None:
            imports = unit.outline.program.imports.items()
            names = own | {local for local, dotted in imports if dotted.rpartition(".")[2] in own}
            functions = enumerate(unit.facts.functions)
            using = {i for i, one in functions if not names.isdisjoint(one.calls) and _drives(one)}
            found += [(unit, using)] if using else []
    return found


def _drives(function: FunctionFacts) -> bool:
    """Whether a function may do something again and again, or is the program itself: others only make and wire."""
    if function.name in ("<module>", "main"):
        return True
    return function.name not in ("__init__", "forward") and any(True for _ in loops(function.body))


def bring(machine: Machine, unit: Unit, using: set[int]) -> list[Class]:
    """Have a program bind the names of these functions, and of the classes that have them; the classes."""
    facts = unit.facts
    for index in using - {0}:
        if facts.functions[index].owner < 0:
            module_member(machine, unit, facts.functions[index].name)
    named = [cls.name for cls in facts.classes if not using.isdisjoint(cls.methods.values())]
    found = [module_member(machine, unit, name) or () for name in named]
    return [atom for value in found for atom in value if type(atom) is Class and atom.frame.unit is unit]
