"""A step hook hands out or collects values that still carry their graph.

## What it does
Reports step methods in the style of a trainer framework (`training_step`,
`validation_step`, `test_step` and their kind) which

- collect outputs on `self` and never empty that collection, or
- return values with a graph beside the one that is back-propagated to a loop
  which collects the returned values.

It also reports the list of a loop, a callback or a module that collects what
the model gave for each batch of an evaluation, that the end of the evaluation
goes over or hands to a hook such as `validation_epoch_end`, and that only the
beginning of the next one empties: `setup`, `on_validation_epoch_start`. And it
reports a step that returns logits or dense targets which the class's own
`training_epoch_end` (or that of its kind) never reads: for that hook the
framework gathers what all steps of the epoch returned.

## Why it retains
A framework calls the hook once per batch and an end-of-epoch hook once per
epoch. What the step puts into the collection holds the whole forward pass of
its batch. Predictions and metrics beside the loss are not spent by
`loss.backward()`: what they alone saved stays in full. If no end-of-epoch hook
empties the collection, it also grows from epoch to epoch, with or without
graphs. If the next beginning empties it, it does not grow; but the outputs of
the whole evaluation set lie beside the activations of all of the training that
comes between.

## When it is fine
- The collection is emptied at the end of the epoch and holds detached values.
- Numbers, sums or copies on the host are collected.
- Other code reads the list after the end: it is a result.
- Only the loss that is back-propagated is returned, and what the end of the
  epoch reads.
- The framework detaches what it keeps. Lightning does so for the extra entries
  of a `training_step` result, and it runs validation, test and predict hooks
  with gradients off; plain tensors that are collected on `self` then hold no
  graph, but are still kept until they are cleared.

## How to release it
Collect `value.detach()` (or `.item()`, or a metric object that keeps sums),
and clear the list in the end-of-epoch hook: `self.outputs.clear()`. To hand it
on and let it go at once: `outputs, self.outputs = self.outputs, []`.

## References
- Lightning documentation, migration to 2.0: `*_epoch_end` hooks were removed;
  collect outputs yourself and clear them ("free memory").
- Lightning-AI/pytorch-lightning#16520, the change and its discussion; #5735,
  an evaluation loop that kept its outputs until its next run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts.model import statement_of
from ...finding import Confidence, Retains
from ...lexical.epoch_lists import EpochList, epoch_lists
from ...lexical.unread_entries import UnreadEntry, unread_entries
from .. import Report
from ..detaching import detach
from ..retained import cost, of_code, place, report, speaks_of, until

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
    said = {statement_of(retention.site) for retention in evidence.retentions if speaks_of(retention)}
    for one in () if evidence.in_tests else epoch_lists(evidence.facts, lambda: evidence.releases):
        if statement_of(one.site) not in said:
            yield _report_full(one)
    yield from (_report_unread(one) for one in unread_entries(evidence.facts))


def _report_full(one: EpochList) -> Report:
    """Of a list that stays full from one evaluation to the next."""
    return Report(
        site=one.site,
        message=(
            f"`self.{one.attribute}` (class {one.cls}) keeps the step outputs of the whole evaluation after "
            f"`{one.end}` has used them: only `{one.begin}` empties it, when the next one begins; empty it in "
            f"`{one.end}`"
        ),
        confidence=Confidence.MEDIUM,
        value="the step outputs of an evaluation",
        holder=f"self.{one.attribute}",
        release=f"empty it in `{one.end}`: `outputs, self.{one.attribute} = self.{one.attribute}, []`",
        retains=Retains.HELD,
        related=((one.used, "used up here"),) if one.used != one.site else (),
    )


def _report_unread(one: UnreadEntry) -> Report:
    """Of an entry of a step's result that is gathered for nobody."""
    return Report(
        site=one.site,
        message=(
            f"`{one.step}` returns `{one.key}`, which `{one.end}` never reads: for that hook the framework gathers the "
            "results of all steps, and this entry of each stays until the epoch ends; leave it out of what is returned"
        ),
        confidence=Confidence.MEDIUM,
        value=f"the `{one.key}` of every step",
        holder=f"the outputs gathered for `{one.end}`",
        release="return only what the end of the epoch reads",
        retains=Retains.PEAK,
        related=((one.defined, "for this hook they are gathered"),),
    )
