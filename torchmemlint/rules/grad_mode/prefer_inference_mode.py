"""`no_grad` is used where the result never meets autograd again.

## What it does
Reports a `no_grad` block or decorator on a pure inference path. It is an
opt-in rule: select it by its code or with `--preview`.

## Why it retains
It keeps nothing. Under `no_grad` tensors still carry the version counters and
the view records that autograd needs; `inference_mode` leaves them out, which
saves a little time and a few bytes for each tensor. It also fails loudly if
such a tensor is later to be saved for a backward pass.

## When it is fine
- The result is used in a loss, is stored as a parameter or buffer that is
  trained later, or is updated in place afterwards.
- The code must run where inference mode is not supported, under some compilers
  and exporters for example.

## How to release it
`with torch.inference_mode():` or `@torch.inference_mode()`.

## References
- PyTorch documentation, "Autograd mechanics": "Inference mode" and its
  comparison with no-grad mode.
- PyTorch documentation, `torch.inference_mode`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...finding import Retains

code = "TML206"
name = "prefer-inference-mode"
retains: Retains | None = None
preview = True


def check(evidence: Evidence) -> Iterator[Report]:
    for note in evidence.plain("no-grad-region"):
        yield Report(
            site=note.site,
            message=(
                "`no_grad` keeps version counters and view tracking for tensors that never meet autograd again; "
                "`inference_mode` does not"
            ),
            confidence=Confidence.LOW,
            release="use `torch.inference_mode()`",
            remedy=Remedy("inference-mode", sure=False),
        )
