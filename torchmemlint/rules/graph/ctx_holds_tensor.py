"""A custom autograd function keeps a tensor on `ctx` and not in the saved tensors.

## What it does
Reports `ctx.name = tensor` in the `forward` or `setup_context` of a
`torch.autograd.Function`, where the tensor is an input or an output of the
function, alone or inside a tuple, list or dict.

## Why it retains
Tensors given to `save_for_backward` are unpacked without an owner cycle and
are dropped as soon as the backward pass is over. An attribute has neither
property. Measured with torch 2.13 on the CPU:

- an *output* on `ctx` and the graph node own each other. One such cycle is
  freed by the garbage collector, so memory comes back late; in a chain of
  layers each collection frees only the last link, so n layers need n
  collections. When two outputs are stored, or an output and a view of it, the
  collector does not see the whole cycle: the outputs are never freed and every
  call adds one set;
- an *input* on `ctx` makes no cycle by itself, but is not dropped by
  `backward()`: it stays as long as anything keeps the graph, for example a
  loss that is collected for a plot.

## When it is fine
- The attribute is no tensor: a shape, a flag, a number, a dtype.
- It is a temporary that is neither input nor output and the function is
  declared once differentiable. It is then kept until the node goes, which is
  later than a saved tensor but is no cycle.

## How to release it
Call `ctx.save_for_backward(x, y)` once and read `ctx.saved_tensors` in
`backward`.

## References
- PyTorch documentation,
  `torch.autograd.function.FunctionCtx.save_for_backward`: tensors should be
  saved with it "as opposed to directly on ctx" to prevent "incorrect gradients
  and memory leaks".
- PyTorch documentation, "Extending PyTorch".
- What is collected and what is not: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...interpreter.events import Plain

code = "TML106"
name = "ctx-holds-tensor"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    found = list(_kept(evidence))
    together: dict[int, list[str]] = {}
    for note, _ in found:
        together.setdefault(note.frame.facts.site, []).append(note.detail[0])
    for note, weight in found:
        attribute = note.detail[0]
        yield Report(
            site=note.site,
            message=(
                f"`ctx.{attribute}` keeps a tensor as long as the graph lives, also after backward, and an output "
                "kept there is never freed; use `ctx.save_for_backward`"
            ),
            confidence=Confidence(weight),
            value="input or output of the function",
            holder=f"ctx.{attribute}",
            release="pass it to `ctx.save_for_backward(...)` and read `ctx.saved_tensors`",
            remedy=Remedy("save-for-backward", " ".join(together[note.frame.facts.site]), sure=False),
        )


def _kept(evidence: Evidence) -> Iterator[tuple[Plain, int]]:
    """Inputs and outputs that a function keeps on its `ctx`, with the weight of the evidence."""
    for note in evidence.plain("context-store"):
        _, value, given = note.detail
        returned = {tensor.node for tensor in evidence.machine.reach(note.frame.returns)}
        kept = evidence.machine.reach(value, 2)
        weights = [tensor.weight for tensor in kept if tensor.node in given or tensor.node in returned]
        if weights and max(weights) >= 2:
            yield note, min(max(weights), 3)
