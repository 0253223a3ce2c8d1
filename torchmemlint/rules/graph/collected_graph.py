"""A value that carries a graph is put into a container that outlives the step.

## What it does
Reports `append`, `extend`, `insert`, `+=`, `d[key] = value` and
`d.setdefault(key, []).append(value)` where the value carries an autograd graph
and the list, dict, set or deque lives longer than the step that made it. So is
a value that each step of a training leaves on another object which was there
before, `sample.hidden = net(sample.x)`, also one that the step goes back
through.

## Why it retains
A tensor with a `grad_fn` owns its graph: the nodes of the whole forward pass
and, until `backward()` has run, the activations which they saved. One element
of the container is one step. After `backward()` the element holds its own
storage and the chain of nodes, which shows as growing host memory and not as
tensor memory.

## When it is fine
- The container is made, filled, combined (`stack`, `cat`, `sum`) and
  back-propagated or returned within the same call, as in a `forward` that
  collects its layers' outputs.
- It is emptied in every step. Emptying it once an epoch, or when statistics are
  logged, is too late: until then the graphs of all steps stand in memory.
- The values are detached, or are computed with gradients off. A view or an
  unchanged `.to()` of a value that has a graph keeps it, also with gradients
  off.
- A bounded `deque` keeps at most `maxlen` graphs; that is a constant. One with
  room for a thousand or more is reported: a replay memory that is never full.
- A dictionary has a few keys that are all there from the start, names of losses
  or layers: each step replaces what the one before it left.
- What is left on a sample is taken off again in the same step, or the objects
  have a model of their own, as agents do.

## How to release it
Store `value.item()`, or `value.detach()` where the tensor itself is needed;
`value.detach().cpu()` when it should not stay on the device.

## References
- PyTorch documentation, "Frequently Asked Questions": "Don't hold onto
  tensors and variables you don't need."
- PyTorch documentation, "Autograd mechanics": how autograd encodes the
  history, and "Locally disabling gradient computation".
- Views that keep their graph under `no_grad`: measured with torch 2.13.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.left_on_items import is_left_on_item
from ...finding import Retains
from .. import Report
from ..detaching import detach
from ..retained import cost, of_code, place, report, unless_recorded, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML102"
name = "collected-graph"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        holder = retention.holder
        if any(is_left_on_item(retention.store_event, loop) for loop in retention.loops):
            message = (
                f"each iteration leaves a value with its graph on another object, in {place(holder)}: "
                f"{cost(retention)} {until(holder, retention)}; use a variable, or take it off after the step"
            )
            yield report(
                retention, confidence, message, "autograd graph", "use a variable, or take it off after the step"
            )
            continue
        message = (
            f"{place(holder)} collects values that carry their graph: {cost(retention)} {until(holder, retention)}; "
            f"collect `.item()` or `.detach()`{unless_recorded(retention)}"
        )
        release = "collect numbers, `value.item()`, or detached tensors, `value.detach()`"
        yield report(retention, confidence, message, "autograd graph", release, remedy=detach(evidence, retention))
