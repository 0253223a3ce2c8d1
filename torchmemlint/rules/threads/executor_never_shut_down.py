"""A worker that never ends is started again and again.

## What it does
Reports a thread or executor task whose function is an endless loop, `while
True:` without a way out, where it is started in a loop or in a method that is
called again and again. And a prefetcher, an object or generator whose thread or
process fills a queue of limited size, where the loop that reads from it leaves
before the end and nobody ends the thread.

## Why it retains
A running thread is alive by itself, whoever has dropped its handle. It keeps
its function's arguments and, if the target is a bound method, `self` with all
that is on it: a model, a cache, a device handle. Nothing ends it, so each start
adds one more, for the rest of the process. A thread that waits in `put` for
room in a queue that nobody reads any more does the same, with all that is in
the queue; so does a process, with its copy of everything. And an object is
never collected while its own thread refers to it, so a thread that `__del__` is
to end does not end.

An executor that is merely dropped is not reported: its idle threads end when
the executor is collected (measured on CPython 3.11: after three executors, and
three process pools, that went out of scope without `shutdown`, no thread and no
process was left).

## When it is fine
- The loop has an end: a sentinel, an event (`while not stop.is_set()`), `break`
  or `return`.
- The worker is started once for the whole process.
- The thread is given what it needs, `args=(self.queue,)`, or a weak reference.
- A prefetcher is closed, used by `with`, or read to its end; a generator ends
  its thread in a `finally`.

## How to release it
Give the loop a sentinel or an event, and set it in `close()`; start the worker
once and hand it work through a queue.

## References
- Python documentation, `threading.Thread`: a thread is alive until its `run`
  returns; `concurrent.futures.Executor.shutdown`.
- Threads and live storages after N and 2N starts: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.kept import endless_workers
from ...finding import Confidence, Retains
from ...lexical.blocked import blocked_producers, unended_iterators
from ...lexical.undying import kept_by_own_thread
from ...lexical.writers import unclosed_writers
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML505"
name = "executor-never-shut-down"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for worker in endless_workers(evidence.machine):
        kept = f"the {worker.owner} that it belongs to" if worker.owner else "its arguments"
        yield Report(
            site=worker.site,
            message=(
                f"`{worker.function}` never returns, and one more is started each time: every thread stays for the "
                f"rest of the process with {kept}; give its loop an end and stop it, or start it once"
            ),
            confidence=Confidence(worker.weight),
            value=f"a thread, with {kept}",
            holder="the running thread",
            release="end the loop on a sentinel or an event, and set it when the work is done",
        )
    for undying in kept_by_own_thread(evidence.program):
        yield Report(
            site=undying.site,
            message=(
                f"`{undying.target}` refers to `self`, so the running thread keeps the {undying.cls}, and the "
                "`__del__` that would end it never runs, whoever drops the object; hand the thread what it needs, or "
                "a `weakref.ref(self)`"
            ),
            confidence=Confidence.MEDIUM,
            value=f"the {undying.cls} with all that is on it",
            holder="the running thread",
            release="let the target use what it is given, `args=(self.queue,)`, or a weak reference to `self`",
            related=((undying.end, "never reached while the thread runs"),),
        )
    for writer in unclosed_writers(evidence.program):
        yield Report(
            site=writer.site,
            message=(
                f"`self.{writer.attribute}` keeps a thread, its queue and an open file until it is closed, and "
                f"`{writer.end}()` leaves it open, as everything does; call `close()` there"
            ),
            confidence=Confidence.MEDIUM,
            value="the thread of a writer, with its queue and file",
            holder="the running thread",
            release=f"`self.{writer.attribute}.close()` in `{writer.end}()`",
        )
    seen: set[str] = set()
    for blocked in blocked_producers(evidence.program):
        producer = blocked.producer
        seen.add(producer.name)
        what = producer.filler.what
        how = "end it in a `finally`" if producer.alone else "give it an end, and call it in a `finally`"
        how = f"call `{producer.end}()` in a `finally`" if producer.end else how
        yield Report(
            site=blocked.site,
            message=(
                f"the {what} of `{producer.name}` fills a queue of limited size, and the loop that reads from it "
                f"leaves before the end: it waits in `put` for ever with what is in the queue; {how}"
            ),
            confidence=Confidence.HIGH if producer.end else Confidence.MEDIUM,
            value=f"a {what}, with the items in its queue",
            holder=f"the running {what}",
            release=f"end the {what} when the loop is left, whatever the reason",
            related=((producer.filler.put, "it waits here"),)
            + (((blocked.left, "read here"),) if blocked.left != blocked.site else ()),
        )
    for producer in unended_iterators(evidence.program):
        if producer.name in seen:
            continue
        yield Report(
            site=producer.filler.started,
            message=(
                "the thread waits in `put` for ever, with all that it works on, if somebody takes less than all from "
                f"a {producer.name}: nothing can end it; give it an event to look at, and set it in `close()`"
            ),
            confidence=Confidence.MEDIUM,
            value="a thread, with the items in its queue",
            holder="the running thread",
            release="put with a timeout, look at an event in between, and set the event in `close()`",
            related=((producer.filler.put, "it waits here"),),
        )
