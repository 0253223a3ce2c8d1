"""Raw device memory and device buffers: what is allocated outside of torch's tensors, and who frees it."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts import walk
from ..facts.model import Expr, Stmt
from ..facts.program import Place, Program, expressions, targets, text
from ..facts.walk import calls, calls_of, expressions_of, last_name, loops, names_of, nodes, statements
from .devices import Slip
from .exits import is_lost_by_callers, left_before, moves
from .piled import LIBRARIES, ONCE, piled

_RAW = {
    "caching_allocator_alloc": ("caching_allocator_delete",),
    "cudaMalloc": ("cudaFree",),
    "cudaMallocAsync": ("cudaFreeAsync", "cudaFree"),
    "cudaMallocHost": ("cudaFreeHost",),
    "cudaHostAlloc": ("cudaFreeHost",),
    "cudaHostRegister": ("cudaHostUnregister",),
    "cuMemAlloc": ("cuMemFree", "cuMemFree_v2"),
    "cuMemAllocAsync": ("cuMemFreeAsync", "cuMemFree"),
    "cuMemHostAlloc": ("cuMemFreeHost",),
    "hipMalloc": ("hipFree",),
}
_RUNTIME = {  # of `cupy.cuda.runtime`, whose names others use for what frees itself
    "malloc": ("free",),
    "mallocManaged": ("free",),
    "mallocAsync": ("freeAsync", "free"),
    "hostAlloc": ("freeHost",),
}
FREED_BY = {**_RAW, **_RUNTIME}
_OF_NUMBA = frozenset("to_device device_array device_array_like pinned_array mapped_array".split())
_SWEEPS = frozenset(("getattr", "setattr", "vars"))


def not_freed(program: Program) -> Iterator[Slip]:
    """Raw device pointers without the matching free, and device buffers that pile up on an object."""
    for name in sorted(set(FREED_BY) & program.called):
        freed_by = _who_frees(program, name)
        for place in program.places:
            if name not in place.facts.calls or not any(allocates_raw(call, name) for call in calls(place.facts.body)):
                continue
            if freed_by is not None and _unit(place) not in freed_by:
                yield from _never_freed(program, place, name)
            else:
                yield from _left_early(place, name)
                yield from _left_beside(program, place, name)
                yield from _left_on_object(program, place, name)
                yield from _overwritten(program, place, name)
    if "defer_cleanup" in program.called:
        for place in program.places:
            yield from _deferred(program, place)
    if any(dotted.startswith(LIBRARIES) for dotted in program.imports.values()):
        for place in program.places:
            yield from piled(program, place)


def _deferred(program: Program, place: Place) -> Iterator[Slip]:
    """`with cuda.defer_cleanup():` around a loop that allocates: Numba frees nothing before the block ends."""
    for statement in statements(place.facts.body):
        deferring = statement[0] == m.WITH and any(last_name(context) == "defer_cleanup" for context, _ in statement[2])
        for loop, inside in loops(statement[3]) if deferring else ():
            called = {last_name(call[2]) for one in inside for call in calls_of(one)}
            called |= {name for one in called for helper in program.by_name.get(one, ()) for name in helper.facts.calls}
            if not called.isdisjoint(_OF_NUMBA):
                yield Slip(statement[1], "", loop[1], 2, "deferred")
                break


def allocates_raw(call: Expr, name: str) -> bool:
    callee = call[2]
    if last_name(callee) != name or name not in FREED_BY:
        return False
    return name not in _RUNTIME or (callee[0] == m.ATTR and last_name(callee[1]) == "runtime")


def _unit(place: Place) -> str:
    """A class and a function outside of classes see to what they allocate by themselves."""
    return place.cls or place.facts.name


def _who_frees(program: Program, name: str) -> set[str] | None:
    """The classes and functions that free what they allocate; None if one frees what another may have allocated."""
    allocating = {_unit(place) for place in program.places if name in place.facts.calls}
    freeing = {_unit(place) for place in program.places if _mentions(place, FREED_BY[name])}
    for place in program.places:
        related = {base.rsplit(".", 1)[-1] for base in place.bases} & (allocating | freeing)
        if _unit(place) in allocating | freeing and related:
            return None  # a base class may do it
    return freeing if freeing <= allocating else None


def _mentions(place: Place, names: tuple[str, ...]) -> bool:
    """Whether a function calls one of these, or hands it to what calls it later."""
    return any(part[0] in (m.ATTR, m.NAME) and part[-1] in names for part in expressions(place.facts.body))


def _never_freed(program: Program, place: Place, name: str) -> Iterator[Slip]:
    body = list(statements(place.facts.body))
    returned = {one[2] for one in body if one[0] == m.RETURN}
    for statement in body:
        handed = statement[0] == m.RETURN or returned.intersection(targets(statement))
        if handed and not is_lost_by_callers(program, place):
            continue  # the affair of who calls
        for call in calls_of(statement):
            if allocates_raw(call, name):
                yield Slip(call[1], FREED_BY[name][0], -1, 3, name)


def _overwritten(program: Program, place: Place, name: str) -> Iterator[Slip]:
    """`self.pointer = cudaMalloc(n)` where a larger one is needed, or in each of many calls, and nothing frees the one
    before it."""
    if _may_free(program, place, FREED_BY[name], 3):
        return
    for statement, tests in walk.with_tests(place.facts.body):
        held = [target for target in targets(statement) if target[0] == m.ATTR and target[1] == (m.NAME, "self")]
        if statement[0] != m.ASSIGN or not held or not any(allocates_raw(call, name) for call in calls_of(statement)):
            continue
        guarded = any(part[0] == m.ATTR and part[1] == (m.NAME, "self") for test in tests for part in nodes(test))
        if any(_outgrown(test) for test in tests) or (not guarded and is_called_in_loop(program, place)):
            yield Slip(statement[1], FREED_BY[name][0], -1, 3, f"over {text(held[0])}")


def is_called_in_loop(program: Program, place: Place) -> bool:
    """Whether a loop of the file calls a method that is not there to set something up."""
    name = place.facts.name
    if name.lstrip("_").startswith(ONCE) or name == "__init__":
        return False
    return any(
        last_name(call[2]) == name
        for caller in program.places
        if name in caller.facts.calls
        for _, inside in loops(caller.facts.body)
        for one in inside
        for call in calls_of(one)
    )


def _outgrown(test: Expr) -> bool:
    """`wanted > self.capacity`, `self.capacity < wanted`, also as a part of a test."""
    return any(
        part[0] == m.COMPARE
        and part[1] in ("GreaterThan", "LessThan", "GreaterThanEqual", "LessThanEqual")
        and any(side[0] == m.ATTR and side[1] == (m.NAME, "self") for side in part[2:4])
        and not any(side[0] == m.CONST for side in part[2:4])
        for part in nodes(test)
    )


def _may_free(program: Program, place: Place, frees: tuple[str, ...], depth: int) -> bool:
    """Whether a function frees, itself or through a function of the file."""
    if _mentions(place, frees):
        return True
    inside = (other for name in place.facts.calls for other in program.by_name.get(name, ()) if other is not place)
    return depth > 0 and any(_may_free(program, other, frees, depth - 1) for other in inside)


def _left_early(place: Place, name: str) -> Iterator[Slip]:
    """`ptr = cudaMalloc(n)` that the function frees itself, but not on every way out."""
    body = list(statements(place.facts.body))
    for statement in body:
        bound = [target[1] for target in targets(statement) if target[0] == m.NAME]
        if statement[0] != m.ASSIGN or not bound or not any(allocates_raw(call, name) for call in calls_of(statement)):
            continue
        pointers = {(m.NAME, one) for one in bound}
        leave = left_before(place, statement, [one for one in body if _frees(one, FREED_BY[name], pointers)], pointers)
        if leave is not None:
            yield Slip(statement[1], FREED_BY[name][0], leave[1], 3, f"early {name}")


def _left_beside(program: Program, place: Place, name: str) -> Iterator[Slip]:
    """`d_out = cudaMalloc(n)` in a function that frees `d_in`, which goes nowhere else than this one."""
    body = list(statements(place.facts.body))
    freed = [call[1] for call in calls(place.facts.body) if last_name(call[2]) in FREED_BY[name]]
    for statement in body if freed else ():
        pointers: set[Expr] = {target for target in targets(statement) if target[0] == m.NAME}
        if statement[0] != m.ASSIGN or not pointers or not any(allocates_raw(c, name) for c in calls_of(statement)):
            continue
        frees = any(_frees(one, FREED_BY[name], pointers) for one in body)
        if not frees and not moves(body, pointers, statement) and not _is_taken(program, place, name, pointers):
            yield Slip(statement[1], FREED_BY[name][0], freed[0], 3, f"beside {name}")


def _left_on_object(program: Program, place: Place, name: str) -> Iterator[Slip]:
    """`self.d_scales = cudaMalloc(n)` of a class that frees its `self.d_forces`, and does no more with this one than to
    hand it to kernels."""
    frees = FREED_BY[name]
    own = [one for one in program.places if place.cls and (one.cls == place.cls or place.cls in one.bases)]
    freed = {
        part: call[1]
        for one in program.places
        for call in (calls(one.facts.body) if not set(frees).isdisjoint(one.facts.calls) else ())
        if last_name(call[2]) in frees
        for given in call[3]
        for part in nodes(given)
        if part[0] == m.ATTR
    }
    here = [
        call[1] for one in own if one.cls == place.cls for call in calls(one.facts.body) if call[1] in freed.values()
    ]
    if not here or any(not _SWEEPS.isdisjoint(one.facts.calls) or _mentions(one, ("__dict__",)) for one in own):
        return
    for statement in statements(place.facts.body):
        if statement[0] != m.ASSIGN or not any(allocates_raw(call, name) for call in calls_of(statement)):
            continue
        for target in targets(statement):
            if target[0] != m.ATTR or target[1] != (m.NAME, "self") or target[2] in {part[2] for part in freed}:
                continue
            bodies = [list(statements(one.facts.body)) for one in own]
            moved = any(moves(body, {target}, statement) for body in bodies)
            elsewhere = any(
                part[0] == m.ATTR and part[2] == target[2] and part[1] != target[1]
                for one in program.places
                for part in expressions(one.facts.body)
            )
            if not (moved or elsewhere or any(_is_taken(program, one, name, {target}) for one in own)):
                yield Slip(statement[1], frees[0], here[0], 3, f"beside {name}")


def _is_taken(program: Program, place: Place, name: str, pointers: set[Expr]) -> bool:
    """Whether somebody else may free a pointer: an object that is made with it, a function that frees, a loop over
    several, a function defined here, who asks a generator."""
    if not {pointer[1] for pointer in pointers}.isdisjoint(
        one for index in place.facts.inner for one in names_of(program.facts.functions[index].body)
    ):
        return True
    for one in statements(place.facts.body):
        looped = one[0] == m.FOR and any(part in pointers for part in nodes(one[3]))
        parts = (part for part in expressions_of(one))
        asked = any(part[0] == m.YIELD and not pointers.isdisjoint(nodes(part)) for part in parts)
        if looped or asked:
            return True
        for call in calls_of(one):
            called = last_name(call[2])
            helpers = program.by_name.get(called, ())
            given = [part for value in (*call[3], *(value for _, value in call[4])) for part in nodes(value)]
            takes = called[:1].isupper() or any(_may_free(program, one, FREED_BY[name], 3) for one in helpers)
            if takes and not pointers.isdisjoint(given):
                return True
    return False


def _frees(statement: Stmt, names: tuple[str, ...], pointers: set[Expr]) -> bool:
    return any(
        last_name(call[2]) in names and any(part in pointers for given in call[3] for part in nodes(given))
        for call in calls_of(statement)
    )
