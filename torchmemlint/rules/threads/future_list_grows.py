"""Futures or tasks are collected and never dropped when they are done.

## What it does
Reports futures of an executor and asyncio tasks that go into an attribute or
global, call after call, where nothing ever takes one out, or only a method that
is not called once they are in, or what comes when a loop that serves is over,
or one that waits for all of them after the loop which has used their heavy
results, or one that takes out what it has waited for in a file that cancels
such waits.
And futures in a local list or dictionary that one loop goes through, using a
heavy result at a time, while the list keeps those that it has used. And a loop
that gives the tickets of such work up while it only looks at the results, where
another method would take them out. And a task
that waits for an event of its object, where the method goes on with the first
of several tasks that is done and cancels nothing, or is itself cancelled before
it comes to that. And a task that goes round for ever, which a coroutine starts
beside its own work each time it is called and nobody cancels. A reference to a
result in another process, `actor.step.remote(x)`, `ray.put(x)` or torch's
`rpc.remote(worker, f)`, counts as a future: the result stays there as long as
it does.

## Why it retains
A finished future holds its result, or its exception together with the traceback
and every frame in it, and its done callbacks. As long as the list holds the
future, all of that stays.

## When it is fine
- Done futures are dropped: `futures = [f for f in futures if not f.done()]`,
  `task.add_done_callback(tasks.discard)`, `as_completed` with a removal.
- The list is local to the function that waits for all of them, and their
  results are small or are collected anyway.
- The results are taken from the list in the end, `[f.result() for f in
  self.futures]`: that is what it is there for.
- A task that goes round until it is cancelled is one for the whole program, or
  is cancelled in a `finally` of what it was started for.
- `for future in as_completed([pool.submit(...) for ...])`: `as_completed` lets
  go of a future before it hands it out, and nobody else has the list. So does
  `executor.map`.

## How to release it
Keep tasks in a set and discard them when they are done:
`task.add_done_callback(self.tasks.discard)`; `Future` has the same method. In a
loop over a list, take out what is done: `futures.remove(future)`.

## References
- Python documentation, `asyncio.create_task`: the recipe with a set and
  `add_done_callback(background_tasks.discard)`; `concurrent.futures.Future`.
- Ray documentation, "Objects" and "Memory Management": an object is freed when
  the last reference to it goes out of scope.
- PyTorch documentation, "Remote Reference Protocol": the owner keeps the data
  until no `RRef` to it is left.
- Live storages after N and 2N finished futures: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.futures import results_in_lists
from ...evidence.kept import KeptWorker, kept_in_containers
from ...finding import Confidence, Remedy, Retains
from ...lexical.endless_tasks import endless_tasks
from ...lexical.left_waiting import left_waiting
from ...lexical.lost_tickets import SUBMITS, lost_tickets
from ...lexical.unread_flags import unread_flags
from .. import Report
from ..wording import passes_by, release_of

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.passed_by import PassedBy

code = "TML503"
name = "future-list-grows"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for kept in kept_in_containers(evidence.machine, evidence.program):
        if kept.item.kind != "future":
            continue
        nothing = f"`{kept.method}()` is not called for them" if kept.method else "nothing takes them out"
        nothing = "they are only taken out when all is over" if kept.late else nothing
        if kept.passed is not None:
            yield _passed(kept, kept.passed)
            continue
        if "$remote" in kept.item.fields:
            yield _remote(kept, nothing)
            continue
        yield Report(
            site=kept.site,
            message=(
                f"`{kept.holder.text}` keeps every future, done or not, and each keeps its result or its traceback: "
                f"{nothing}; drop them when done, `future.add_done_callback(futures.discard)` with a set"
            ),
            confidence=Confidence.HIGH if kept.repeated else Confidence.MEDIUM,
            value="results and tracebacks of finished futures",
            holder=kept.holder.text,
            release="discard each future in a done callback, or filter out the finished ones",
            related=((kept.added, "added here"),) if kept.added != kept.site else (),
            remedy=Remedy("discard-when-done", sure=False) if kept.added == kept.site and not kept.late else None,
        )
    for results in results_in_lists(evidence.machine, evidence.program):
        yield Report(
            site=results.site,
            message=(
                f"`{results.name}` keeps every future while the loop uses one after another, and each keeps the "
                f"{results.what} that it gave: all of them are in memory in the end; take each out when it has been "
                f"used, or give the list to `as_completed` without a name"
            ),
            confidence=Confidence.MEDIUM,
            value="results of finished futures",
            holder=results.name,
            release="take each future out when its result has been used",
            related=((results.read, "used one by one here"),),
        )
    for lost in evidence.across(lost_tickets, *SUBMITS):
        yield Report(
            site=lost.site,
            message=(
                f"`{lost.look}()` leaves the future in `{lost.holder}`, and its ticket is gone, so nothing can take it "
                f"out any more: each keeps its result; call `{lost.take}()`, or keep the ticket"
            ),
            confidence=Confidence.MEDIUM,
            value="results of finished futures",
            holder=lost.holder,
            release=f"take the future out with its result, `{lost.take}()`",
        )
    for left in left_waiting(evidence.program):
        task = f"`{left.task}`" if left.task else "this task"
        still = "when the wait itself is cancelled" if left.cancelled else "when another one is done first"
        yield Report(
            site=left.site,
            message=(
                f"{task} waits for `self.{left.event}` also {still}: each call leaves a task, "
                f"with all that its coroutine refers to, until the {left.cls} is told to end; cancel what is pending "
                "in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="a task, with what its coroutine refers to",
            holder=f"self.{left.event}",
            release="cancel the tasks that are still pending in a `finally`",
            related=((left.waited, "cancelled here" if left.cancelled else "goes on with the first that is done"),),
        )
    stopped = {one.site for one in unread_flags(evidence.program)}  # of which TML505 speaks
    for running in evidence.across(endless_tasks, "create_task", "ensure_future"):
        if evidence.in_tests or running.site in stopped:
            continue
        yield Report(
            site=running.site,
            message=(
                f"each call of `{running.starter}` starts a task of `{running.coroutine}`, which goes round for ever, "
                "and nothing cancels it: all of them stay, with what their coroutines refer to; keep the task, and "
                "cancel it in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="a task that never ends, with what its coroutine refers to",
            holder="the event loop",
            release="`task.cancel()` in a `finally`, when what it is for has ended",
        )


def _remote(kept: KeptWorker, nothing: str) -> Report:
    """Of references to results in other processes."""
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder.text}` keeps every reference, and what each refers to stays in its process until the last "
            f"one goes: {nothing}; drop a reference when its result has been used"
        ),
        confidence=Confidence.HIGH if kept.repeated else Confidence.MEDIUM,
        value="results in other processes",
        holder=kept.holder.text,
        release="drop each reference when its result has been used",
        related=((kept.added, "added here"),) if kept.added != kept.site else (),
    )


def _passed(kept: KeptWorker, passed: PassedBy) -> Report:
    """Of futures that the only release passes by."""
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder.text}` keeps every future that {passes_by(passed)}: it stays there with what it is given "
            f"later; {release_of(passed)}"
        ),
        confidence=Confidence.MEDIUM,
        value="results of futures that nobody waits for any more",
        holder=kept.holder.text,
        release=release_of(passed),
        related=((passed.site, "the only release"),),
    )
