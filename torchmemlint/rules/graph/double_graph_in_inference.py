"""Derivatives are collected with a graph that nothing differentiates again.

## What it does
Reports `create_graph=True` in `torch.autograd.grad`, in
`torch.autograd.functional.jacobian` and `hessian` and their kind, where the
result is collected or returned as an output (Hessian rows, Jacobians, force
constants, saliency maps) and no later gradient or backward call uses it.

## Why it retains
With `create_graph=True` the derivative is itself a differentiable value. Each
collected row holds the graph of its own backward pass, and with it every
activation of the forward pass. With n rows there are n such graphs on top of
the first one. For a second derivative only the *first* call needs the flag;
the second one needs `retain_graph=True` while further rows follow, and
nothing after that.

## When it is fine
- The result enters a loss that is back-propagated: gradient penalties, forces
  in the training of a potential, meta-learning.
- The rows are detached when they are stored.

## How to release it
Drop `create_graph=True` from the last differentiation and keep
`retain_graph=True` there if more rows follow. Or store `row.detach()`.

## References
- PyTorch documentation, `torch.autograd.grad`: `create_graph` makes a
  graph of the derivative, for derivatives of higher order; `retain_graph`
  follows it by default.
- PyTorch documentation, `torch.autograd.functional.hessian`: `create_graph`.
- Bytes and nodes per row: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.places import last_part
from ...facts import model as m
from ...facts.walk import is_count, nodes, statements
from ...finding import Retains
from .. import Report
from ..detaching import detach
from ..retained import every, of_code, place, report, until

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...evidence.retentions import Retention

code = "TML110"
name = "double-graph-in-inference"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    derivation = evidence.machine.derivation
    handed_out = {store.site for store in evidence.machine.stores if store.node in derivation.escaped}
    for retention, confidence in of_code(evidence, code):
        holder = retention.holder
        node = retention.store_event.node
        if holder.kind == "local" and (retention.store_event.site in handed_out or node in derivation.demanded):
            continue  # a caller, or this function, differentiates what was made of it
        if holder.kind == "attribute" and _starts_from_leaves(retention):
            continue  # an unrolled training, through which another method goes back
        message = (
            f"{place(holder)} keeps gradients made with `create_graph=True` that nothing differentiates again: "
            f"a second graph of every {every(retention)} stays {until(holder)}; keep `.detach()`"
        )
        release = "keep `gradient.detach()`, or leave out `create_graph` in the last differentiation"
        remedy = detach(evidence, retention)
        yield report(retention, confidence, message, "graph of a gradient", release, remedy=remedy)


def _starts_from_leaves(retention: Retention) -> bool:
    """Whether the method that fills a list first detaches each entry of it, `self.rows[i] = self.rows[i].detach()` for
    each number of a range, and another method of the class differentiates."""
    frame, place = retention.store_event.frame, (m.ATTR, (m.NAME, "self"), last_part(retention.holder.text))
    own = frame.facts
    methods = (one for one in frame.unit.facts.functions if one.owner == own.owner and one is not own)
    if not any({"grad", "backward"}.intersection(one.calls) for one in methods):
        return False
    for loop in statements(own.body):
        if loop[0] == m.FOR and is_count(loop[3]) and loop[1] < retention.store:
            entry = (m.ITEM, place, loop[2])
            for one in statements(loop[4]):
                if one[0] == m.ASSIGN and one[2] == (entry,) and (m.ATTR, entry, "detach") in nodes(one[3]):
                    return True
    return False
