"""A recurrent or cached state goes into the next step together with its graph.

## What it does
Reports a hidden, recurrent, streaming or key/value state which one step
computes and the next one consumes, as a loop variable, on `self` or in a
buffer, without being cut from its graph in between.

## Why it retains
The state of step *n* is a function of the state of step *n - 1*, and so on.
Its graph therefore covers all steps since the state was first made. Where
nothing is back-propagated, as in streaming or generation, every step adds all
its activations. Where each step calls `backward()`, the second call fails with
"Trying to backward through the graph a second time", or runs through the whole
past if `retain_graph=True` was set to make that error go away.

## When it is fine
- The loop is one sequence and its sum is back-propagated at the end: plain
  back-propagation through time.
- The state is cut at the border of each step or chunk, or begins anew in the
  same period. A `reset()` method that the loop does not call is no release.
- The steps run with gradients off, on every path.

## How to release it
`state = state.detach()` after the step; for tuples, detach each element:
`state = tuple(s.detach() for s in state)`. When the state is only used for
inference, run the step under `torch.no_grad()`.

## References
- PyTorch documentation, "Frequently Asked Questions": "Don't run RNNs on
  sequences that are too large", with truncated back-propagation through time.
- PyTorch examples, word language model: hidden states are detached between
  chunks.
- pytorch/pytorch#2198 and pytorch/pytorch#40005, reports of growth and of the
  second-backward error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Remedy, Retains
from .. import Report
from ..retained import every, of_code, place, report, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML105"
name = "carried-state-not-detached"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        holder = retention.holder
        message = (
            f"{place(holder)} goes into the next {every(retention)} with its graph: the graphs of all earlier ones "
            f"stay {until(holder)}; detach it between {every(retention)}s"
        )
        release = "detach the state before it is used again, or run under `torch.no_grad()`"
        if len(retention.store_event.tensors) == 1:
            remedy: Remedy | None = Remedy("detach-carried", holder.text, sure=False)
        else:  # a pair of tensors has no `detach`
            remedy = None if evidence.wanted(retention) else Remedy("no-grad", sure=False)
        yield report(retention, confidence, message, "recurrent state with its graph", release, remedy=remedy)
