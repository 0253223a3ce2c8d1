"""Device memory is allocated outside of torch's tensors and never freed.

## What it does
Reports `cudaMalloc`, `caching_allocator_alloc`, `cudaHostRegister` and the
like in a file without the matching free, or in a class or function without it
where each other one frees only its own; a pointer that a function frees itself,
but leaves behind where it returns or raises before that, or forgets beside
another one that it frees; one on an object that a larger allocation overwrites;
and buffers of PyCUDA, CuPy and Numba that a method appends to a list on its
object, or puts into a table under a number or the `id` of its argument,
call after call, where nothing takes them out, also in a method that prepares
them anew for each call.
So are objects that own such a pointer, or the lists of them that a helper
makes, where the function that has them made at each call never calls what frees
them.
So is Numba's `defer_cleanup()` around a loop that allocates. And a function
that lets go of arrays of CuPy and then empties torch's cache, where nothing
empties the memory pool of CuPy.

## Why it retains
A raw pointer is an integer: nothing is freed when the name goes. An owned
buffer, such as PyCUDA's `DeviceAllocation`, frees itself when its last
reference goes; a list on `self` that only grows is such a reference. CuPy's
arrays go to a pool of CuPy's own, and `torch.cuda.empty_cache()` gives back
what torch has cached: to torch that memory is in use until `free_all_blocks()`.

## When it is fine
- A `DeviceAllocation` or array in a local variable: it goes with its frame.
- The matching free is in a `finally`, or in a class that owns the pointer.
- Buffers that are made once, when the object is set up.

## How to release it
Allocate once and reuse the buffer; or wrap the pointer in an object that frees
it, used by `with`.

## References
- CuPy documentation, "Memory Management": the pool holds freed blocks.
- PyCUDA documentation, `pycuda.driver.DeviceAllocation`: "Once this object is
  deleted, its associated device memory is freed"; CUDA runtime API, `cudaFree`.
- Bytes per call: measured by this rule's fixtures on a GPU, with PyTorch and
  with Numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.foreign_pools import kept_by_pool
from ...finding import Confidence, Remedy, Retains
from ...lexical.allocations import not_freed
from ...lexical.device_owners import ALLOCATIONS, MEMORY, LeftOnDevice, left_on_device
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...lexical.devices import Slip

code = "TML702"
name = "raw-allocation-not-freed"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for left in evidence.across(left_on_device, *ALLOCATIONS):
        if left.owner.what == MEMORY:
            yield _left(left)
    for pool in kept_by_pool(evidence.machine, evidence.program):
        names = ", ".join(pool.names[:3])
        yield Report(
            site=pool.site,
            message=(
                f"`{names}` went back to CuPy's memory pool, which keeps the blocks for CuPy alone: this empties "
                "torch's own cache and gives none of them back; call "
                "`cupy.get_default_memory_pool().free_all_blocks()`"
            ),
            confidence=Confidence.MEDIUM,
            retains=Retains.CACHED,
            value=f"the blocks of `{names}`",
            holder="CuPy's memory pool",
            release="`cupy.get_default_memory_pool().free_all_blocks()`",
            related=((pool.gone, "goes here"),),
        )
    for slip in not_freed(evidence.program):
        if slip.kind == "deferred":
            yield _deferred(slip)
            continue
        early, over = slip.kind.startswith("early "), slip.kind.startswith("over ")
        beside = slip.kind.startswith("beside ")
        if slip.kind == "piled":
            message = (
                f"`{slip.name}` gains a device buffer at each call and nothing takes one out: device memory grows with "
                "the number of calls; allocate the buffer once and reuse it"
            )
        elif early:
            message = (
                f"`{slip.kind[6:]}` gives a raw pointer that this function frees, but not on every way out: the memory "
                f"stays until the process ends; call `{slip.name}` in a `finally`"
            )
        elif beside:
            message = (
                f"`{slip.kind[7:]}` gives a raw pointer that is forgotten where another one is freed: the memory stays "
                f"until the process ends; call `{slip.name}` on this one, too"
            )
        elif over:
            message = (
                f"`{slip.kind[5:]}` is overwritten with another allocation, and nothing frees the one before it: that "
                f"memory stays until the process ends; call `{slip.name}` first"
            )
        else:
            message = (
                f"`{slip.kind}` gives a raw pointer and nothing here frees it: the memory stays until the process "
                f"ends; call `{slip.name}` in a `finally`"
            )
        yield Report(
            site=slip.site,
            message=message,
            confidence=Confidence(slip.weight),
            value="device memory",
            holder=slip.name if slip.kind == "piled" else None,
            release="allocate once and reuse"
            if slip.kind == "piled"
            else f"`{slip.name}` {'first' if over else 'in a `finally`'}",
            related=((slip.other, _other(slip)),) if slip.other >= 0 else (),
            remedy=None
            if slip.kind == "piled" or early or over or beside
            else Remedy("free-in-finally", slip.name, sure=False),
        )


def _left(left: LeftOnDevice) -> Report:
    cls, end = left.owner.cls, left.owner.end
    return Report(
        site=left.site,
        message=(
            f"nothing calls `{end}()` of what this makes: a {cls} has a raw pointer, whose memory stays until the "
            f"process ends, and each time there is one more; call `{end}()` in a `finally`, or make it once"
        ),
        confidence=Confidence.MEDIUM,
        value="device memory",
        release=f"call `{end}()` in a `finally`, or make it once and reuse it",
        related=((left.owner.made, "allocated here"),),
    )


def _other(slip: Slip) -> str:
    """What the second place of a slip is."""
    if slip.kind.startswith("early "):
        return "leaves without it"
    return "frees another one" if slip.kind.startswith("beside ") else "allocated here"


def _deferred(slip: Slip) -> Report:
    return Report(
        site=slip.site,
        message=(
            "Numba frees no device memory before this block ends: each round of the loop in it adds its arrays; put "
            "`defer_cleanup()` around the part of a round that must not be interrupted"
        ),
        confidence=Confidence(slip.weight),
        value="the device arrays of every round",
        holder="the deallocations that Numba puts off",
        release="put `defer_cleanup()` into the loop, around what must not be interrupted",
        related=((slip.other, "allocates in each round"),),
    )
