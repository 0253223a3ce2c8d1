"""A process keeps tensors that it shares with its workers.

## What it does
Reports a loop that collects what it takes from a queue of
`torch.multiprocessing` as it is, and one that collects what it puts into such
a queue or hands to a process as an argument. And a loop that collects the
tensors which the workers of a pool give back, `for mask in pool.imap(segment,
paths): masks.append(mask)`. And a loop, or a comprehension, over a `DataLoader`
with workers that collects tensors of its batches as they come, or their arrays,
`labels.numpy()`, which have the same memory. And a list that gains the handle
of each `SharedMemory` segment which the process attaches to. And a
`manager.dict()` or `manager.list()` into which processes that a loop starts
round after round put arrays, and that nothing is taken out of; or in which the
tasks of a pool look for what was made of the same file before, `if path not in
cache: cache[path] = features(path)`, in a single pass. And the store of
a process group, `TCPStore`, that gets packed tensors under a key of their own
each time, `store.set(f"round/{n}", packed)`, none of which is ever deleted.

## Why it retains
A tensor goes through the queue as a handle: sender and receiver have the same
segment of shared memory. What is received keeps its segment, and one or two
open descriptors, for as long as it is in the list: after a few hundred the
process runs out of them ("received 0 items of ancdata", "Too many open
files"). The workers of a loader send their batches the same way. What was sent
and is kept stays although the worker is done with it; on a device the sender
must not free it before the receiver does, so both sides hold it. A segment's
pages stay mapped, with a descriptor, until its handle is closed or dropped;
`unlink()` takes only the name away.

## When it is fine
- The tensor is copied before it is kept, `.clone()`, or only numbers are
  kept.
- The container is emptied or made anew in the loop.
- Few, large results: one from each worker.
- A key of the store that is set again, which replaces what was there.
- The memo of a pool's tasks has a limit, or its keys are few, or the same tasks
  come again in the next epoch.
- The handles are closed, or taken out of the list.
- The loader has no workers, or `pin_memory=True`, which copies; or tensors are
  shared by file names (`set_sharing_strategy("file_system")`).

## How to release it
Keep a copy, `results.append(queue.get().clone())`; put tensors and forget
them.

## References
- PyTorch documentation, "Multiprocessing best practices" and
  "torch.multiprocessing": "file descriptors as shared memory handles", and
  that the sender keeps a CUDA tensor until the receiver has let it go.
- Descriptors that stay open: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.managed import cached_in_managers, kept_by_managers
from ...evidence.places import NAMELESS
from ...finding import Confidence, Remedy, Retains
from ...lexical.mapped import left_mapped
from ...lexical.store_keys import kept_in_stores
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML409"
name = "parent-keeps-worker-inputs"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[int] = set()
    for kept in evidence.handed_over():
        if kept.site in seen:
            continue
        seen.add(kept.site)
        who = "the list of this comprehension" if kept.holder == NAMELESS else f"`{kept.holder}`"
        if kept.sent:
            message = (
                f"{who} keeps every tensor that was sent to the workers, with its shared memory, also when "
                "they are done with it; put it into the queue and drop it"
            )
            release = "put it into the queue and keep no reference"
        else:
            kinds, copy = ("arrays of tensors", ".copy()") if kept.array else ("tensors", ".clone()")
            message = (
                f"{who} keeps {kinds} as they come from another process: each holds a segment of shared "
                f"memory and its open descriptors; keep a copy, `{copy}`"
            )
            release = f"keep a copy, `{copy}`, or numbers"
        yield Report(
            site=kept.site,
            message=message,
            confidence=Confidence.MEDIUM,
            value="shared memory of tensors, with open descriptors",
            holder=kept.holder,
            release=release,
            related=((kept.other, "sent here" if kept.sent else "received here"),) if kept.other != kept.site else (),
            remedy=None if kept.sent or kept.array else Remedy("call-on-stored", "clone()", sure=False),
        )
    for managed in kept_by_managers(evidence.machine, evidence.program):
        yield Report(
            site=managed.site,
            message=(
                f"`{managed.holder}` is the manager's: its process keeps what every one of these processes puts there, "
                "also when it has been read; take it out, `pop`, where it is read"
            ),
            confidence=Confidence.MEDIUM,
            value="the results of every process",
            holder=managed.holder,
            release="take each result out of the container, `pop`, where it is read",
            related=((managed.started, "the processes are made here"),),
        )
    for managed in cached_in_managers(evidence.machine, evidence.program):
        yield Report(
            site=managed.site,
            message=(
                f"`{managed.holder}` is the manager's: its process gains an entry for each key that a task asks for, "
                "and none ever leaves, so it ends up with what was made for all of them; give it a limit, and take the "
                "oldest out"
            ),
            confidence=Confidence.MEDIUM,
            value="what was made for each task",
            holder=managed.holder,
            release="take the oldest entry out before a new one makes the container too large",
            related=((managed.started, "the tasks are handed out here"),),
        )
    for put in kept_in_stores(evidence.program):
        yield Report(
            site=put.site,
            message=(
                f"`{put.holder}` gains an entry with tensors under a key of its own each time, and no key is ever "
                "deleted: the process that serves the store keeps them all; call `delete_key` when all have read it"
            ),
            confidence=Confidence.MEDIUM,
            value="the packed tensors of every round",
            holder=put.holder,
            release="`delete_key` the entry when every rank has read it, or set the same key again",
        )
    for mapped in left_mapped(evidence.program):
        yield Report(
            site=mapped.site,
            message=(
                f"`{mapped.holder}` keeps the handle of every shared memory segment, and each keeps its pages mapped "
                "and a descriptor open, unlinked or not; `close()` it when it has been read, and do not keep it"
            ),
            confidence=Confidence.MEDIUM,
            value="mapped shared memory, with open descriptors",
            holder=mapped.holder,
            release="`close()` the handle when the segment has been read, and keep no reference",
            related=((mapped.made, "attached here"),) if mapped.made != mapped.site else (),
        )
