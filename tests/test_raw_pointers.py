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
import pycuda.driver as cuda

class Memory:
    def __init__(self, n):
        self.pinned = []
        self.host = cuda.register_host_memory(cuda.aligned_zeros((n,), float))

    def stage(self, curve):
        locked = cuda.register_host_memory(curve)
        %s
        return locked
"""


def test_registered_host_memory() -> None:
    check(STAGED % "self.pinned.append(locked)  # TML702")
    check(STAGED % "self.pinned = [locked]")
