"""Device memory outside of torch's tensors: contexts, raw allocations, calls that a library does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from . import walk
from .exits import in_final, left_before, stands_right_before
from .kept import drained
from .model import Expr, Site, Stmt
from .program import Place, Program, keyword, statements, targets, text
from .walk import calls, calls_of, last_name, nodes

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


THREADS = ("Thread", "QThread", "QRunnable")
_COUNTED = frozenset("number index idx i step iteration frame request id uid job task sample token epoch".split())
_SAFE = frozenset("pop push detach synchronize get put print debug info len range sleep".split())


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


# -- threads ----------------------------------------------------------------------------------------


def handed(program: Program, methods: tuple[str, ...]) -> set[str]:
    """The last names of functions that are handed to executors, or to threads as their target."""
    found: set[str] = set()
    for place in program.places:
        for call in calls(place.facts.body):
            name = last_name(call[2])
            if name not in methods:
                continue
            given = keyword(call, "target", 1 if name == "run_in_executor" else 0)
            if name in THREADS:
                given = keyword(call, "target", 1)
            if given is not None and given[0] in (m.NAME, m.ATTR):
                found.add(last_name(given))
    return found


def is_thread(place: Place, targeted: set[str]) -> bool:
    bases = {base.rsplit(".", 1)[-1] for base in place.bases}
    return (place.facts.name == "run" and not bases.isdisjoint(THREADS)) or place.facts.name in targeted


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
            if any(in_final(place, pop) for pop in pops):
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
            early = [
                one
                for one in leaves
                if one[1] < max(pop[1] for pop in later) and not stands_right_before(later, one, body)
            ]
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


def _made(program: Program) -> Iterator[Slip]:
    """`self.ctx = device.make_context()` that nothing in the file pops or detaches."""
    for place in program.places:
        if "make_context" not in place.facts.calls:
            continue
        for statement in statements(place.facts.body):
            for call in calls_of(statement):
                if last_name(call[2]) != "make_context":
                    continue
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
                elif gone and statement[0] == m.ASSIGN:
                    yield from _lost_when_raised(program, place, statement, call)


def _lost_when_raised(program: Program, place: Place, made: Stmt, call: Expr) -> Iterator[Slip]:
    """A thread's function that gives its context back only after the loop that serves its work: an exception in there
    ends the thread, and not the process."""
    if not is_thread(place, handed(program, THREADS)):
        return
    names = [target[1] for target in targets(made) if target[0] == m.NAME]
    body = list(statements(place.facts.body))
    pops = [one for one in body if any(_pops(c, name) for c in calls_of(one) for name in names)]
    if not pops or any(in_final(place, pop) or _in_handler(place, pop) for pop in pops):
        return
    for loop, inside in walk.loops(place.facts.body):
        if not made[1] < loop[1] < max(pop[1] for pop in pops):
            continue
        for one in inside:
            if any(last_name(c[2]) not in _SAFE for c in calls_of(one)):
                yield Slip(call[1], names[0], one[1], 2, "raised")
                return


def _in_handler(place: Place, statement: Stmt) -> bool:
    return any(
        one[0] == m.TRY and any(inner is statement for handler in one[3] for inner in statements(handler[2]))
        for one in statements(place.facts.body)
    )


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
        else:
            for place in program.places:
                if name in place.facts.calls:
                    yield from _left_early(place, name)
    if any(dotted.startswith(_LIBRARIES) for dotted in program.imports.values()):
        for place in program.places:
            yield from _piled(program, place)


def _left_early(place: Place, name: str) -> Iterator[Slip]:
    """`ptr = cudaMalloc(n)` that the function frees itself, but not on every way out."""
    body = list(statements(place.facts.body))
    for statement in body:
        bound = [target[1] for target in targets(statement) if target[0] == m.NAME]
        if statement[0] != m.ASSIGN or not bound or not any(last_name(call[2]) == name for call in calls_of(statement)):
            continue
        pointers = {(m.NAME, one) for one in bound}
        leave = left_before(place, statement, [one for one in body if _frees(one, _RAW[name], pointers)], pointers)
        if leave is not None:
            yield Slip(statement[1], _RAW[name][0], leave[1], 3, f"early {name}")


def _frees(statement: Stmt, names: tuple[str, ...], pointers: set[Expr]) -> bool:
    return any(
        last_name(call[2]) in names and any(part in pointers for given in call[3] for part in nodes(given))
        for call in calls_of(statement)
    )


def _piled(program: Program, place: Place) -> Iterator[Slip]:
    if place.facts.name.lstrip("_").startswith(_ONCE) or place.facts.name == "__init__":
        return
    made: dict[str, Site] = {}
    for statement in statements(place.facts.body):
        if statement[0] == m.ASSIGN and _allocates(program, statement[3]):
            made.update({target[1]: statement[1] for target in targets(statement) if target[0] == m.NAME})
        for site, place_of, value in _additions(place, statement):
            holder = text(place_of)
            if not holder.startswith(("self.", "cls.")):
                continue
            bound = next((made[part[1]] for part in nodes(value) if part[0] == m.NAME and part[1] in made), None)
            direct = _allocates(program, value)
            if (bound is None and not direct) or drained(program, holder.rsplit(".", 1)[-1]):
                continue
            if value[0] == m.CALL and last_name(value[2]) == "int":
                continue  # an address: it keeps nothing
            yield Slip(site, holder, bound if bound is not None else -1, 2, "piled")


def _additions(place: Place, statement: Stmt) -> Iterator[tuple[Site, Expr, Expr]]:
    """What a statement adds to a container, and to which: `c.append(x)`, and `c[key] = x` with a key of its own for
    each call: a parameter whose name says that it counts, and that is not looked up first."""
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in ("append", "add") and call[3]:
            yield call[1], call[2][1], call[3][0]
    counted = {param.name for param in place.facts.params if _COUNTED.intersection(param.name.lower().split("_"))}
    for call in calls_of(statement):
        if last_name(call[2]) == "setdefault" and len(call[3]) == 2 and call[3][0][-1] in counted:
            yield call[1], call[2][1], call[3][1]
    for target in targets(statement) if statement[0] == m.ASSIGN else ():
        if target[0] == m.ITEM and target[2][0] == m.NAME and target[2][1] in counted:
            yield statement[1], target[1], statement[3]


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
