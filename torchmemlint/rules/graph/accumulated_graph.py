"""A running total, mean or history is computed from values that carry a graph.

## What it does
Reports a statement that adds a value with an autograd graph to an accumulator
which outlives the step: `total += loss`, `total = total + loss`,
`self.sum += value`, `sums[key] += value`, a running mean or moving average
(`mean = m * mean + (1 - m) * loss`), an in-place update of a buffer
(`buffer.mul_(m).add_(x)`), what the `update` of a metric sums up of a model's
outputs where nobody detaches these, a tensor whose places are filled round by
round (`record[step] = loss`), and a history extended with `torch.cat`.

## Why it retains
The sum is itself a differentiable value. Its autograd node refers to the nodes
of both operands, so the accumulator reaches every step that was ever added.
What each step costs depends on when the value is kept:

- without a `backward()`, or before it, every activation saved for the backward
  pass stays: often megabytes a step;
- after `backward()` the saved activations are gone, but the chain of nodes
  stays. Tensor memory looks flat while host memory grows at every step.

An in-place update attaches the graph to the buffer, also when the name was
bound to a plain tensor before.

## When it is fine
- The accumulator is back-propagated before the next step begins, or is
  returned to a caller that does so: a sum of several losses of one step.
- The value carries no graph: it went through `.item()`, `.detach()`,
  `float()` or `.tolist()`, or was computed with gradients off.
- The accumulator is a Python number and the value is one as well.

## How to release it
Add a number: `total += loss.item()`. To stay on the device, add
`loss.detach()`; where the sum is a buffer, update it under
`torch.no_grad()` from detached values. `.clone()` is no release, the copy
carries the graph too.

## References
- PyTorch documentation, "Frequently Asked Questions": "Don't accumulate
  history across your training loop."
- PyTorch documentation, "Autograd mechanics": saved tensors, in-place
  operations.
- Nodes that stay after `backward()`: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import model as m
from ...facts.walk import statements
from ...finding import Confidence, Retains
from ...lexical.metric_totals import Total, metric_totals
from .. import Report
from ..detaching import detach
from ..retained import cost, of_code, place, report, unless_recorded, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...evidence.retentions import Retention

code = "TML101"
name = "accumulated-graph"
retains: Retains | None = Retains.GROWING

_SCALES = ("Divide", "Multiply")


def check(evidence: Evidence) -> Iterator[Report]:
    found = list(of_code(evidence, code))
    added = {_place(one) for one, _ in found if not _scales(one)}
    for retention, confidence in found:
        holder = retention.holder
        if _scales(retention) and _place(retention) in added:
            continue  # reported where it grows
        message = (
            f"{place(holder)} adds up values that carry their graph: {cost(retention)} {until(holder, retention)}; "
            f"add `.item()` or `.detach()`{unless_recorded(retention)}"
        )
        release = "add a number, `value.item()`, or a detached tensor, `value.detach()`"
        yield report(retention, confidence, message, "autograd graph", release, remedy=detach(evidence, retention))
    said = {m.statement_of(one.store) for one, _ in found}
    for one in metric_totals(evidence.program, lambda: evidence.whole):
        if m.statement_of(one.site) not in said:
            yield _of_what_is_given(one)


def _of_what_is_given(total: Total) -> Report:
    return Report(
        site=total.site,
        message=(
            f"`{total.place}` is computed from itself and from `{total.given}`, and keeps the graph that this has, of "
            f"every pass, as long as its object lives; compute it from `{total.given}.detach()`, or under "
            "`torch.no_grad()`"
        ),
        confidence=Confidence.MEDIUM,
        value="autograd graph",
        holder=total.place,
        release=f"compute it from `{total.given}.detach()`, or under `torch.no_grad()`",
    )


def _place(retention: Retention) -> tuple[str, str]:
    """What is added up, whichever method does so."""
    holder = retention.holder
    return holder.text, holder.owner if holder.kind == "attribute" else retention.function


def _scales(retention: Retention) -> bool:
    """`total /= steps`, `total = total / steps`: a total that is made elsewhere."""
    store = retention.store_event
    for one in statements(store.frame.facts.body):
        if one[1] == store.site and one[0] == m.AUGMENT:
            return one[3] in _SCALES
        if one[1] == store.site and one[0] == m.ASSIGN:
            return bool(one[3][0] == m.ARITH and one[3][1] in _SCALES and one[3][2] in one[2])
    return False
