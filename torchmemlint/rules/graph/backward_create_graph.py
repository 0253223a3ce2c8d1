"""A parameter and its gradient refer to each other, so neither is freed.

## What it does
Reports `.backward(create_graph=True)` and assignments of a value with a graph
to `.grad`, unless the gradients are reset after the last of them.

## Why it retains
With `create_graph=True` the gradient that is written to `p.grad` carries a
graph, and that graph leads back to `p`. The parameter owns its `.grad`, so the
two hold each other. The cycle passes through objects of the C++ side which the
cyclic garbage collector cannot see: measured with torch 2.13, the parameters,
their gradients and the graph of the last step survive every `gc.collect()`,
also after the model and the optimizer are gone. A program that builds a model
per fold, per trial or per request loses one model each time.

## When it is fine
- The gradients are reset after the *last* backward call, by `zero_grad()` at
  the end of the step or by `p.grad = None` at the end of the run. Both forms of
  `zero_grad` do (`set_to_none=False` detaches before it fills in zeros:
  measured). A reset at the head of the loop frees the previous step only and
  leaves the last one for ever (measured).
- `torch.autograd.grad(..., create_graph=True)` is used: it returns the
  gradients and writes no `.grad`.

## How to release it
Use `torch.autograd.grad(loss, params, create_graph=True)` for the part that is
differentiated twice, then one plain `backward()`. Otherwise call
`optimizer.zero_grad()` after the step. When writing `.grad` by hand, write
`g.detach()`.

## References
- PyTorch documentation, `torch.autograd.backward`: "Using this method with
  create_graph=True will create a reference cycle between the parameter and
  its gradient which can cause a memory leak."
- pytorch/pytorch#4661, the issue about this cycle.
- Which reset frees: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import model as m
from ...facts.program import targets
from ...facts.walk import call_at, statements
from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import Tensor
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Expr, Site
    from ...interpreter.events import Backward, Plain
    from ...interpreter.frames import Frame

code = "TML104"
name = "backward-create-graph"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[int] = set()
    resets = [note for note in evidence.machine.plain if note.kind == "zero-grad"]  # each way to a statement
    for backward in evidence.backwards:
        site = backward.site if evidence.machine.is_home(backward.site) else _asked_for(evidence, backward)
        if backward.create and backward.method and site not in seen:
            if any(_comes_after(note, backward) for note in resets):
                continue  # the grads of the last step go too
            seen.add(site)
            yield Report(
                site=site,
                message=(
                    "`backward(create_graph=True)` ties every parameter to its own `.grad` in a cycle that the "
                    "collector cannot free; use `torch.autograd.grad(..., create_graph=True)`"
                ),
                confidence=Confidence.HIGH if backward.tensors else Confidence.MEDIUM,
                value="parameters, gradients and their graph",
                holder="parameter.grad",
                release="use `torch.autograd.grad(..., create_graph=True)`, or set the grads to `None` afterwards",
                remedy=Remedy("reset-gradients", sure=False) if site == backward.site else None,
            )
    for note in evidence.plain("grad-store"):
        if any(param.name == "ctx" for param in note.frame.facts.params):
            continue  # a part of a `Function`, which runs without gradients
        if any(_comes_after(reset, note) and _resets(reset, note) for reset in resets):
            continue
        yield Report(
            site=note.site,
            message=(
                "a gradient that carries a graph is written to `.grad`: parameter and graph refer to each other "
                "and are never collected; write `.detach()`"
            ),
            confidence=Confidence.HIGH,
            value="parameters, gradients and their graph",
            holder="parameter.grad",
            release="write `gradient.detach()`",
            remedy=Remedy("detach", sure=all(type(atom) is Tensor for atom in note.detail)),
        )


def _asked_for(evidence: Evidence, backward: Backward) -> Site:
    """The call of the home file that asks another one for it: `strategy.backward(loss, create_graph=True)`."""
    frame: Frame | None = backward.frame
    while frame is not None and frame.caller is not None and not evidence.machine.is_home(frame.call_site):
        frame = frame.caller
    call = None if frame is None or frame.caller is None else call_at(frame.caller.facts.body, frame.call_site)
    asks = call is not None and ("create_graph", (m.CONST, True)) in call[4]
    return frame.call_site if frame is not None and asks else backward.site


def _comes_after(reset: Plain, backward: Backward | Plain) -> bool:
    """Whether gradients are reset after a pass, or after they were written: in the same function, in what that calls
    later, or in a caller. What begins apart from it, in a function that somebody else calls, says nothing of the
    order."""
    if reset.frame.facts is backward.frame.facts:
        return reset.site > backward.site
    if not _begin_together(reset.frame, backward.frame):
        return False
    reset_way, way = (*reset.trail, reset.site), (*backward.trail, backward.site)
    common = min(len(reset.trail), len(backward.trail))
    return reset_way[:common] == way[:common] and reset_way[common] > way[common]


def _resets(reset: Plain, written: Plain) -> bool:
    """Whether it is the gradients of an optimizer or model that are reset, or just the one that was written."""
    places = _places(reset)
    return not places or not places.isdisjoint(_places(written))


def _places(note: Plain) -> set[Expr]:
    """`weight.grad` of `weight.grad = None`; none for a call."""
    return {place for one in statements(note.frame.facts.body) if one[1] == note.site for place in targets(one)}


def _begin_together(one: Frame, other: Frame) -> bool:
    """Whether two functions run for the same one, or for methods of the same object, which its owner calls in turn."""
    first, second = _outermost(one), _outermost(other)
    owned = first.receiver is not None and first.receiver is second.receiver
    return owned or first.facts is second.facts


def _outermost(frame: Frame) -> Frame:
    """The function that led to one, or that it was written in, which nobody is seen to call."""
    while True:
        within = frame.parent if frame.parent is not None and frame.parent.function is not None else None
        outer = frame.caller or within
        if outer is None:
            return frame
        frame = outer
