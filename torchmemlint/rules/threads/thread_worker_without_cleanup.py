"""A thread that waits for its next item still holds the last one.

## What it does
Reports the waiting call (`queue.get()`, `connection.recv()`, `event.wait()`) in
the loop of a long-lived worker thread where tensors of the previous round are
still bound to names of the loop; also in that of a task, a method that is a
coroutine and takes from a queue of its object for ever. And a container in a
`threading.local` that the tasks of a pool's threads fill with tensors and that
no task empties, or an attribute of one that has the tensor of the last task.
And a local list that gains a tensor for each item that a worker or a server
waits for, and that nothing reads.

## Why it retains
The body of a loop has no scope of its own: `batch` and `output` stay bound
until the next round binds them again, and the next round begins by waiting. An
idle worker therefore holds its last item and all that was made from it, for
hours if nothing comes, once for each worker thread; with gradients recorded,
the graph too. A pool's threads live as long as the pool, and what is
thread-local lives as long as its thread: a `reset()` that the main thread calls
clears the main thread's own. A local list lives as long as the function, and a
worker's function as long as there is work.

## When it is fine
- The loop lets go before it waits: `del batch, output`, `output = None`, or the
  work is done in a function whose locals end with it.
- The thread is started and joined in one function: it ends with its work.
- The item is only passed on, to a callback or to who asked for it, and a method
  of the thread's owner joins it: that is one more of those that lie in the
  queues before and after it, for as long as there is work.
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

from ...evidence.service_loops import filled_by_waiting
from ...evidence.thread_locals import grown_by_threads, left_by_tasks
from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import Obj
from ...interpreter.weights import heavy
from ...lexical.starters import is_joined_by_owner, joins_what_it_starts
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...interpreter.events import Plain
    from ...interpreter.values import Value

code = "TML502"
name = "thread-worker-without-cleanup"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    noted = {note.site: note for note in evidence.plain("kept-while-waiting")}
    noted |= {note.site: note for note in evidence.machine.plain if note.site in noted and _knows(note)}
    for note in noted.values():
        kept, awaited, context, passing = note.detail
        kept = kept or _come_later(evidence, awaited)
        creator = context.creator if context is not None else None
        if context is not None and is_joined_by_owner(note.frame.unit.facts, creator, note.frame.facts):
            kept = {name: found for name, found in kept.items() if name not in passing}
        if not kept:
            continue
        if creator is not None and (joins_what_it_starts(creator) or creator.generator):
            continue  # started and joined in one function: it ends with its work
        names = sorted(kept)
        who = "thread" if context is not None else "task"
        listed = ", ".join(f"`{name}`" for name in names[:3])
        yield Report(
            site=note.site,
            message=(
                f"while this {who} waits here it still holds {listed} of the round before, for as long as nothing "
                f"comes; end the round with `del {', '.join(names[:3])}`, or do the work in a function of its own"
            ),
            confidence=Confidence(min(2, max(weight for _, weight in kept.values()))),
            value="the last item and what was made from it",
            holder=names[0],
            release=f"`del {', '.join(names[:3])}` at the end of the round",
            remedy=Remedy("end-round", " ".join(names), sure=False),
        )
    for own in grown_by_threads(evidence.machine):
        yield Report(
            site=own.site,
            message=(
                f"`{own.holder}` is thread-local: every thread of the pool keeps its own, with the {own.what} of each "
                "task, for as long as the thread lives, and no other thread can clear it; empty it at the end of the "
                "task, or bound it"
            ),
            confidence=Confidence(min(2, own.weight)),
            retains=Retains.GROWING,
            value=f"a {own.what} for each task, in each thread",
            holder=own.holder,
            release="clear it at the end of the task, or keep numbers",
            related=((own.started, "the thread runs it from here"),) if own.started != own.site else (),
        )
    for own in left_by_tasks(evidence.machine):
        yield Report(
            site=own.site,
            message=(
                f"`{own.holder}` is thread-local: an idle thread of the pool keeps the {own.what} of its last task "
                "there; use a variable of the task, or delete it at the end"
            ),
            confidence=Confidence(min(2, own.weight)),
            value=f"the {own.what} of the last task, in each thread",
            holder=own.holder,
            release="use a variable of the task",
            related=((own.started, "the thread runs it from here"),) if own.started != own.site else (),
        )
    for kept in filled_by_waiting(evidence.retentions):
        yield Report(
            site=kept.site,
            message=(
                f"`{kept.holder.text}` gains a tensor for each item that this loop waits for, and nothing reads it: "
                "they stay as long as the worker lives; drop the list, or keep numbers"
            ),
            confidence=Confidence.MEDIUM,
            retains=Retains.GROWING,
            value="a tensor for each item",
            holder=kept.holder.text,
            release="do without the list, or keep numbers",
            related=kept.related,
        )


def _knows(note: Plain) -> bool:
    return note.kind == "kept-while-waiting" and bool(note.detail[0])


def _come_later(evidence: Evidence, awaited: dict[str, tuple[Obj, int]]) -> dict[str, tuple[str, int]]:
    """What the queues that a thread waits for are given after it was started."""
    given = {name: heavy(evidence.machine, _part(queue, index)) for name, (queue, index) in awaited.items()}
    return {name: found for name, found in given.items() if found[0] in ("tensor", "array") and found[1] > 1}


def _part(queue: Obj, index: int) -> Value:
    """What one name gets of an item that is taken apart: all of it for -1."""
    items = queue.fields.get("*", ())
    if index < 0:
        return items
    return tuple(part for item in items if type(item) is Obj for part in item.fields.get(f"[{index}]", ()))
