"""A grad mode is made but never entered, or a helper ends the one around its call.

## What it does
Reports `torch.no_grad()`, `torch.inference_mode()` and `torch.enable_grad()`
as a statement of their own, an object of these that is assigned and never
entered, `with torch.no_grad:` without the call, and
`torch.inference_mode().__enter__()` on an object that nothing keeps. Also
`torch.set_grad_enabled(True)` as a statement in a function that is called in a
`no_grad` block, in which a model runs after it. And a mode that decorates a
class, or an `async def`.

## Why it retains
It keeps nothing by itself. `no_grad` and its relatives act when they are
*entered*. As a bare statement the object is dropped at once and gradients are
recorded as before, with all that follows from it (TML201). In
`with torch.no_grad:` the class itself is entered, which raises an error when
the line is reached. Inference mode that is entered by hand ends when its object
is freed, which is at once where no name keeps it. `set_grad_enabled` as a
statement outlives the function it stands in: the rest of the caller's `no_grad`
block records graphs, and what it keeps holds them. A mode around a class is on
while an object of it is made, and off again when one of its methods is called.
A mode around an `async def` is on while the coroutine is made, and off again
when somebody awaits it.

## When it is fine
- `torch.set_grad_enabled(False)` as a statement acts at once, and on
  everything that follows in this thread.
- The object is kept and entered later, by `with` or by an exit stack.
- `torch.no_grad().__enter__()` by hand: the mode stays off until `__exit__`,
  which nobody calls.
- It is used as a decorator of a function or method that is no coroutine.
- A helper that sets what `torch.is_grad_enabled()` said before, or that is
  decorated with a mode of its own, which is undone at its end.

## How to release it
Write `with torch.no_grad():` around the block, or decorate the function with
`@torch.no_grad()`. In a helper keep `torch.is_grad_enabled()` and set that
again.

## References
- PyTorch documentation, `torch.no_grad`, `torch.inference_mode`,
  `torch.enable_grad` (context managers) and `torch.set_grad_enabled` (context
  manager or function).
- That the mode is unchanged: asserted by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...finding import Retains

code = "TML202"
name = "grad-mode-call-without-effect"
retains: Retains | None = None


def check(evidence: Evidence) -> Iterator[Report]:
    for kind, what in (
        ("mode-discarded", "is called as a statement: it makes a context and drops it"),
        ("mode-not-called", "is entered without being called: `with` needs an instance"),
        ("mode-assigned", "is assigned and never entered"),
        ("mode-dropped", "is entered on an object that nothing keeps: inference mode ends with its object"),
    ):
        for note in evidence.plain(kind):
            if kind == "mode-assigned" and note.detail in evidence.machine.entered:
                continue
            yield Report(
                site=note.site,
                message=f"this grad mode {what}, so gradients are recorded as before; use `with torch.no_grad():`",
                confidence=Confidence.HIGH,
                release="use `with torch.no_grad():` or the decorator `@torch.no_grad()`",
                remedy=Remedy("enter-mode"),
            )
    for note in evidence.plain("mode-on-class"):
        yield Report(
            site=note.site,
            message=(
                "this class is decorated with a grad mode, which acts while an object is made and on no other method: "
                "these record gradients as before; decorate the methods that compute"
            ),
            confidence=Confidence.HIGH,
            release="decorate the methods with `@torch.no_grad()` instead of the class",
        )
    for note in evidence.plain("mode-on-coroutine"):
        yield Report(
            site=note.site,
            message=(
                "this `async def` is decorated with a grad mode, which acts while the coroutine is made, not when it "
                "is awaited: gradients are recorded as before; use `with torch.no_grad():` inside, around what computes"
            ),
            confidence=Confidence.HIGH,
            release="use `with torch.no_grad():` inside of the coroutine",
        )
    for note in evidence.plain("mode-left-on"):
        yield Report(
            site=note.site,
            message=(
                "this turns gradients on for whoever called as well: the `no_grad` around the call ends here, and what "
                "runs in it after that records a graph; set what `torch.is_grad_enabled()` said before"
            ),
            confidence=Confidence.MEDIUM,
            release="keep `torch.is_grad_enabled()` and set that again, or use `with torch.no_grad():` around the part",
            related=tuple((site, "called from here") for site in reversed(note.trail))[:3],
        )
