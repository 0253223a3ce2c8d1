"""A named shared memory segment is created and never unlinked.

## What it does
Reports `SharedMemory(create=True, ...)` whose handle, wherever it goes in the
file, is closed at most and never unlinked, by nobody who attaches to it either,
or only in an `except` clause, or not where the function returns before that.
So are those of an attribute that are closed, and not unlinked, where the next
one is made. And objects with a segment and a method that unlinks it, which are
made again and again and dropped without that.

## Why it retains
`close()` unmaps the segment from this process; the segment itself, a file in
`/dev/shm`, stays until `unlink()`, or until the process that created it has
ended and its resource tracker clears up with a warning. A segment for each
batch fills the machine's shared memory while every process looks small.

## When it is fine
- One process calls `unlink()` when all have attached, or in a `finally`.
- A `SharedMemoryManager` owns the segments.
- The handle is returned to code that is not seen.

## How to release it
Let the last reader call `segment.close()` and `segment.unlink()`, or use
`with SharedMemoryManager() as manager: manager.SharedMemory(size)`.

## References
- Python documentation, `multiprocessing.shared_memory.SharedMemory.unlink`:
  "unlink() should be called once (and only once) across all the processes which
  have access to the shared memory block".
- Segments in `/dev/shm` after N and 2N steps: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...lexical.left_segments import left_segments
from ...lexical.piled_segments import piled_segments
from ...lexical.segments import never_unlinked, replaced_segments
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML407"
name = "shared-segment-never-unlinked"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for site, handle, leave in never_unlinked(evidence.program):
        named = f"`{handle}`" if handle else "its handle"
        if leave >= 0:
            who = f"this function unlinks its shared memory segment ({named}), but not on every way out"
        else:
            who = f"nothing unlinks this shared memory segment ({named})"
        yield Report(
            site=site,
            message=(
                f"{who}: `close()` only unmaps it, so it stays in /dev/shm until the process that made it ends; call "
                f"`unlink()` {'in a `finally`' if leave >= 0 else 'once, when its last reader is done'}"
            ),
            confidence=Confidence.HIGH,
            value="a shared memory segment",
            holder="/dev/shm",
            release="`unlink()`, once, after the last reader's `close()`",
            related=((leave, "leaves without it"),) if leave >= 0 else (),
        )
    for site, attribute, closed in replaced_segments(evidence.program):
        yield Report(
            site=site,
            message=(
                f"the segment that `{attribute}` had before is closed here and not unlinked: `close()` only unmaps it, "
                "so each one stays in /dev/shm until the process that made it ends; call `unlink()` as well"
            ),
            confidence=Confidence.MEDIUM,
            value="shared memory segments",
            holder="/dev/shm",
            release="`unlink()` after `close()`, or write into the same segment",
            related=((closed, "the one before is closed here"),),
        )
    for piled in piled_segments(evidence.program):
        yield Report(
            site=piled.site,
            message=(
                f"`{piled.holder}` gains a shared memory segment at each call, and only `{piled.end}()` unlinks them, "
                "when all is done: until then each one stays in /dev/shm; unlink the former ones as you go"
            ),
            confidence=Confidence.MEDIUM,
            value="shared memory segments",
            holder=piled.holder,
            release="`close()` and `unlink()` what nobody reads any more, or write into the same segment",
            related=((piled.made, "the segment is made here"),) if piled.made != piled.site else (),
        )
    for left in left_segments(evidence.program):
        yield Report(
            site=left.site,
            message=(
                f"each {left.cls} makes a shared memory segment, which stays in /dev/shm until it is unlinked, and "
                f"{left.fate}: call `{left.end}()` {left.when}"
            ),
            confidence=Confidence.MEDIUM,
            value="shared memory segments",
            holder="/dev/shm",
            release=f"call `{left.end}()` when it is done, or make one and reuse it",
            related=((left.started, "the segment is made here"),),
        )
