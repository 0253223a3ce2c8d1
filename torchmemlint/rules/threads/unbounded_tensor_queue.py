"""Tensors go to another thread or process through a queue without a limit.

## What it does
Reports `put` of a tensor or array, or of what `torch.save` or `pickle` has made
of some, in a loop, into a `queue.Queue()` or `multiprocessing.Queue()` without
`maxsize`, or with a default of 0 for it, where the other end is in another
thread or process. If a class of another file
does so, the call that makes it is reported. Likewise a `deque()` that a thread
fills, others take from, and whose length keeps the thread from nothing. And a
loop over a stream that submits each tensor it has made to at most four workers
of a pool, which compress or resample it.

## Why it retains
A queue without a limit takes whatever the producer has. If the consumer is
slower, and a loader, a GPU or a disk sooner or later is, everything in between
waits in the queue: memory grows by the difference of the two rates, and the
queue still holds it when the consumer stops.

## When it is fine
- The queue has a `maxsize`: `put` then waits.
- Something else keeps the producer back: a semaphore, `queue.join()`, an answer
  that it waits for, a loop that waits until few items are left. A pause in each
  round does not, nor does a fraction of a second when many items wait.
- Each item is made from the one before, for as many steps as a request has: a
  decoder that writes its latents.
- Who puts looks how many wait, and puts nothing or takes the oldest out when
  they are too many. A limit for that which is None unless somebody gives a
  number is missed where none is given.
- Both ends are in one thread, or what goes through is small.

## How to release it
`queue.Queue(maxsize=2 * workers)`.

## References
- Python documentation, `queue.Queue`: "If maxsize is less than or equal to
  zero, the queue size is infinite".
- Live storages with a consumer that is slower: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.backlogs import backlogs
from ...evidence.queues import Put, unbounded_puts
from ...facts.model import file_of
from ...finding import Confidence, Remedy, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML504"
name = "unbounded-tensor-queue"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for put in unbounded_puts(evidence.machine, lambda: evidence.reaching):
        if put.deque:
            yield _of_deque(put)
            continue
        if put.limit:
            yield _without_a_number(put)
            continue
        yield Report(
            site=put.site,
            message=(
                f"`{put.name}` has no `maxsize`: when the other end is slower, every tensor in between stays in the "
                "queue; give it a limit, so that `put` waits"
            ),
            confidence=Confidence(put.weight),
            value="tensors that wait in the queue",
            holder=put.name,
            release="give the queue a limit: `Queue(maxsize=...)`",
            related=tuple(
                note for note in ((put.made, "made without a limit here"), (put.put, "put here")) if note[0] != put.site
            ),
            remedy=Remedy("add-argument", "maxsize=8", sure=False) if put.put == put.site else None,
            remedy_site=put.made,
            said_by=put.put if file_of(put.put) != file_of(put.site) else None,
        )
    for ahead in backlogs(evidence.machine, evidence.program):
        yield Report(
            site=ahead.site,
            message=(
                f"nothing holds back the loop that hands its tensors to `{ahead.work}`: while `{ahead.slow}` takes "
                "longer than a round, all in between wait in the pool, whose queue has no limit; wait for an earlier "
                "one first, or acquire a semaphore that each releases when it is done"
            ),
            confidence=Confidence.MEDIUM,
            value="tensors that wait for a worker",
            holder="the queue of the pool",
            release="wait until few are left before the next one is submitted",
        )


def _without_a_number(put: Put) -> Report:
    return Report(
        site=put.site,
        message=(
            f"no `{put.limit}` is given here, without which nothing keeps `{put.name}` short: when the other end is "
            "slower, every tensor in between stays in the queue; give it a number"
        ),
        confidence=Confidence(put.weight),
        value="tensors that wait in the queue",
        holder=put.name,
        release=f"give `{put.limit}` a number",
        related=((put.made, "made without a limit here"), (put.put, "put here")),
        said_by=put.put if file_of(put.put) != file_of(put.site) else None,
    )


def _of_deque(put: Put) -> Report:
    return Report(
        site=put.site,
        message=(
            f"nothing holds back the thread that fills `{put.name}`: when the other end is slower, every tensor in "
            "between stays in it; add nothing while it is full, or use a `queue.Queue(maxsize=...)`, whose `put` waits"
        ),
        confidence=Confidence(put.weight),
        value="tensors that wait to be taken out",
        holder=put.name,
        release="add nothing while it is full, or use a `queue.Queue(maxsize=...)`",
        related=((put.made, "made without a limit here"),),
    )
