"""A PyCUDA object outlives its thread's context; its destructor frees nothing.

## What it does
Reports a thread that makes a context, allocates in it, keeps the allocation
on `self` or puts it into a queue, and pops the context without having let go
of it.

## Why it retains
A `DeviceAllocation`, array, stream or event is freed by its destructor, in
the context that it was made in, and refers to that context. Where the last
reference goes in another thread, the destructor cannot activate the context:
it gives up with a warning, and the memory stays allocated as long as the
context.

## When it is fine
- The thread frees or drops its objects before it pops: `self.buffer.free()`,
  `del buffer`, `self.buffer = None`.
- The results leave the thread as host arrays, `buffer.get()`.
- The thread detaches its context, which goes with all that was allocated in
  it.

## How to release it
Free in the thread that allocated, before `pop()`, best in a `finally`; hand
host arrays to others.

## References
- PyCUDA, `src/cpp/cuda.hpp`: destructors catch
  `cannot_activate_out_of_thread_context`, warn, and free nothing.
- The allocation and its thread's context stay, 526 MiB a thread on an H200,
  also when the last reference goes later: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...lexical.device_threads import outlives_context
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML705"
name = "device-object-dies-elsewhere"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    for slip in outlives_context(evidence.program):
        where = "goes to another thread" if slip.kind else "stays on its object"
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.name}` {where} when this thread pops its context: its destructor then runs where the context "
                "is not current and frees nothing; free it here, before `pop()`"
            ),
            confidence=Confidence(slip.weight),
            value="device memory of one context",
            holder=slip.name,
            release=f"`{slip.name}.free()`, or drop it, before the context is popped",
            related=((slip.other, "the context is popped here"),),
        )
