"""Raw pointers that a function forgets beside one that it frees, and host memory that is registered call after call."""

import pytest
from snippets import check

TWO = """
from cuda import cudart
import weakref

def check(call):
    return call[1]

def release(pointers):
    for pointer in pointers:
        check(cudart.cudaFree(pointer))

class Engine:
    def fetch(self, pointer, shape):
        return self.copy(pointer, shape)

    def infer(self, image, shape):
        d_in = check(cudart.cudaMalloc(image.nbytes))
        d_out = check(cudart.cudaMalloc(shape[0] * 4))%s
        self.context.execute_v2([int(d_in), int(d_out)])
        result = self.fetch(d_out, shape)
        %s
"""
FREE_ONE = "check(cudart.cudaFree(d_in))\n        return result"


@pytest.mark.parametrize(
    ("mark", "end"),
    [
        ("  # TML702", FREE_ONE),
        ("  # TML702", "try:\n            return result\n        finally:\n            cudart.cudaFree(d_in)"),
        ("", "check(cudart.cudaFree(d_out))\n        " + FREE_ONE),
        ("", "release([d_out])\n        " + FREE_ONE),
        ("", "for one in (d_in, d_out):\n            cudart.cudaFree(one)\n        return result"),
        ("", "self.output = d_out\n        " + FREE_ONE),
        ("", "check(cudart.cudaFree(d_in))\n        return result, d_out"),
        ("", "buffer = Owned(d_out)\n        check(cudart.cudaFree(d_in))\n        return buffer"),
    ],
)
def test_a_pointer_beside_one_that_is_freed(mark: str, end: str) -> None:
    check(TWO % (mark, end))


STAGED = """
import collections
import pycuda.driver as cuda

class Memory:
    def __init__(self, n):
        self.pinned = []
        self.recent = collections.deque(maxlen=4)
        self.early = collections.deque([], 4)
        self.unending = collections.deque(maxlen=None)
        self.host = cuda.register_host_memory(cuda.aligned_zeros((n,), float))

    def stage(self, curve):
        locked = cuda.register_host_memory(curve)
        %s
        return locked
"""


def test_registered_host_memory() -> None:
    check(STAGED % "self.pinned.append(locked)  # TML702")
    check(STAGED % "self.pinned = [locked]")


def test_a_container_with_a_limit_lets_go_by_itself() -> None:
    check(STAGED % "self.recent.append(locked)")
    check(STAGED % "self.early.append(locked)")
    check(STAGED % "self.unending.append(locked)  # TML702")


TERM = """
from cupy.cuda import runtime

def free_all(*pointers):
    for pointer in pointers:
        runtime.free(pointer)

class Term:
    def __init__(self, n):
        self.d_forces = runtime.malloc(n * 24)

    def close(self):
        runtime.free(self.d_forces)

class Nonbonded(Term):
    def __init__(self, n, scales):
        super().__init__(n)
        self.d_pairs = runtime.malloc(n * 8)
        self.d_scales = runtime.malloc(scales.nbytes)%s

    def launch(self, coords):
        self.kernel((32,), (32,), (coords, self.d_pairs, self.d_scales))

    def close(self):
        super().close()
        %s
"""


@pytest.mark.parametrize(
    ("mark", "end"),
    [
        ("  # TML702", "runtime.free(self.d_pairs)"),
        ("", "runtime.free(self.d_pairs)\n        runtime.free(self.d_scales)"),
        ("", "for one in (self.d_pairs, self.d_scales):\n            runtime.free(one)"),
        ("", "runtime.free(self.d_pairs)\n        free_all(self.d_scales)"),
        ("", "runtime.free(self.d_pairs)\n        self.spare = self.d_scales"),
        ("", "runtime.free(self.d_pairs)\n        runtime.free(getattr(self, 'd_scales'))"),
    ],
)
def test_a_pointer_of_an_object_beside_one_that_it_frees(mark: str, end: str) -> None:
    check(TERM % (mark, end))


PLAN = """
from cupy.cuda import runtime

class Plan:
    def __init__(self, n):
        self.n, self.workspace = n, 0

    def %s(self, points):
        %s

    def close(self):
        runtime.free(self.workspace)
        self.workspace = 0

def run(frames):
    plan = Plan(8)
    for points in frames:
        plan.%s(points)
    plan.close()
"""


@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("set_points", "self.workspace = runtime.malloc(len(points))  # TML702"),
        ("set_points", "if self.workspace == 0:\n            self.workspace = runtime.malloc(len(points))"),
        ("set_points", "self.close()\n        self.workspace = runtime.malloc(len(points))"),
        ("setup", "self.workspace = runtime.malloc(len(points))"),
    ],
)
def test_a_pointer_that_each_call_replaces(method: str, body: str) -> None:
    check(PLAN % (method, body, method), prelude="")


PILED = """
import cupy as cp
import tensorrt as trt

FRAMES = []
SHARED = {}

class Engine:
    def __init__(self, engine):
        self.engine, self.contexts = engine, [engine.create_execution_context()]
        SHARED["scale"] = cp.ones(8)

    def infer(self, image):
        context = self.engine.create_execution_context()
        %s
        return context.execute_v2([image])

def push(frame):
    frames = []
    block = cp.asarray(frame)
    %s
    return float(block.sum())
"""


@pytest.mark.parametrize(
    ("context", "frame"),
    [
        ("self.contexts.append(context)  # TML702", "frames.append(block)"),
        ("self.contexts[0] = context", "FRAMES.append(block)  # TML702"),
        ("print(context)", "FRAMES.append(float(block.sum()))"),
    ],
)
def test_what_piles_up_on_the_device(context: str, frame: str) -> None:
    check(PILED % (context, frame), prelude="")


BY_IDENTITY = """
from numba import cuda

class Projector:
    def __init__(self):
        self.copies, self.names = {{}}, {{}}

    def to_device(self, array, name):
        {key}
        if key not in self.copies:
            self.copies[key] = cuda.to_device(array){mark}
        return self.copies[key]

    def project(self, volume):
        copy = self.to_device(volume, "volume")
        {then}
        return copy.copy_to_host()
"""


@pytest.mark.parametrize(
    ("key", "then", "mark"),
    [
        ("key = id(array)", "pass", "  # TML702"),
        ("key = (id(array), array.shape)", "pass", "  # TML702"),
        ("key = id(array)", "self.copies.clear()", ""),
        ("key = name", "pass", ""),
        ("key = array.shape", "pass", ""),
    ],
)
def test_copies_on_the_device_by_identity(key: str, then: str, mark: str) -> None:
    check(BY_IDENTITY.format(key=key, then=then, mark=mark), prelude="")
