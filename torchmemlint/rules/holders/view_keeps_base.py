"""A part of a large tensor is kept, and with it all of the tensor.

## What it does
Reports a loop that collects a part of a tensor, `states[:, 0]`, `states[...,
-1:]`, the middle slice of a volume, `scan[scan.shape[0] // 2]`, or a box of a
picture, `frame[:, top:bottom, left:right]`, as it comes: detached or computed
without gradients, but a view; also where a function of the program takes the
part and returns it, or a hook was given the whole. So are rows of a batch that
an object keeps where only some of them get there, and an attribute that is left
with the first heads, or the last step, of what the same call has computed. So
is a weight that is cut down to its first rows, or to the part of one rank, and
becomes a parameter as it is.

## Why it retains
A basic index gives a view: a tensor of its own shape over the same storage.
The storage stays as long as any view of it, so a list of class tokens keeps
the hidden states of every token of every batch. `detach()` and `numpy()`
share it too.

## When it is fine
- The whole tensor is kept besides, or all of its rows are.
- The part is copied: `clone()`, `contiguous()` where that copies, `.cpu()` of
  a tensor on a device, an array's `copy()`, an index by a list or a mask.
- The base is no larger than its part, or all of its parts are in use.

## How to release it
Keep a copy: `tokens.append(states[:, 0].clone())`,
`nn.Parameter(layer.weight[:rows].clone())`.

## References
- PyTorch documentation, "Tensor Views": a view "shares the same underlying
  data with its base tensor".
- Storages that stay: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.cut_weights import cut_weights
from .. import Report
from ..detaching import holds_several
from ..kept import is_sure
from ..retained import speaks_of, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML309"
name = "view-keeps-base"
retains: Retains | None = Retains.GROWING
of_tests = False


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[int] | None = None
    for view in evidence.views():
        if seen is None:
            seen = {one.site for one in evidence.retentions if speaks_of(one) or is_sure(evidence, one)}
        if view.store.site in seen:
            continue
        seen.add(view.store.site)
        base = f"`{view.base}`" if view.base else "a batch"
        whole = f"all of {base}" if view.base else "the whole batch"
        if view.growing:
            message = f"`{view.holder.text}` collects a part of {base}, which is a view: the storage of {whole} stays"
            message += f" in each iteration; keep a copy, `.{view.copied_by}`"
        else:
            message = f"`{view.holder.text}` keeps a part of {base}, which is a view: the storage of {whole} stays"
            message += f" {until(view.holder)}; keep a copy, `.{view.copied_by}`"
        yield Report(
            site=view.store.site,
            message=message,
            confidence=Confidence(view.weight),
            value=f"the whole storage of each {base}" if view.base else "the storage of each batch",
            holder=view.holder.text,
            release=f"keep a copy, `.{view.copied_by}`",
            retains=Retains.GROWING if view.growing else Retains.HELD,
            remedy=None if holds_several(view.store) else Remedy("call-on-stored", view.copied_by, sure=False),
        )
    for cut in cut_weights(evidence.facts):
        yield Report(
            site=cut.site,
            message=(
                f"the new parameter is a part of `{cut.whole}`, which is a view: the storage of the whole weight stays "
                "with it, unless it is copied to another device; keep a copy, `.clone()`"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the whole storage of `{cut.whole}`",
            holder="the new parameter",
            release="keep a copy, `.clone()`",
            retains=Retains.HELD,
        )
