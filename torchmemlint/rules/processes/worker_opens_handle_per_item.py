"""A data set or worker opens a file for each item or shard and keeps it open.

## What it does
Reports open files, HDF5 and archive handles, memory maps, databases, video
readers and child processes that `__getitem__`, or the task of a pool, puts into
a container that is never emptied: `self.shards[i] = h5py.File(path)`; also
objects of the file's own classes that open one. So is an `ExitStack` that is
given each of them, and a list of a generator that reads one file after another.
So is a kept reader of a child process whose `close()` closes the pipes only
under `if self.process.poll() is None:`, which is no longer so when the process
was read to its end.

So are the files that the constructor of a data set opens, one for each of its
items, and pictures of PIL that go into records before anybody has asked for
their pixels: `Image.open(path)` keeps the file open until then.

## Why it retains
Every handle is a file descriptor, with its mapped pages, buffers and the
library's chunk caches behind it. They stay until the data set goes; the
operating system allows a process about a thousand. Each worker of a loader
opens its own.

## When it is fine
- One handle, opened on first use and kept: `if self.file is None`.
- The handle is closed after the item was read (`with`).
- The number of open handles has a limit that is kept.
- One handle for each path, under that path: as many as there are files (said
  with low confidence, unless each item is a file of its own).

## How to release it
Open in a `with` for each item, or keep the last few in an `lru_cache` that
closes what it drops.

## References
- Python tutorial, "Reading and Writing Files": a file that is not opened in a
  `with` is to be closed by hand.
- Open descriptors after N and 2N items: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.kept import kept_by_workers
from ...facts.model import statement_of
from ...finding import Confidence, Retains
from ...lexical.half_closed import half_closed
from ...lexical.opened_ahead import opened_ahead
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...evidence.kept import WorkerRetention

code = "TML406"
name = "worker-opens-handle-per-item"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    said: set[int] = set()  # `self.files[i] = stack.enter_context(open(path))` is kept twice
    for kept in kept_by_workers(evidence.machine):
        if kept.what != "handle" or not kept.growing or statement_of(kept.site) in said:
            continue
        said.add(statement_of(kept.site))
        if kept.holder.kind == "generator":
            yield _during_the_pass(kept)
            continue
        where = "the data set" if kept.context.kind == "loader" else "the worker process"
        yield Report(
            site=kept.site,
            message=(
                f"`{kept.holder.text}` keeps every file that was opened, with its descriptor and caches, as long as "
                f"{where} lives; open it in a `with` for each item, or close what is dropped from a bounded cache"
            ),
            confidence=Confidence(min(kept.weight, 3)),
            value="open files",
            holder=kept.holder.text,
            release="open the file in a `with`, or bound the number of open files and close the rest",
            related=kept.related[:4],
        )
    for half in half_closed(evidence.program):
        yield Report(
            site=half.site,
            message=(
                f"a process that was read to its end has exited, and then `{half.end}()` leaves its pipes open: "
                f"`{half.holder}` keeps each {half.cls} with the descriptors of `self.{half.process}`; close the pipes "
                "whether it still runs or not"
            ),
            confidence=Confidence.MEDIUM,
            value="the pipes of a process that has exited",
            holder=half.holder,
            release=f"close the pipes of `self.{half.process}` outside of the test",
            related=((half.started, "the process is started here"),),
        )

    for ahead in opened_ahead(evidence.program):
        each, until = ("picture", "its pixels are asked for") if ahead.picture else ("item", "the data set goes")
        remedy = "copy or convert it within the `with`" if ahead.picture else "open it where an item is asked for"
        yield Report(
            site=ahead.site,
            message=(
                f"`{ahead.holder}` has an open file for each {each}, with its descriptor, until {until}: a process "
                f"may have about a thousand; open it in a `with`, and {remedy}"
            ),
            confidence=Confidence.MEDIUM,
            value="open files",
            holder=ahead.holder,
            release=f"open each file in a `with`, and {remedy}",
        )


def _during_the_pass(kept: WorkerRetention) -> Report:
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder.text}` keeps every file that was opened until the whole pass is over, though each is read "
            "to its end before the next; open it in a `with` of its own"
        ),
        confidence=Confidence.MEDIUM,
        value="open files",
        holder=kept.holder.text,
        release="open each file in a `with` around what is read from it",
    )
