"""The cache is emptied before the collector runs.

## What it does
Reports `empty_cache()` that is followed by `gc.collect()`, with no other
`empty_cache()` after that. It is sure of itself only where the function drops a
model, a trainer or the like; elsewhere it speaks with low confidence.

## Why it retains
`empty_cache()` gives back blocks that no tensor uses at this moment. Objects in
a reference cycle, and models, trainers and exceptions often sit in one, are
still alive then; the collector frees them afterwards, and their memory stays
reserved by the allocator: this process can use it again, others cannot.

## When it is fine
- Nothing that was dropped sits in a cycle: then neither call is needed.
- Another `empty_cache()` follows.

## How to release it
Swap the lines: `gc.collect()` first, `torch.cuda.empty_cache()` last.

## References
- PyTorch documentation, `torch.cuda.empty_cache`: "Releases all unoccupied
  cached memory currently held by the caching allocator"; Python documentation,
  `gc.collect`.
- What is still alive when the cache is emptied: measured by this rule's
  fixtures. On a GPU the whole cycle stays reserved, and nothing of it in the
  other order (`benchmarks/folklore_device.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.borrowed import borrowed
from ...lexical.cleanup import Slip, emptied_before_collected
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML601"
name = "empty-cache-before-collect"
retains: Retains | None = Retains.CACHED


def check(evidence: Evidence) -> Iterator[Report]:
    for slip in evidence.across(emptied_before_collected, "empty_cache", levels=1):
        if _is_still_bound(evidence, slip):
            continue  # in whatever order: TML602 speaks of it
        dropped = f"`{slip.name}`" if slip.name else "what was dropped"
        yield Report(
            site=slip.site,
            message=(
                f"the cache is emptied while {dropped} may still sit in a reference cycle: what `gc.collect()` frees "
                "afterwards stays reserved; call `gc.collect()` first and `empty_cache()` last"
            ),
            confidence=Confidence(slip.weight),
            value="blocks that the collector frees",
            holder="the caching allocator",
            release="`gc.collect()` first, then `empty_cache()`",
            related=((slip.other, "collected only here"),),
            remedy=Remedy("move-last", "collect"),
        )


def _is_still_bound(evidence: Evidence, slip: Slip) -> bool:
    """Whether whoever calls the function goes on binding what that lets go of."""
    starts = [function.site for function in evidence.facts.functions]
    return any(
        other.name == slip.name and other.site < slip.site and not any(other.site < one < slip.site for one in starts)
        for other in evidence.across(borrowed, "empty_cache", levels=1)
    )
