"""A step hook hands out or collects values that still carry their graph.

## What it does
Reports step methods in the style of a trainer framework (`training_step`,
`validation_step`, `test_step` and their kind) which

- collect outputs on `self` and never empty that collection, or
- return values with a graph beside the one that is back-propagated to a loop
  which collects the returned values.

## Why it retains
A framework calls the hook once per batch and an end-of-epoch hook once per
epoch. What the step puts into the collection holds the whole forward pass of
its batch. Predictions and metrics beside the loss are not spent by
`loss.backward()`: what they alone saved stays in full. If no end-of-epoch hook
empties the collection, it also grows from epoch to epoch, with or without
graphs.

## When it is fine
- The collection is emptied at the end of the epoch and holds detached values.
- Only the loss that is back-propagated is returned.
- The framework detaches what it keeps. Lightning does so for the extra entries
  of a `training_step` result, and it runs validation, test and predict hooks
  with gradients off; plain tensors that are collected on `self` then hold no
  graph, but are still kept until they are cleared.

## How to release it
Collect `value.detach()` (or `.item()`, or a metric object that keeps sums),
and clear the list in the end-of-epoch hook: `self.outputs.clear()`.

## References
- Lightning documentation, migration to 2.0: `*_epoch_end` hooks were removed;
  collect outputs yourself and clear them ("free memory").
- Lightning-AI/pytorch-lightning#16520, the change and its discussion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Retains
from .. import Report
from ..retained import cost, detach, of_code, place, report, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML107"
name = "step-output-keeps-graph"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        holder = retention.holder
        if retention.graph:
            what, release = f"{cost(retention)}", "collect `value.detach()` or `value.item()`"
        else:
            what, release = "every batch's tensors stay", "empty it in the epoch's end hook"
        message = f"{place(holder)} collects step outputs: {what} {until(holder)}; {release}"
        value = "autograd graph" if retention.graph else "step outputs"
        remedy = detach(evidence, retention) if retention.graph else None
        yield report(retention, confidence, message, value, release, remedy=remedy)
