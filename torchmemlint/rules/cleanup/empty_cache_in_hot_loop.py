"""The cache is emptied, or garbage collected, in every round of an inner loop.

## What it does
Reports `empty_cache()` and `gc.collect()` as statements of an innermost loop.

## Why it retains
It keeps nothing, and frees nothing that is held: a tensor that something refers
to stays. Emptying the cache each round makes the allocator ask the driver for
the same blocks again in the next one, with a synchronisation each time.

## When it is fine
- The rounds need blocks of very different sizes, and fragmentation was
  measured.
- The loop goes over whole models, not over batches.

## How to release it
Remove the call, or make it once, after the loop and after the references are
dropped.

## References
- PyTorch documentation, "Memory management" in the notes on CUDA semantics:
  "calling this function releases all unused cached memory ... However, the
  occupied GPU memory by tensors will not be freed".
- That the live bytes are the same with and without: asserted by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.cleanup import emptied_in_loop
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML606"
name = "empty-cache-in-hot-loop"
retains: Retains | None = None
preview = True


def check(evidence: Evidence) -> Iterator[Report]:
    for slip in emptied_in_loop(evidence.program):
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.name}()` in every round frees nothing that is still referred to, and the next round pays for "
                "it; call it once after the loop, or not at all"
            ),
            confidence=Confidence(slip.weight),
            release="remove the call, or make it once after the loop",
            remedy=Remedy("drop-statement", sure=False),
        )
