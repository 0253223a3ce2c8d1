"""Clean-ups that take one part out of what an attribute has, and leave the attribute with the rest of it.

`def cleanup(self): del self.llm.engine.worker; gc.collect(); torch.cuda.empty_cache()`: the worker goes, and `self.llm`
still has the engine with its cache, for as long as the object is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts.model import ClassFacts, FunctionFacts, Site
from ..facts.program import Program, targets, text
from ..facts.walk import calls, statements
from ..interpreter.machine import Machine
from ..interpreter.values import FEW, SCALAR, Obj, Tensor, Value
from ..lexical.cleanup import empties, given_up, may_clean_up
from .forgotten import is_let_go, is_of

# Names of methods after which an object is not to be used again; `free_encoder` is none.
_ENDS = frozenset(
    "cleanup clean_up teardown tear_down unload unload_model close shutdown release destroy dispose".split()
)
_DEPTH = 4
_HEAVY = ("module", "optimizer", "loader")


class PartTornDown(NamedTuple):
    site: Site  # where the cache is emptied
    part: str  # `self.llm.engine.worker`
    gone: Site
    attribute: str  # `self.llm`
    rest: str  # `engine.cache`
    method: str


def parts_torn_down(machine: Machine, program: Program) -> Iterator[PartTornDown]:
    """Attributes that keep models, or tensors in tables, when a clean-up has taken a part of theirs."""
    for cls in program.facts.classes if program.empties else ():
        for name in sorted(cls.methods.keys() & _ENDS):
            function = program.facts.functions[cls.methods[name]]
            if may_clean_up(program, function):
                yield from _torn_down_by(machine, program, cls, function)


def _torn_down_by(
    machine: Machine, program: Program, cls: ClassFacts, function: FunctionFacts
) -> Iterator[PartTornDown]:
    gone = {name: one[1] for one in statements(function.body) for name in given_up(one) if name.startswith("self.")}
    bound = {text(target) for one in statements(function.body) for target in targets(one)}
    for part, at in gone.items():
        attribute = part.split(".")[1]
        whole = f"self.{attribute}"
        emptied = next((call[1] for call in calls(function.body) if call[1] > at and empties(program, call)), None)
        if emptied is None or part == whole or whole in bound or is_let_go(program, attribute):
            continue
        objects = [one for known in machine.instances.values() for one in known if is_of(one, cls)]
        taken = [one.split(".")[2:] for one in gone if one.startswith(f"{whole}.")]
        rest = next((rest for one in objects if (rest := _rest(one.fields.get(attribute, ()), taken))), "")
        if rest:
            yield PartTornDown(emptied, part, at, whole, rest, function.name)
            return


def _rest(value: Value, taken: list[list[str]], depth: int = _DEPTH) -> str:
    """The way to what is heavy in a value, but for what is taken out: `engine.cache`; "" if nothing is."""
    for atom in value:
        if type(atom) is not Obj or atom.kind not in ("instance", "module") or atom.unknown or not depth:
            continue
        for key, part in atom.fields.items():
            if key[:1] == "$" or [key] in taken:
                continue
            if any(_is_heavy(one) for one in part):
                return key
            inner = _rest(part, [one[1:] for one in taken if one[0] == key], depth - 1)
            if inner:
                return f"{key}.{inner}"
    return ""


def _is_heavy(atom: object, depth: int = 2) -> bool:
    if type(atom) is Tensor:
        return atom.weight > 1 and atom.size not in (SCALAR, FEW)
    if type(atom) is not Obj:
        return False
    if atom.kind in _HEAVY:
        return atom.weight > 1
    inside = (one for part in atom.fields.values() for one in part) if atom.kind in ("list", "dict", "tuple") else ()
    return bool(depth) and any(_is_heavy(one, depth - 1) for one in inside)
