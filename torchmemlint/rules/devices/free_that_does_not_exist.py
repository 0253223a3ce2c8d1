"""Memory is freed by a function that the library does not have.

## What it does
Reports calls such as `pycuda.driver.mem_free(pointer)` and
`torch.cuda.clear_cache()`: names that are often written and do not exist.

## Why it retains
It keeps nothing by itself: it frees nothing either. The call raises
`AttributeError`; inside `__del__` Python prints the error and goes on, so that
the clean-up seems to work.

## When it is fine
Never: the call cannot succeed.

## How to release it
PyCUDA: drop the `DeviceAllocation`, or call its `free()`. torch: drop the
references; `torch.cuda.empty_cache()` then returns the cached blocks.

## References
- PyCUDA documentation, `pycuda.driver.DeviceAllocation.free`; its driver module
  has `mem_alloc` and no counterpart.
- That `torch.cuda` has none of these names in version 2.13: asserted by this
  rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.devices import absent
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML704"
name = "free-that-does-not-exist"
retains: Retains | None = None


def check(evidence: Evidence) -> Iterator[Report]:
    for slip in absent(evidence.program):
        yield Report(
            site=slip.site,
            message=f"`{slip.name}` does not exist, so this raises and frees nothing: {slip.kind}",
            confidence=Confidence(slip.weight),
            release=slip.kind,
            remedy=Remedy("rename", "empty_cache") if slip.kind.endswith("called `torch.cuda.empty_cache()`") else None,
        )
