"""A helper gives back what the caller is to bind instead, and nobody takes it.

## What it does
Reports calls of `accelerate.utils.release_memory`, and of functions of the
file that set the elements of their `*args` to `None` and return them, whose
result is dropped or goes to fewer names than were passed. And calls of a helper
that frees memory, or is called `evict`, `prune`, `trim` and the like, returns a
shorter copy of the list that it is given, and leaves that as it is.

## Why it retains
A function cannot unbind its caller's names. Such a helper clears its own list
only; the caller's variables are unbound by assigning the returned `None`s to
them. Without the assignment every object stays alive, and the `empty_cache()`
inside the helper gives nothing back. A slice or a comprehension is a new list:
the caller's own keeps every element.

## When it is fine
- `model, batch = release_memory(model, batch)`.
- The caller deletes its names right after.

## How to release it
Assign the result to the same names, in the same order.

## References
- Documentation of accelerate, `release_memory`: "Releases memory from
  `objects` by setting them to `None` ... Returned objects should be reassigned
  to the same variables".
- What is alive after the call: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.borrowed import results_dropped
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML603"
name = "release-result-discarded"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    for slip in evidence.across(results_dropped, "empty_cache", levels=1):
        if slip.kind.startswith("shorter:"):
            helper = slip.kind.partition(":")[2]
            yield Report(
                site=slip.site,
                message=(
                    f"`{helper}` gives back a shorter copy and leaves `{slip.name}` as it is: the result is dropped, "
                    f"and all of it stays; write `{slip.name} = {helper}({slip.name}, ...)`"
                ),
                confidence=Confidence(slip.weight),
                value=f"what `{slip.name}` should have let go",
                holder=slip.name,
                release=f"`{slip.name} = {helper}(...)`, or take the elements out in place",
                related=((slip.other, "it makes a new one"),),
            )
            continue
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.kind}` cannot unbind the caller's names: `{slip.name}` still refers to its object; assign the "
                f"result, `{slip.name} = {slip.kind}({slip.name})`"
            ),
            confidence=Confidence(slip.weight),
            value=f"what `{slip.name}` refers to",
            holder=slip.name.split(", ")[0],
            release=f"`{slip.name} = {slip.kind}({slip.name})`",
            related=((slip.other, "it clears its own list only"),) if slip.other >= 0 else (),
            remedy=Remedy("take-result", sure=False),
        )
