"""Arrays of CuPy that go, and torch's cache that is emptied after them: their blocks are in a pool of CuPy's own."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

SCANS = """
import gc

try:
    import cupy as cp
except ImportError:
    cp = None

class Work:
    def __init__(self, scan):
        self.scan = scan
        self.volume = cp.zeros((64, 64, 64), dtype=cp.float32)

    def step(self):
        self.volume += cp.asarray(self.scan)

    def release(self):
        self.volume = None
        {release}

def free():
    gc.collect()
    torch.cuda.empty_cache()

def rebuild(scan, net):
{body}

def main(scans, net):
    for scan in scans:
        rebuild(scan, net)
"""
GUILTY = {
    "an array": """
        a = cp.asarray(scan)
        out = cp.asnumpy(cp.fft.fft2(a))
        del a
        torch.cuda.empty_cache()  # TML702
        return out
        """,
    "an object of arrays": """
        work = Work(scan)
        work.step()
        out = cp.asnumpy(work.volume)
        del work
        gc.collect()
        torch.cuda.empty_cache()  # TML702
        return out
        """,
    "two, by a helper": """
        a, b = cp.asarray(scan), cp.zeros_like(scan)
        b = cp.sqrt(a).astype("f4")
        out = float(b.mean())
        a = b = None
        free()  # TML702
        return out
        """,
    "in a finally": """
        a = cp.array(scan)
        try:
            return cp.asnumpy(a * 2)
        finally:
            del a
            torch.cuda.empty_cache()  # TML702
        """,
}
FIRST = GUILTY["an array"].replace("  # TML702", "")
INNOCENT = {
    "the pool is emptied": FIRST.replace("torch.cuda", "cp.get_default_memory_pool().free_all_blocks()\ntorch.cuda"),
    "no pool": "cp.cuda.set_allocator(None)\n" + textwrap.dedent(FIRST),
    "memory of torch": FIRST.replace("cp.asarray(scan)", "cp.from_dlpack(net(scan))"),
    "that of a tensor": FIRST.replace("cp.asarray(scan)", "cp.asarray(scan.detach())"),
    "tensors as well": FIRST.replace("del a", "x = torch.rand(64, 64).cuda()\ndel a, x"),
    "on the host": FIRST.replace("cp.asarray(scan)", "cp.asarray(scan).get()"),
    "nothing goes": FIRST.replace("del a", "pass"),
}


def scans(body: str, release: str = "pass") -> str:
    lines = [line.strip() if line.startswith("torch.cuda") else line for line in textwrap.dedent(body).splitlines()]
    return SCANS.format(body=textwrap.indent("\n".join(lines), 4 * " "), release=release)


@pytest.mark.parametrize("body", GUILTY.values(), ids=GUILTY)
def test_blocks_that_the_pool_keeps(body: str) -> None:
    check(scans(body))


def test_an_attribute_that_goes() -> None:
    check(scans("return None", "torch.cuda.empty_cache()  # TML702"))
    check_innocent(scans("return None", "cp.get_default_memory_pool().free_all_blocks()"))


@pytest.mark.parametrize("body", INNOCENT.values(), ids=INNOCENT)
def test_blocks_that_go_back(body: str) -> None:
    text = "\n".join(line.strip() for line in body.strip().splitlines())
    check_innocent(scans(text))


def test_arrays_of_numpy() -> None:
    check_innocent(scans(FIRST).replace("import cupy as cp", "import numpy as cp"))
