"""Weights or statistics are updated by arithmetic that autograd records.

## What it does
Reports an update of weights, of a moving average of weights or of running
statistics that is written as plain tensor arithmetic outside `no_grad`, from
values that carry a graph: `w = w - lr * g`,
`shadow[name] = d * shadow[name] + (1 - d) * p`,
`self.mean = m * self.mean + (1 - m) * x.mean(0)`. So is one that is written in
place into the weights of a frozen copy, `own.mul_(d).add_(p, alpha=1 - d)`.

## Why it retains
The new value is a function of the old one. Each update adds nodes, and each
node saves what its derivative needs, so after n updates the average reaches
all n predecessors and everything from which they were computed. A parameter
always requires gradients, so arithmetic with it is recorded even where no loss
is in sight.

## When it is fine
- The update runs under `no_grad`, or on `.data`, or on detached operands.
- `optimizer.step()` and `torch.optim.swa_utils.AveragedModel` do it: they
  turn recording off.
- The update is meant to be differentiated: an inner loop of meta-learning
  whose outer loss is back-propagated.

## How to release it
Put the update under `@torch.no_grad()` and do it in place:
`shadow.lerp_(param, 1 - decay)`. For statistics detach the input:
`self.mean.lerp_(x.detach().mean(0), momentum)`.

## References
- PyTorch documentation, "Autograd mechanics": "Locally disabling gradient
  computation" names updating parameters as a use of no-grad mode.
- PyTorch documentation, `torch.optim.swa_utils.AveragedModel`.
- Bytes and nodes per update: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Remedy, Retains
from .. import Report
from ..retained import of_code, place, report, until
from ..rewritten import is_conversion

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML205"
name = "parameter-update-with-graph"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        if is_conversion(retention.store_event):
            continue
        message = (
            f"{place(retention.holder)} is updated from parameters with gradients recorded: each update adds to a "
            f"graph that stays {until(retention.holder)}; update under `torch.no_grad()`"
        )
        release = "update under `torch.no_grad()`, or from `parameter.detach()`"
        remedy = Remedy("under-no-grad", sure=False)
        yield report(retention, confidence, message, "graph of the updates", release, remedy=remedy)
