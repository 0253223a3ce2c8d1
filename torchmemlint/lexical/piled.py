"""Device buffers and engines that pile up on an object, or in a global."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.emptying import bounded, drained
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Place, Program, targets, text
from ..facts.walk import calls_of, last_name, statements, with_tests
from .devices import Slip

_BUFFERS = frozenset(
    """mem_alloc mem_alloc_pitch managed_empty managed_zeros managed_empty_like managed_zeros_like pagelocked_empty
    pagelocked_zeros pagelocked_empty_like pagelocked_zeros_like register_host_memory mem_host_alloc to_device
    device_array device_array_like pinned_array pinned_array_like mapped_array mapped_array_like asarray array zeros
    ones empty full zeros_like ones_like empty_like full_like arange linspace alloc alloc_pinned_memory to_gpu
    to_gpu_async empty_pinned zeros_pinned""".split()
)
ENGINES = frozenset(  # each with device memory of its own
    ("create_execution_context", "deserialize_cuda_engine", "build_serialized_network", "InferenceSession")
)
_COMPUTED = frozenset(  # by CuPy, an array as large as what it is computed from, or larger
    """abs absolute exp log log2 log10 log1p sqrt square sin cos tanh clip maximum minimum add subtract multiply divide
    power matmul dot outer where copy fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn concatenate stack vstack
    hstack convolve pad repeat tile transpose sort cumsum rand randn random normal uniform hanning hamming meshgrid
    ascontiguousarray real imag angle conj einsum""".split()
)
LIBRARIES = ("pycuda", "cupy", "numba.cuda", "cuda", "tensorrt", "onnxruntime")
ONCE = ("__init__", "setup", "build", "allocate", "init", "load", "create", "prepare", "__enter__", "warmup", "reset")
_COUNTED = frozenset("number index idx i step iteration frame request id uid job task sample token epoch".split())


def piled(program: Program, place: Place) -> Iterator[Slip]:
    if place.facts.name == "__init__" or (_prepares(place) and not _prepares_each_time(program, place)):
        return
    made: dict[str, Site] = {}
    for statement in statements(place.facts.body):
        if statement[0] == m.ASSIGN and _allocates(program, statement[3]):
            made.update({target[1]: statement[1] for target in targets(statement) if target[0] == m.NAME})
        for site, place_of, value in _additions(place, statement):
            holder = text(place_of)
            if not holder.startswith(("self.", "cls.")) and not _is_global(program, place, place_of):
                continue
            made_at = next((made[name] for name in _kept_in(value) if name in made), None)
            direct = _allocates(program, value)
            name = holder.rsplit(".", 1)[-1]
            if (made_at is None and not direct) or drained(program, name) or bounded(program, name):
                continue
            yield Slip(site, holder, made_at if made_at is not None else -1, 2, "piled")


def _prepares(place: Place) -> bool:
    return place.facts.name.lstrip("_").startswith(ONCE)


def _prepares_each_time(program: Program, place: Place) -> bool:
    """Whether a method that does the work of the same object calls one that prepares it, whatever is there already."""
    tested = any(one[0] in m.LEAVES and tests for one, tests in with_tests(place.facts.body))
    return not tested and any(
        call[2] == (m.ATTR, (m.NAME, "self"), place.facts.name)
        for other in program.places
        if other.cls == place.cls and place.cls and not _prepares(other)
        for statement, tests in with_tests(other.facts.body)
        if not tests
        for call in calls_of(statement)
    )


def _kept_in(value: Expr) -> Iterator[str]:
    """The names whose values a value keeps: itself, its items, and what an object is made with; not those that a call
    computes a number or an array of the host from, `float(block.sum())`, `int(pointer)`."""
    if value[0] == m.NAME:
        yield value[1]
    elif value[0] in (m.NEW, m.DICT):
        for item in value[3] if value[0] == m.NEW else (part for _, part in value[2]):
            yield from _kept_in(item)
    elif value[0] == m.CALL and last_name(value[2])[:1].isupper():
        for item in (*value[3], *(part for _, part in value[4])):
            yield from _kept_in(item)


def _is_global(program: Program, place: Place, holder: Expr) -> bool:
    """Whether a name is one of the module's, and the function that fills it has none of its own."""
    own = {target for one in statements(place.facts.body) for target in targets(one)}
    own |= {(m.NAME, param.name) for param in place.facts.params}
    module = program.facts.functions[0]
    bound = any(holder in targets(one) for one in statements(module.body))
    return holder[0] == m.NAME and bound and holder not in own and place.facts is not module


def _additions(place: Place, statement: Stmt) -> Iterator[tuple[Site, Expr, Expr]]:
    """What a statement adds to a container, and to which: `c.append(x)`, and `c[key] = x` with a key of its own for
    each call: a parameter whose name says that it counts, and that is not looked up first, or where what a call is
    given lies in memory, which no other call finds again."""
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in ("append", "add") and call[3]:
            yield call[1], _table(call[2][1]), call[3][0]
    counted = {param.name for param in place.facts.params if _COUNTED.intersection(param.name.lower().split("_"))}
    for call in calls_of(statement):
        if last_name(call[2]) == "setdefault" and len(call[3]) == 2 and call[3][0][-1] in counted:
            yield call[1], call[2][1], call[3][1]
    for target in targets(statement) if statement[0] == m.ASSIGN else ():
        if target[0] != m.ITEM:
            continue
        if (target[2][0] == m.NAME and target[2][1] in counted) or _is_identity(place, target[2]):
            yield statement[1], target[1], statement[3]


def _is_identity(place: Place, key: Expr) -> bool:
    """`id(array)` of a parameter, also by a name for that, `key = id(array)`, or as a part of a tuple."""
    if key[0] == m.NEW and key[2] == "tuple":
        return any(_is_identity(place, part) for part in key[3])
    if key[0] == m.NAME:
        bound = [one[3] for one in statements(place.facts.body) if one[0] == m.ASSIGN and key in one[2]]
        return len(bound) == 1 and bound[0] != key and _is_identity(place, bound[0])
    of_param = key[0] == m.CALL and key[2] == (m.NAME, "id") and len(key[3]) == 1 and key[3][0][0] == m.NAME
    return of_param and any(param.name == key[3][0][1] for param in place.facts.params)


def _table(holder: Expr) -> Expr:
    """`self.kept` of `self.kept.setdefault(key, [])` and `self.kept[key]`: the lists in it go when it is emptied."""
    if holder[0] == m.CALL and holder[2][0] == m.ATTR and holder[2][2] == "setdefault":
        return _table(holder[2][1])
    return holder[1] if holder[0] == m.ITEM else holder


def _allocates(program: Program, expr: Expr) -> bool:
    if expr[0] == m.CALL and last_name(expr[2]) in ENGINES:
        return True
    if expr[0] != m.CALL:
        return False
    called = program.dotted(expr[2])
    if called.startswith("cupy.") and last_name(expr[2]) in _COMPUTED:
        return True
    return last_name(expr[2]) in _BUFFERS and called.startswith(("pycuda.", "cupy.", "cupyx.", "numba.cuda.", "cuda."))
