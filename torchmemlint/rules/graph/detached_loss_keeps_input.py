"""A detached loss is kept whose scalar owns a storage as large as its input.

## What it does
Reports a `.detach()` of a scalar loss that is collected or stored, where the
loss function is one of those whose result owns an oversized storage.

## Why it retains
`.detach()` cuts the graph and shares the storage. The kernels of `mse_loss`,
`smooth_l1_loss`, `binary_cross_entropy` and `soft_margin_loss` with
`reduction="mean"` or `"sum"` first allocate the element-wise result and then
shrink only its shape. The scalar that is left owns the whole buffer: a kept
`loss.detach()` of a batch with a million elements holds four megabytes, not
four bytes. The same is true when the loss is computed under `no_grad` and
stored as it is.

Measured with torch 2.13 on the CPU. `l1_loss`, `huber_loss`, `cross_entropy`,
`nll_loss`, `binary_cross_entropy_with_logits`, `kl_div`, `poisson_nll_loss`,
`gaussian_nll_loss`, `ctc_loss`, the margin, embedding and triplet losses, and
a plain `.mean()` own a single element, and so does `mse_loss` with `weight=`.

## When it is fine
- A number is kept: `loss.item()`.
- The value is copied: `loss.detach().clone()`, or moved to another device, or
  the result of an arithmetic operation such as `loss.detach() / n`.
- The installed version of PyTorch has the fix for the issue below.

## How to release it
`losses.append(loss.item())`; without a synchronisation on a device,
`losses.append(loss.detach().clone())`.

## References
- pytorch/pytorch#185647, the issue about the oversized storage.
- The list of losses: measured with torch 2.13, see this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Remedy, Retains
from .. import Report
from ..detaching import is_sure
from ..retained import of_code, place, report, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML111"
name = "detached-loss-keeps-input"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        message = (
            f"{place(retention.holder)} keeps detached losses whose storage is as large as the loss's input "
            f"(torch 2.13 on the CPU), {until(retention.holder)}; keep `.item()` or `.detach().clone()`"
        )
        release = "keep `loss.item()`, or `loss.detach().clone()`"
        remedy = Remedy("detach", "clone()", sure=is_sure(evidence, retention.store_event))
        yield report(retention, confidence, message, "input-sized storage of a scalar", release, remedy=remedy)
