"""Arrays of CuPy that go before torch's cache is emptied: CuPy's own memory pool keeps their blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site
from ..facts.program import Program, targets, text
from ..facts.walk import calls_of, last_name, nodes, statements
from ..interpreter.machine import Machine
from ..lexical.cleanup import given_up
from .emptied import is_array_of_cupy

# What gives the blocks back, bounds the pool, or does without it.
_OF_THE_POOL = frozenset(
    "free_all_blocks free_all_free set_limit set_allocator using_allocator PythonFunctionAllocator".split()
)
_SHARED = ("from_dlpack", "fromDlpack", "from_dlpack_capsule")  # memory of who has made it
_MAY_SHARE = ("asarray", "ascontiguousarray", "asanyarray")
_OF_TENSORS = frozenset("tensor tensors detach cuda to contiguous data requires_grad_".split())
_TO_HOST = ("asnumpy", "get", "item", "tolist")


class KeptByPool(NamedTuple):
    """An `empty_cache()` of torch that gives nothing back of what went before it."""

    site: Site
    names: tuple[str, ...]
    gone: Site


def kept_by_pool(machine: Machine, program: Program) -> Iterator[KeptByPool]:
    """Where all that a function lets go of, before it empties torch's cache, are arrays of CuPy or objects of them."""
    files = (unit.facts for unit in machine.units.values())
    if not any(dotted.partition(".")[0] == "cupy" for dotted in program.imports.values()):
        return
    if any(not _OF_THE_POOL.isdisjoint(one.calls) for facts in files for one in facts.functions):
        return
    owners = dict(_owners(program))
    for place in program.places:
        made = set(_made(program, place.facts, owners)) | {f"self.{name}" for name in owners.get(place.cls, ())}
        gone: dict[str, Site] = {}
        for statement in statements(place.facts.body):
            for name in given_up(statement):
                gone[name] = statement[1]
            for call in calls_of(statement):
                if gone and _empties_torch_s(program, call):
                    if made.issuperset(gone):
                        yield KeptByPool(call[1], tuple(gone), min(gone.values()))
                    gone = {}


def _empties_torch_s(program: Program, call: Expr) -> bool:
    """`torch.cuda.empty_cache()`, or a helper of the file that does little else."""
    return program.dotted(call[2]) == "torch.cuda.empty_cache" or last_name(call[2]) in program.emptying


def _owners(program: Program) -> Iterator[tuple[str, set[str]]]:
    """The classes whose objects have arrays of CuPy, and the attributes that do."""
    for cls in program.facts.classes:
        methods = [program.facts.functions[index] for index in cls.methods.values()]
        found = {name for one in methods for name in _made(program, one, {}) if name.startswith("self.")}
        if found:
            yield cls.name, {name.removeprefix("self.") for name in found}


def _made(program: Program, function: FunctionFacts, owners: dict[str, set[str]]) -> Iterator[str]:
    """The names and attributes that a function binds to arrays of CuPy, or to objects that have some."""
    of_torch = {
        target
        for one in statements(function.body)
        if one[0] == m.ASSIGN and _is_of_torch(program, one[3], set())
        for target in targets(one)
    }
    on_host = {
        target
        for one in statements(function.body)
        if one[0] == m.ASSIGN and one[3][0] == m.CALL and last_name(one[3][2]) in _TO_HOST
        for target in targets(one)
    }
    for one in statements(function.body):
        if one[0] == m.ASSIGN and one[3][0] == m.CALL and on_host.isdisjoint(targets(one)):
            first = _first_of_chain(one[3])
            own = first is one[3] and first[2][0] == m.NAME and first[2][1] in owners
            if own or (is_array_of_cupy(program, first) and not _shares(program, first, of_torch)):
                yield from filter(None, map(text, targets(one)))


def _first_of_chain(value: Expr) -> Expr:
    """`cp.asarray(x)` of `cp.asarray(x).astype("f4")`; not of what moves to the host."""
    while value[2][0] == m.ATTR and value[2][1][0] == m.CALL and value[2][2] not in _TO_HOST:
        value = value[2][1]
    return value


def _shares(program: Program, made: Expr, of_torch: set[Expr]) -> bool:
    """Whether an array has the memory of a tensor: `cp.from_dlpack(x)`, `cp.asarray(x.detach())`."""
    called = last_name(made[2])
    return called in _SHARED or (called in _MAY_SHARE and any(_is_of_torch(program, one, of_torch) for one in made[3]))


def _is_of_torch(program: Program, value: Expr, of_torch: set[Expr]) -> bool:
    for part in nodes(value):
        if part in of_torch or (part[0] == m.CALL and program.dotted(part[2]).partition(".")[0] == "torch"):
            return True
        words = last_name(part).lower().split("_") if part[0] in (m.NAME, m.ATTR) else ()
        if not _OF_TENSORS.isdisjoint(words):
            return True
    return False
