"""A network that only supplies constants is run with gradients recorded.

## What it does
Reports the call of a frozen role (target network, teacher, reference model,
moving-average copy, the critic in the other player's step) that runs with
gradients on while its result is used as a constant.

## Why it retains
The loss takes the target as a value to compare with. If the target carries a
graph, its activations are saved and held until `backward()`, the backward pass
runs through the target as well, and its parameters receive `.grad` tensors
of their own size that no optimizer ever uses or resets. The step costs the
memory of two trainings, and the gradients are wrong where the target depends
on the trained network.

## When it is fine
- The call stands under `no_grad` or `inference_mode`.
- The result is detached before it enters the loss. The graph then goes
  at once.
- The parameters of the frozen network do not require gradients and neither do
  its inputs.
- Both networks are trained by this loss.

## How to release it
Compute the target in a `with torch.no_grad():` block. Additionally freeze the
copy once: `target.requires_grad_(False)`.

## References
- PyTorch tutorials, "Reinforcement Learning (DQN) Tutorial": the target
  values are computed under `no_grad`.
- PyTorch documentation, "Autograd mechanics", "Setting requires_grad" and
  "Locally disabling gradient computation".
- Peak bytes and gradients left behind: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts.knowledge import FROZEN_ROLES
from ...finding import Confidence, Remedy, Retains
from .. import Report

if TYPE_CHECKING:
    from ...facts.evidence import Evidence

code = "TML204"
name = "target-network-graph"
retains: Retains | None = Retains.PEAK


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[int] = set()
    for recording in evidence.recordings:
        if not recording.demanded or recording.call.attached_input or recording.site in seen:
            continue
        if not _frozen_role(recording.module) or not evidence.meets_others(recording):
            continue
        seen.add(recording.site)
        yield Report(
            site=recording.site,
            message=(
                f"`{recording.module}` only gives a target, but its graph goes into the loss: its activations stay "
                "until the backward; call it under `torch.no_grad()`"
            ),
            confidence=Confidence(min(recording.weight, 2)),
            value="activations of a network that is not trained here",
            holder="the loss's graph",
            release="compute the target under `torch.no_grad()`, or freeze the network's parameters",
            remedy=Remedy("constant", sure=False),
        )


def _frozen_role(name: str) -> bool:
    return any(role in name.lower() for role in FROZEN_ROLES)
