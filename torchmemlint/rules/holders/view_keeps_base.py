"""A part of a large tensor is kept, and with it all of the tensor.

## What it does
Reports a loop that collects a part of a tensor, `states[:, 0]`, `states[...,
-1]`, as it comes: detached or computed without gradients, but a view; also
where a function of the program takes the part and returns it.

## Why it retains
A basic index gives a view: a tensor of its own shape over the same storage.
The storage stays as long as any view of it, so a list of class tokens keeps
the hidden states of every token of every batch. `detach()` and `numpy()`
share it too.

## When it is fine
- The whole tensor is kept besides.
- The part is copied: `clone()`, `contiguous()` where that copies, `.cpu()` of
  a tensor on a device, an index by a list or a mask.
- The base is no larger than its part.

## How to release it
Keep a copy: `tokens.append(states[:, 0].clone())`.

## References
- PyTorch documentation, "Tensor Views": a view "shares the same underlying
  data with its base tensor".
- Storages that stay: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts.views import kept
from ...finding import Confidence, Remedy, Retains
from .. import Report

if TYPE_CHECKING:
    from ...facts.evidence import Evidence

code = "TML309"
name = "view-keeps-base"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[int] = set()
    for view in kept(evidence.machine):
        if view.store.site in seen:
            continue
        seen.add(view.store.site)
        yield Report(
            site=view.store.site,
            message=(
                f"`{view.holder}` collects a part of `{view.base}`, which is a view: the storage of all of "
                f"`{view.base}` stays in each iteration; keep a copy, `.clone()`"
            ),
            confidence=Confidence(view.weight),
            value=f"the whole storage of each `{view.base}`",
            holder=view.holder,
            release="keep a copy, `.clone()`",
            remedy=Remedy("call-on-stored", "clone()", sure=False),
        )
