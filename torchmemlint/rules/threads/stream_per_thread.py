"""A device stream is made for each task, and its cached blocks serve no other.

## What it does
Reports `torch.cuda.Stream()` in the body of a loop, in a function that a loop
calls, runs in one thread after the other or hands to an executor, or in
`forward`, where nothing keeps the stream to use it again. And streams of an
object that a loader makes anew for each pass.

## Why it retains
The caching allocator keeps freed blocks by the stream that they were
allocated on, and gives them to that stream only. Streams come from a pool of
32 for each device and priority, in turn: until all have been used each new
one begins with nothing and reserves blocks of its own, so that up to 32 times
the memory of one task stays reserved.

## When it is fine
- The stream is made once, on the object or for each long-lived thread.
- It is kept in a list or table and used again.

## How to release it
Make the stream once and keep it: `self.stream = torch.cuda.Stream()` in
`__init__`, or one for each worker thread in a `threading.local()`.
`torch.cuda.empty_cache()` gives back what is cached for all streams.

## References
- PyTorch documentation, "CUDA semantics", "Memory management".
- `c10/cuda/CUDAStream.h`: 32 streams in each pool, given out in turn.
- Reserved bytes per request, with cuBLAS's workspace for each stream among
  them: measured by this rule's fixtures on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...lexical.device_threads import stream_each_time
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML506"
name = "stream-per-thread"
retains: Retains | None = Retains.CACHED


def check(evidence: Evidence) -> Iterator[Report]:
    for slip in stream_each_time(evidence.program):
        yield Report(
            site=slip.site,
            message=(
                f"a new stream for each {slip.name}: the allocator keeps freed blocks by stream, so what one has "
                "cached serves no other, for up to 32 streams; make it once and use it again"
            ),
            confidence=Confidence(slip.weight),
            value="cached blocks of every stream",
            holder="the caching allocator",
            release="make the stream once, and keep it on the object or in a `threading.local()`",
        )
