"""A device context is pushed or made and not popped on every way out.

## What it does
Reports PyCUDA's `context.push()` where a `return` or `raise` comes before the
`pop()`, or where nothing pops; `make_context()` whose context nothing pops
or detaches; an object that makes one, where whoever makes such objects again
and again never calls the method of theirs that pops it; and a thread that makes
a context and gives it back only after the loop that serves its work: an
exception in there ends the thread alone.

## Why it retains
Contexts are a stack for each thread. One that stays on it stays current: the
next push goes on top, what is allocated belongs to whichever context is there,
and a context that is never detached keeps its memory, some hundred MiB and all
allocations in it, until the process ends.

## When it is fine
- `pop()` stands in a `finally`.
- `__enter__` pushes and `__exit__` pops.

## How to release it
`context.push()`, then `try:` the work, `finally: context.pop()`.

## References
- PyCUDA documentation, `pycuda.driver.Context.push`, `pop` and `detach`.
- A context that is left pushed stays when its owner goes, half a GiB on an
  H200: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.device_owners import ALLOCATIONS, CONTEXT, LeftOnDevice, left_on_device
from ...lexical.devices import not_popped
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML701"
name = "context-not-popped"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    for left in evidence.across(left_on_device, *ALLOCATIONS):
        if left.owner.what == CONTEXT:
            yield _left(left)
    for slip in not_popped(evidence.program):
        if slip.kind == "made":
            message = (
                f"nothing pops or detaches the context `{slip.name}`: it and all that is allocated in it stay until "
                "the process ends; call `pop()` after making it and `detach()` when it is no longer needed"
            )
        elif slip.kind == "raised":
            message = (
                f"this thread gives `{slip.name}` back at its end only: an exception before that ends the thread, and "
                "the context stays with all that is allocated in it; put `pop()` and `detach()` into a `finally`"
            )
        elif slip.kind == "early":
            message = (
                f"`{slip.name}` is not popped on every way out: it stays current on this thread, with what is "
                "allocated in it; put `pop()` into a `finally`"
            )
        else:
            message = (
                f"`{slip.name}` is pushed and never popped: it stays current on this thread, with what is allocated "
                "in it; put `pop()` into a `finally`"
            )
        yield Report(
            site=slip.site,
            message=message,
            confidence=Confidence(slip.weight),
            value="a device context with its allocations",
            holder=slip.name,
            release="`try: ... finally: context.pop()`",
            related=((slip.other, "may raise" if slip.kind == "raised" else "leaves without `pop()`"),)
            if slip.other >= 0
            else (),
            remedy=Remedy("pop-in-finally", slip.name, sure=False) if slip.kind == "early" else None,
        )


def _left(left: LeftOnDevice) -> Report:
    cls, end = left.owner.cls, left.owner.end
    return Report(
        site=left.site,
        message=(
            f"nothing calls `{end}()` of this {cls}: the context that it made stays current on this thread with all "
            f"that is allocated in it, and each further {cls} adds one; call `{end}()` in a `finally`"
        ),
        confidence=Confidence.MEDIUM,
        value="a device context with its allocations",
        holder="the stack of contexts",
        release=f"call `{end}()` in a `finally`, or make one {cls} and reuse it",
        retains=Retains.GROWING,
        related=((left.owner.made, "made here"),),
    )
