"""Device memory outside of torch's tensors: contexts, raw allocations, calls that a library does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .kept import drained
from .model import Expr, Site, Stmt
from .program import Place, Program, calls, statements, targets, text
from .walk import calls as calls_of
from .walk import last_name, nodes

_ABSENT = {
    "pycuda.driver.mem_free": "a `DeviceAllocation` frees itself when it is dropped, or by its `free()`",
    "pycuda.driver.free": "a `DeviceAllocation` frees itself when it is dropped, or by its `free()`",
    "torch.cuda.free": "drop the references to the tensor",
    "torch.cuda.free_memory": "drop the references to the tensors, then call `torch.cuda.empty_cache()`",
    "torch.cuda.clear_cache": "it is called `torch.cuda.empty_cache()`",
    "torch.cuda.clear_memory": "it is called `torch.cuda.empty_cache()`",
    "torch.cuda.release_memory": "drop the references to the tensors, then call `torch.cuda.empty_cache()`",
}
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
_BUFFERS = frozenset(
    """mem_alloc mem_alloc_pitch managed_empty managed_zeros pagelocked_empty pagelocked_zeros to_device device_array
    device_array_like pinned_array mapped_array asarray array zeros empty full arange alloc to_gpu""".split()
)
_LIBRARIES = ("pycuda", "cupy", "numba.cuda", "cuda")
_ONCE = ("__init__", "setup", "build", "allocate", "init", "load", "create", "prepare", "__enter__", "warmup", "reset")


class Slip(NamedTuple):
    site: Site
    name: str
    other: Site
    weight: int
    kind: str = ""


def absent(program: Program) -> Iterator[Slip]:
    """Calls of functions that the library does not have."""
    if not {dotted.rsplit(".", 1)[-1] for dotted in _ABSENT} & program.called:
        return
    for place in program.places:
        for call in calls(place.facts.body):
            dotted = program.dotted(call[2])
            if dotted in _ABSENT:
                yield Slip(call[1], dotted, -1, 3, _ABSENT[dotted])


# -- contexts -------------------------------------------------------------------------------------


def not_popped(program: Program) -> Iterator[Slip]:
    """`context.push()` without `pop()` on every way out, and contexts that nobody pops or detaches."""
    if not any("pycuda" in dotted for dotted in program.imports.values()):
        return
    for place in program.places:
        if "push" in place.facts.calls:
            yield from _pushed(program, place)
    yield from _made(program)


def _is_context(receiver: str) -> bool:
    last = receiver.rsplit(".", 1)[-1].lower()
    return any(word in last for word in ("ctx", "context", "cfx", "cuda_c"))


def _pushed(program: Program, place: Place) -> Iterator[Slip]:
    body = list(statements(place.facts.body))
    for statement in body:
        for call in _methods(statement, "push"):
            receiver = text(call[2][1])
            if not _is_context(receiver):
                continue
            pops = [one for one in body if any(_pops(found, receiver) for found in calls_of(one))]
            if any(_in_final(place, pop) for pop in pops):
                continue
            leaves = [one for one in body if one[0] in (m.RETURN, m.RAISE) and one[1] > statement[1]]
            later = [pop for pop in pops if pop[1] > statement[1]]
            if not later:
                elsewhere = any(
                    _pops(found, receiver, any_owner=True)
                    for other in program.places
                    if other.cls == place.cls and other.facts is not place.facts
                    for found in calls(other.facts.body)
                )
                if not elsewhere:
                    yield Slip(call[1], receiver, -1, 3, "never")
                continue
            early = [one for one in leaves if one[1] < max(pop[1] for pop in later) and not _popped(later, one, body)]
            if early:
                yield Slip(call[1], receiver, early[0][1], 3, "early")


def _methods(statement: Stmt, name: str) -> Iterator[Expr]:
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] == name and text(call[2][1]):
            yield call


def _pops(call: Expr, receiver: str, any_owner: bool = False) -> bool:
    if call[2][0] != m.ATTR or call[2][2] not in ("pop", "detach"):
        return False
    named = text(call[2][1])
    if named == receiver or named.endswith("Context"):
        return True
    return any_owner and named.rsplit(".", 1)[-1] == receiver.rsplit(".", 1)[-1]


def _popped(pops: list[Stmt], leave: Stmt, body: list[Stmt]) -> bool:
    """Whether the statement right before a `return` pops."""
    before = [one for one in body if one[1] < leave[1]]
    return bool(before) and before[-1] in pops


def _in_final(place: Place, statement: Stmt) -> bool:
    return any(
        one[0] == m.TRY and any(inner is statement for inner in statements(one[5]))
        for one in statements(place.facts.body)
    )


def _made(program: Program) -> Iterator[Slip]:
    """`self.ctx = device.make_context()` that nothing in the file pops or detaches."""
    for place in program.places:
        if "make_context" not in place.facts.calls:
            continue
        for statement in statements(place.facts.body):
            for call in _methods(statement, "make_context"):
                names = [last_name(target) for target in targets(statement)]
                gone = any(
                    found[2][0] == m.ATTR
                    and found[2][2] in ("pop", "detach")
                    and (last_name(found[2][1]) in names or last_name(found[2][1]) == "Context")
                    for other in program.places
                    for found in calls(other.facts.body)
                )
                if not gone and statement[0] != m.RETURN:
                    yield Slip(call[1], names[0] if names else "the context", -1, 3, "made")


# -- allocations ----------------------------------------------------------------------------------


def not_freed(program: Program) -> Iterator[Slip]:
    """Raw device pointers without the matching free, and device buffers that pile up on an object."""
    for name in sorted(set(_RAW) & program.called):
        if program.called.isdisjoint(_RAW[name]):
            for place in program.places:
                for statement in statements(place.facts.body):
                    if statement[0] == m.RETURN:
                        continue
                    for call in calls_of(statement):
                        if last_name(call[2]) == name:
                            yield Slip(call[1], _RAW[name][0], -1, 3, name)
    if any(dotted.startswith(_LIBRARIES) for dotted in program.imports.values()):
        for place in program.places:
            if {"append", "add", "extend"} & set(place.facts.calls):
                yield from _piled(program, place)


def _piled(program: Program, place: Place) -> Iterator[Slip]:
    if place.facts.name.lstrip("_").startswith(_ONCE) or place.facts.name == "__init__":
        return
    made: dict[str, Site] = {}
    for statement in statements(place.facts.body):
        if statement[0] == m.ASSIGN and _allocates(program, statement[3]):
            made.update({target[1]: statement[1] for target in targets(statement) if target[0] == m.NAME})
        for call in calls_of(statement):
            if call[2][0] != m.ATTR or call[2][2] not in ("append", "add") or not call[3]:
                continue
            holder, value = text(call[2][1]), call[3][0]
            if not holder.startswith(("self.", "cls.")):
                continue
            bound = next((made[part[1]] for part in nodes(value) if part[0] == m.NAME and part[1] in made), None)
            direct = _allocates(program, value)
            if (bound is None and not direct) or drained(program, holder.rsplit(".", 1)[-1]):
                continue
            if value[0] == m.CALL and last_name(value[2]) == "int":
                continue  # an address: it keeps nothing
            yield Slip(call[1], holder, bound if bound is not None else -1, 2, "piled")


def _allocates(program: Program, expr: Expr) -> bool:
    if expr[0] != m.CALL or last_name(expr[2]) not in _BUFFERS:
        return False
    return program.dotted(expr[2]).startswith(("pycuda.", "cupy.", "numba.cuda.", "cuda."))


# -- graphs ---------------------------------------------------------------------------------------


def graphs_by_shape(program: Program) -> Iterator[Slip]:
    """Captured CUDA graphs put into a table without a limit, by a key that the input decides."""
    if not {"CUDAGraph", "make_graphed_callables"} & program.called:
        return
    for place in program.places:
        made: set[str] = set()
        for statement in statements(place.facts.body):
            if statement[0] != m.ASSIGN:
                continue
            value, bound = statement[3], targets(statement)
            if value[0] == m.CALL and last_name(value[2]) in ("CUDAGraph", "make_graphed_callables"):
                made.update(target[1] for target in bound if target[0] == m.NAME)
            direct = value[0] == m.CALL and last_name(value[2]) in ("CUDAGraph", "make_graphed_callables")
            holds = direct or any(part[0] == m.NAME and part[1] in made for part in nodes(value))
            for target in bound:
                if target[0] != m.ITEM or not holds or target[2][0] == m.CONST:
                    continue
                holder = text(target[1])
                last = holder.rsplit(".", 1)[-1]
                if not holder.startswith(("self.", "cls.")) or drained(program, last) or _limited(program, last):
                    continue
                yield Slip(statement[1], holder, -1, 2)


def _limited(program: Program, name: str) -> bool:
    return any(
        call[2] == (m.NAME, "len") and call[3] and last_name(call[3][0]) == name
        for place in program.places
        for call in calls(place.facts.body)
    )
