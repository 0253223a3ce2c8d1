"""Contexts, CUDA graphs and raw memory: what outlives them, piles up by key, or is never freed."""

from __future__ import annotations

import pytest
from snippets import check

# -- contexts -------------------------------------------------------------------------------------

CONTEXTS = """
import threading
import pycuda.driver as cuda

class Worker(threading.Thread):
    def run(self):
        context = cuda.Device(0).make_context()
        {}
        context.pop()
        {}
"""
DIES_ELSEWHERE = [
    ("self.buffer = cuda.mem_alloc(8)  # TML705", ""),
    ("part = cuda.mem_alloc(8)\n        self.parts.put(part)  # TML705", ""),
]
DIES_HERE = [
    ("self.buffer = cuda.mem_alloc(8)\n        self.buffer.free()", ""),
    ("self.buffer = cuda.mem_alloc(8)\n        self.buffer = None", ""),
    ("self.buffer = cuda.mem_alloc(8)", "context.detach()"),
    ("part = cuda.mem_alloc(8)", ""),
]


@pytest.mark.parametrize("parts", DIES_ELSEWHERE)
def test_objects_that_outlive_their_context(parts: tuple[str, str]) -> None:
    check(CONTEXTS.format(*parts))


@pytest.mark.parametrize("parts", DIES_HERE)
def test_objects_that_go_with_their_context(parts: tuple[str, str]) -> None:
    check(CONTEXTS.format(*parts))


# -- graphs and raw memory ------------------------------------------------------------------------

GRAPHS = """
_TABLE = {{}}

class Entry:
    def __init__(self, x):
        self.graph = torch.cuda.CUDAGraph()
        self.x = x

def record(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2

    def play(z):
        x.copy_(z)
        graph.replay()
        return y

    return play

class Runner:
    def __init__(self, sizes):
        self.sizes, self.entries, self.count = sizes, {{}}, 0

    def run(self, x, rows):
        {}

    def serve(self, xs):
        return [self.run(x, {}) for x in xs]
"""
GRAPHS_PER_KEY = [
    ("self.entries[x.shape] = Entry(x)  # TML703", "len(x)"),
    ("self.entries[rows] = (record(x), x)  # TML703", "len(x)"),
    ("return self.entries.setdefault(rows, record(x))  # TML703", "x.shape[0]"),
    ("_TABLE[tuple(x.shape)] = record(x)  # TML703", "len(x)"),
]
GRAPHS_OF_FEW_KEYS = [
    ("self.entries[rows] = Entry(x)", "-(-len(x) // 64) * 64"),
    ("self.entries[rows] = record(x)", "next_pow2(len(x))"),
    ("for size in self.sizes:\n            self.entries[size] = Entry(x[:size])", "len(x)"),
    ("self.entries[rows] = Entry(x)\n        while len(self.entries) > 4:\n            evict(self.entries)", "len(x)"),
    ("self.entries[rows] = Entry(x)\n        self.entries.popitem()", "len(x)"),
    ("self.entries[rows] = record(x)(x).shape", "len(x)"),
    ("entries = {}; entries[rows] = Entry(x); return entries", "len(x)"),
]


@pytest.mark.parametrize("parts", GRAPHS_PER_KEY)
def test_graphs_for_each_key(parts: tuple[str, str]) -> None:
    check(GRAPHS.format(*parts))


@pytest.mark.parametrize("parts", GRAPHS_OF_FEW_KEYS)
def test_graphs_for_a_few_keys(parts: tuple[str, str]) -> None:
    check(GRAPHS.format(*parts))


POINTERS = """
def pinned(x, rt):
    rt.cudaHostRegister(x.data_ptr(), x.nbytes, 0)
    try:
        return x.cuda()
    finally:
        rt.cudaHostUnregister(x.data_ptr())

class Arena:
    def __init__(self, rt):
        self.rt, self.size, self.base, self.pages = rt, 0, 0, []

    def add(self, page):
        {}

    def reserve(self, size):
        {}

    def close(self):
        {}
"""
FREE = "torch.cuda.caching_allocator_delete(self.base)"
ALLOCATE = "self.base = torch.cuda.caching_allocator_alloc(size)"
NEVER_FREED = [
    ("self.rt.cudaHostRegister(page.data_ptr(), 8, 0)  # TML702", "pass", "self.pages.clear()"),
    ("pass", f"if self.size < size:\n            {ALLOCATE}  # TML702", FREE),
    ("pass", f"if size > self.size and self.rt:\n            {ALLOCATE}  # TML702\n            self.size = size", FREE),
]
FREED = [
    ("self.rt.cudaHostRegister(page.data_ptr(), 8, 0)", "pass", "self.rt.cudaHostUnregister(self.pages[0].data_ptr())"),
    ("self.rt.cudaHostRegister(page.data_ptr(), 8, 0)", "pass", "self.pages[0].end(self.rt.cudaHostUnregister)"),
    ("pass", f"if self.size < size:\n            self.close()\n            {ALLOCATE}", FREE),
    (
        "pass",
        f"if self.size < size:\n            old = self.base\n            {ALLOCATE}\n            self.close()",
        FREE,
    ),
    ("pass", f"if self.size == 0:\n            {ALLOCATE}", FREE),
    ("pass", f"if size > 0:\n            {ALLOCATE}", FREE),
    ("pass", ALLOCATE, FREE),  # once, maybe
]


@pytest.mark.parametrize("parts", NEVER_FREED)
def test_raw_memory_that_nobody_frees(parts: tuple[str, str, str]) -> None:
    check(POINTERS.format(*parts))


@pytest.mark.parametrize("parts", FREED)
def test_raw_memory_that_its_owner_frees(parts: tuple[str, str, str]) -> None:
    check(POINTERS.format(*parts))


ENGINE = """
import pycuda.driver as cuda


class Buffer:
    def __init__(self, host, device):
        self.host = host
        self.device = device


class Engine:
    def __init__(self, sizes):
        self.sizes = sizes
        self.buffers = []
        {made}

    def _allocate(self):
        {first}
        for size in self.sizes:
            device = cuda.mem_alloc(size)
            self.buffers.append(Buffer(bytearray(size), device)){mark}

    def infer(self, image):
        {called}
        cuda.memcpy_htod(self.buffers[0].device, image)
"""

PREPARED = {"made": "pass", "first": "pass", "mark": "", "called": "self._allocate()"}


def test_buffers_that_each_call_allocates_anew() -> None:
    check(ENGINE.format(**{**PREPARED, "mark": "  # TML702"}))


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"called": "pass", "made": "self._allocate()"}, id="once"),
        pytest.param({"called": "if not self.buffers: self._allocate()"}, id="where there are none"),
        pytest.param({"first": "if self.buffers: return"}, id="given up where there are some"),
        pytest.param({"first": "self.buffers = []"}, id="emptied first"),
    ],
)
def test_buffers_that_are_prepared_once(parts: dict[str, str]) -> None:
    check(ENGINE.format(**{**PREPARED, **parts}))


def test_arrays_that_cupy_computes() -> None:
    text = """
    import cupy as cp


    class Spectra:
        def __init__(self):
            self.kept = {}

        def one(self, request_id, signal):
            self.kept[request_id] = VALUE
    """
    check(text.replace("VALUE", "cp.abs(cp.fft.rfft(cp.asarray(signal)))  # TML702"))
    check(text.replace("VALUE", "cp.asnumpy(cp.fft.rfft(cp.asarray(signal)))[:4].tolist()"))
    check(text.replace("VALUE", "float(cp.abs(cp.asarray(signal)).max())"))


def test_pinned_buffers_of_cupy() -> None:
    text = """
    import cupyx

    class Staged:
        def __init__(self, shape):
            self.shape, self.kept = shape, []
            self.one = cupyx.empty_pinned(shape)

        def take(self, result):
            out = VALUE
            result.get(out=out)
            self.kept.append(PART)MARK
    """
    made = text.replace("VALUE", "cupyx.empty_pinned(self.shape)")
    check(made.replace("PART", "out").replace("MARK", "  # TML702"))
    check(made.replace("PART", "float(out.sum())").replace("MARK", ""))
    check(text.replace("VALUE", "self.one").replace("PART", "out.mean()").replace("MARK", ""))
