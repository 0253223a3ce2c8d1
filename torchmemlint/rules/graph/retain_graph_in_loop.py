"""A backward call keeps its graph although nothing differentiates it again.

## What it does
Reports `backward(retain_graph=True)` and
`torch.autograd.grad(..., retain_graph=True)` inside a loop or a step method
where no second backward pass through the same graph follows in that step.

## Why it retains
A backward call normally frees every saved activation as it goes.
With `retain_graph=True` they stay until the last reference to the graph goes,
which for a local name is when the next step rebinds it. So the activations of
one step are still there during `optimizer.step()`, during validation, and
while the next forward pass builds its own: in this rule's tagger 1.5 times the
bytes at the peak, and 2.9 times as many after the step (measured).
If the loss is also kept anywhere, each kept loss now holds all of its
activations instead of a chain of empty nodes.

The flag is often added to silence "Trying to backward through the graph a
second time". That error usually means that a state is carried from one step to
the next with its graph (TML105); then the flag turns an error into growth.

## When it is fine
Several losses share a part of the graph and are differentiated one after the
other; each call but the last keeps the graph. The last one should not.
A function that is given the loss, and takes no step, leaves it to its caller to
go through the graph once more.

## How to release it
Leave the argument out. If the error comes back, detach what is carried over.
Where several losses share a graph, add them and call `backward()` once, or
keep the graph in all calls except the last.

## References
- PyTorch documentation, `torch.Tensor.backward` and `torch.autograd.grad`:
  "in nearly all cases setting this option to True is not needed".
- Peak and held bytes with and without the flag: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.given_losses import may_go_on
from ...evidence.places import in_test
from ...facts import model as m
from ...facts.walk import calls_of, nodes, statements
from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import ATTACHED
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...interpreter.events import Backward

code = "TML103"
name = "retain-graph-in-loop"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[int] = set()
    outside = {backward.site for backward in evidence.backwards if backward.outside}
    retaining = [backward for backward in evidence.backwards if backward.retain and not backward.create]
    again = {backward.site for backward in retaining if evidence.differentiated_again(backward)}
    for backward in retaining:
        if backward.site in seen or not backward.tensors:
            continue
        repeats = [loop for loop in backward.loops if loop.kind in ("loop", "call")]
        weights = [tensor.weight for tensor in backward.tensors if tensor.graph == ATTACHED]
        if (
            not weights
            or not repeats
            or in_test(backward.frame)
            or backward.site in outside
            or backward.site in again
            or _goes_over_results(backward)
            or may_go_on(backward)
        ):
            continue
        seen.add(backward.site)
        drop = Remedy("drop-argument", "retain_graph", sure=evidence.is_certainly_last(backward))
        weight = min(3 if any(loop.kind == "loop" for loop in repeats) else 2, max(weights))
        yield Report(
            site=backward.site,
            message=(
                "`retain_graph=True` keeps the saved activations of a graph that no second backward goes through, "
                "until its last tensor is dropped; leave it out"
            ),
            confidence=Confidence(weight),
            value="saved activations",
            release="leave `retain_graph=True` out of the last backward of a step",
            remedy=drop,
        )


def _goes_over_results(backward: Backward) -> bool:
    """`for loss in losses: loss.backward(retain_graph=True)`: they may share what the last one was made from."""
    for loop in statements(backward.frame.facts.body):
        if loop[0] != m.FOR:
            continue
        items = {name for name in nodes(loop[2]) if name[0] == m.NAME}
        for call in (call for one in statements(loop[4]) for call in calls_of(one) if call[1] == backward.site):
            if (call[3][:1] or (call[2][1],))[0] in items or call[2][1] in items:
                return True
    return False
