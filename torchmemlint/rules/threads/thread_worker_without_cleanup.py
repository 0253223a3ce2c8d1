"""A thread that waits for its next item still holds the last one.

## What it does
Reports the waiting call (`queue.get()`, `connection.recv()`, `event.wait()`) in
the loop of a long-lived worker thread where tensors of the previous round are
still bound to names of the loop.

## Why it retains
The body of a loop has no scope of its own: `batch` and `output` stay bound
until the next round binds them again, and the next round begins by waiting. An
idle worker therefore holds its last item and all that was made from it, for
hours if nothing comes, once for each worker thread; with gradients recorded,
the graph too.

## When it is fine
- The loop lets go before it waits: `del batch, output`, `output = None`, or the
  work is done in a function whose locals end with it.
- The thread is started and joined in one function: it ends with its work.
- A worker that merely *ends* without `del` or `empty_cache()` keeps nothing.

## How to release it
Move the body into a function, `self.handle(queue.get())`, or end the round with
`del batch, output`.

## References
- Python documentation, "Naming and binding": a block of code is a module, a
  function or a class; a loop is none.
- Live storages while the worker waits: measured by this rule's fixtures. That
  20 short threads keep nothing is measured too: see the page on folklore.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...facts.evidence import Evidence

code = "TML502"
name = "thread-worker-without-cleanup"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    for note in evidence.plain("kept-while-waiting"):
        kept, context = note.detail
        creator = context.creator
        if creator is not None and ("join" in creator.calls or creator.generator):
            continue  # started and joined in one function: it ends with its work
        names = sorted(kept)
        listed = ", ".join(f"`{name}`" for name in names[:3])
        yield Report(
            site=note.site,
            message=(
                f"while this thread waits here it still holds {listed} of the round before, for as long as nothing "
                f"comes; end the round with `del {', '.join(names[:3])}`, or do the work in a function of its own"
            ),
            confidence=Confidence(min(2, max(weight for _, weight in kept.values()))),
            value="the last item and what was made from it",
            holder=names[0],
            release=f"`del {', '.join(names[:3])}` at the end of the round",
        )
