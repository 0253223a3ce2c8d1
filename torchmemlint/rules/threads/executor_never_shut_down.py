"""A worker that never ends is started again and again.

## What it does
Reports a thread or executor task whose function is an endless loop, `while
True:` without a way out, where it is started in a loop or in a method that is
called again and again. And a prefetcher, an object or generator whose thread or
process fills a queue of limited size, where the loop that reads from it leaves
before the end and nobody ends the thread, or ends it by a flag that it does not
look at while it waits for room. And an object that starts a thread which goes
round until it is told to stop, made again and again and dropped without its
`stop()`, or without the `None` that ends it in its queue, or without anything
in the program that could tell it: a flag that stays as it is, an event that is
never set, a camera that nobody releases; also where the object has no end of
its own, and a part of it has the thread. And a prefetcher inside another one,
whose `close()` ends its own thread and leaves the prefetcher that it reads
from.
Also a thread or process, no daemon, whose loop has no way out, or one that
nothing in the file uses (an event that is never set), and a timer that always
sets the next one; as daemons, where they keep an object with a `close` that
cannot end them, or where a method that ends the object's other workers, and
starts all of them anew, starts one more. And a `SummaryWriter` that a function
makes for itself and leaves open. And a `QThread` for each piece of work, to
which an object is moved and which nothing tells to quit. And a timer for a long
time that a method sets each time it runs, `self.timer = Timer(...)`, without
cancelling the one before, which the object's end cancels the last of. And a
timer that is a deadline for one piece of work (its function says that the time
is over, or fails the work) and that nobody cancels when the work is done. And a
method that starts the thread which the constructor has started, `reset()`,
without telling that one to stop.

## Why it retains
A running thread is alive by itself, whoever has dropped its handle. It keeps
its function's arguments and, if the target is a bound method, `self` with all
that is on it: a model, a cache, a device handle. Nothing ends it, so each start
adds one more, for the rest of the process. A thread that waits in `put` for
room in a queue that nobody reads any more does the same, with all that is in
the queue; so does a process, with its copy of everything. And an object is
never collected while its own thread refers to it, so a thread that `__del__` is
to end does not end.
What is no daemon keeps the whole process: it does not exit. A writer of event
files has a thread that ends when the writer is closed, not when it is dropped.
A `QThread` without a `run` of its own runs an event loop, which ends when
`quit` is called (PySide6 6.12: 8 and 16 ran on after 8 and 16 pictures).

An executor that is merely dropped is not reported: its idle threads end when
the executor is collected (measured on CPython 3.11: after three executors, and
three process pools, that went out of scope without `shutdown`, no thread and no
process was left).

## When it is fine
- The loop has an end: a sentinel, an event (`while not stop.is_set()`), `break`
  or `return`, or one certain error that a `try` around it waits for, `except
  Disconnected`.
- The worker is started once for the whole process, as a daemon; or who starts
  it waits for it.
- The processes are terminated.
- The timer is to do something later, whatever comes of the work; or its time is
  known to be short.
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

from ...evidence.endless_workers import endless_workers
from ...facts.model import CALLS_PER_STATEMENT, Site
from ...finding import Confidence, Retains
from ...lexical.blocked import blocked_producers, unended_iterators
from ...lexical.endless import endless
from ...lexical.left_deadlines import left_deadlines
from ...lexical.left_running import LeftRunning, left_threads
from ...lexical.nested import left_inside
from ...lexical.piled_timers import piled_timers
from ...lexical.qt_threads import never_quit
from ...lexical.restarted import restarted
from ...lexical.started_beside import started_beside
from ...lexical.undying import kept_by_own_thread
from ...lexical.unread_flags import unread_flags
from ...lexical.untold import untold
from ...lexical.writers import unclosed_writers
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML505"
name = "executor-never-shut-down"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    said: set[Site] = set()
    unended = list(evidence.across(endless, own=("Thread", "Process")))
    by_text = {one.site for one in unended}
    for worker in endless_workers(evidence.machine, evidence.program):
        if worker.weight == 1 and worker.site in by_text:
            continue  # said with less doubt below
        said.add(worker.site)
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
    for one in unended:
        if one.site in said:
            continue
        said.add(one.site)
        kept = f"the {one.cls} that it refers to" if one.cls else "all that it refers to"
        if one.end:
            why = f"`{one.end}()` cannot end it, and it keeps the {one.cls} for the rest of the process"
        else:
            why = f"the {one.what} is no daemon, so it keeps {kept}, and the process, when all other work is done"
        yield Report(
            site=one.site,
            message=f"nothing ends `{one.target}`: {why}; give its loop an event, and set it when the work is done",
            confidence=Confidence.MEDIUM,
            value=f"a {one.what}, with {kept}",
            holder=f"the running {one.what}",
            release="end the loop on an event or a sentinel when the work is done, or make it a daemon",
            retains=Retains.HELD,
        )
    for unread in unread_flags(evidence.program):
        if unread.site in said:
            continue
        said.add(unread.site)
        yield Report(
            site=unread.site,
            message=(
                f"`{unread.work}` goes on after `{unread.stop}()`: nothing reads `self.{unread.flag}`, which is set "
                f"there, and errors do not end its loop: each that is started stays with its {unread.cls}; let the "
                f"loop ask for the flag, or cancel it in `{unread.stop}()`"
            ),
            confidence=Confidence.MEDIUM,
            value=f"a task or thread, with the {unread.cls} that it belongs to",
            holder="the running loop",
            release=f"`while self.{unread.flag}`, or cancel it in `{unread.stop}()`",
            related=((unread.set, "nothing reads this"),),
        )
    for again in restarted(evidence.program):
        if again.site in said:
            continue
        said.add(again.site)
        yield Report(
            site=again.site,
            message=(
                f"`{again.target}` never returns, so `{again.end}()` cannot end it, and `{again.restart}()` starts "
                "another one each time: every thread stays with its arguments; give its loop an event, and set it in "
                f"`{again.end}()`"
            ),
            confidence=Confidence.MEDIUM,
            value="a thread, with its arguments",
            holder="the running thread",
            release=f"end the loop on an event, and set it in `{again.end}()`",
        )
    for beside in started_beside(evidence.program):
        if beside.site in said:
            continue
        said.add(beside.site)
        yield Report(
            site=beside.site,
            message=(
                f"`{beside.again}()` starts one more of these and leaves the thread before, which goes round until "
                f"`self.{beside.flag}` tells it to stop, with all that it has: tell it, and join it, before the next "
                "is started"
            ),
            confidence=Confidence.MEDIUM,
            value="a thread, with its arguments",
            holder="the running thread",
            release=f"tell it by `self.{beside.flag}` and join it before the next is started",
        )
    for site in never_quit(evidence.program):
        yield Report(
            site=site,
            message=(
                "a QThread that nothing tells to quit goes on waiting for events when its work is done, and one more "
                "is started each time: every thread stays, with the object that was moved to it; connect the signal "
                "of its end to `thread.quit`"
            ),
            confidence=Confidence.MEDIUM,
            value="a thread, with the object that was moved to it",
            holder="the running thread",
            release="`worker.done.connect(thread.quit)`, and drop both when the thread has finished",
        )
    for timer in piled_timers(evidence.program):
        yield Report(
            site=timer.site,
            message=(
                f"the timer before in `self.{timer.attribute}` goes on, with its thread and all that its function "
                f"refers to, until its time has come: each `{timer.method}()` adds one, and `{timer.cancelled}()` "
                "cancels the last; cancel it before the next is set"
            ),
            confidence=Confidence.MEDIUM,
            value="a thread for each timer, with what its function refers to",
            holder="the running thread",
            release=f"`self.{timer.attribute}.cancel()` before the next one is set",
        )
    yield from _deadlines(evidence)
    for undying in kept_by_own_thread(evidence.program):
        if undying.site in said:
            continue
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
    for writer in evidence.across(unclosed_writers, "SummaryWriter"):
        said.update((writer.site, writer.site - writer.site % CALLS_PER_STATEMENT))  # the call, and its statement
        leaves = f"`{writer.end}()` leaves it open, as everything does"
        how = f"call `close()` in a `finally`, or one more stays each time `{writer.end}()` runs"
        yield Report(
            site=writer.site,
            message=(
                f"`{writer.name}` keeps a thread, its queue and an open file until it is closed, and "
                + (f"nothing closes it: {how}" if writer.local else f"{leaves}; call `close()` there")
            ),
            confidence=Confidence.MEDIUM,
            value="the thread of a writer, with its queue and file",
            holder="the running thread",
            release=f"`{writer.name}.close()` at the end of `{writer.end}()`",
        )
    seen: set[str] = set()
    for blocked in evidence.across(blocked_producers, "Queue", own=("Queue",)):
        producer = blocked.producer
        seen.add(producer.name)
        what = producer.filler.what
        how = "end it in a `finally`" if producer.alone else "give it an end, and call it in a `finally`"
        how = f"call `{producer.end}()` in a `finally`" if producer.end else how
        if producer.deaf:
            how = f"let `{producer.end}()` empty the queue, too: nobody who waits looks at what it sets"
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
    for left in evidence.across(left_threads, "Thread"):
        if left.site in said or left.cls in seen:
            continue
        yield Report(
            site=left.site,
            message=(
                f"each {left.cls} starts a thread that goes round until it is told to stop, and {left.fate}: "
                f"the thread stays, and keeps {_kept_by(left)}; call `{left.end}()` {left.when}"
            ),
            confidence=Confidence.MEDIUM,
            value=f"a thread with its {left.cls}" if left.whole else "a thread, with what it was given",
            holder="the running thread",
            release=f"call `{left.end}()` when it is done, or make one and reuse it",
            related=((left.started, "the thread starts here"),),
        )
    for alone in evidence.across(untold, "Thread", "QThread"):
        if alone.site in said or alone.started in said:
            continue
        said.add(alone.site)
        yield Report(
            site=alone.site,
            message=(
                f"each {alone.cls} has a thread that goes round until it is told to stop, and nothing tells it: every "
                "thread stays for the rest of the process, with what it works on; give it an event, and set it when "
                f"the {alone.cls} has done its work"
            ),
            confidence=Confidence.MEDIUM,
            value="a thread, with what it works on",
            holder="the running thread",
            release="end its loop on an event, and set it when the work is done",
            related=((alone.started, "the thread starts here"),),
        )
    for nested in evidence.across(left_inside, "Queue"):
        inner, outer = nested.inner, nested.outer
        yield Report(
            site=nested.site,
            message=(
                f"`{outer.end}()` of the {outer.name} around it ends its own thread and leaves `self.{nested.source}` "
                f"as it is: the thread of this {inner.name} waits in `put` for ever, with what it reads; call "
                f"`self.{nested.source}.{inner.end}()` there"
            ),
            confidence=Confidence.MEDIUM,
            value="a thread, with the items in its queue and its source",
            holder="the running thread",
            release=f"let `{outer.end}()` end `self.{nested.source}`, too",
            related=((nested.ended, "ends the outer one only"), (inner.filler.put, "it waits here")),
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


def _kept_by(left: LeftRunning) -> str:
    return f"the {left.cls} with all that it has" if left.whole else "its queue, with what it was given"


def _deadlines(evidence: Evidence) -> Iterator[Report]:
    for left in left_deadlines(evidence.program):
        what, holder = ("its thread", "the running thread") if left.thread else ("its handle", "the event loop")
        yield Report(
            site=left.site,
            message=(
                f"nobody cancels this timer when the work is done: {what} stays until the time is over, with the "
                f"`{left.kept}` that `{left.function}` refers to, one for each call; cancel it in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value=f"{what}, with what its function refers to",
            holder=holder,
            release="`timer.cancel()` as soon as the work is done, whatever comes of it",
        )
