"""Pools, processes or loaders with persistent workers pile up in a container.

## What it does
Reports pools of processes, processes, managers, thread pools and loaders with
`persistent_workers=True` that go into an attribute or global, call after call
or epoch after epoch, where nothing takes them out or closes them; or that an
`Accelerator` prepares for each evaluation. And an object
that starts processes, itself or in its parts, which serve a queue until they
are told to stop, made again and again and dropped without its `close()`; and
such processes that a function is given by the one that starts them, and that it
does not end; and a process without an end that each pass starts anew, or one
that waits at a queue of the function which starts it, where that puts no end
mark into the queue. And a
`subprocess.Popen(...)` for each rank or device, in a loop, whose handle is
dropped. And processes that a training loop starts, one after
the other, in a list that only the end goes through to `join()` them. And a
process group of the same ranks, `dist.new_group(...)`, that is made again and
again and never destroyed, or whose name is merely set to None, or whose table
is emptied.

## Why it retains
Each of them keeps its worker processes alive, and each worker keeps its copy of
the data set, its caches and its pipes. The main process looks small.

A pool or loader that is made for each epoch and bound to a local name is not
reported: its workers end when the name is bound again (measured on CPython
3.11: no process was left after three pools, three executors and three
persistent loaders that went out of scope without `close`). A process of one's
own that waits at a queue has nobody to end it. One that waits at a pipe ends
with its pipe; but forked workers whose pipes were all made before the first of
them started have each other's ends open, and none of them ever ends.

## When it is fine
- The container is emptied, or its elements are closed (`close`, `terminate`,
  `shutdown`).
- One pool or loader is made for the whole run, one group for each set of ranks.
- What is started is kept in a list that somebody watches.

## How to release it
Make one and reuse it; or close the old one before you make the next, and take
it out of the container.

## References
- Python documentation, `multiprocessing.pool.Pool`: "Pool objects have internal
  resources that need to be properly managed"; PyTorch documentation,
  `torch.utils.data.DataLoader(persistent_workers=...)`.
- Child processes after N and 2N epochs: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.kept import KeptWorker, kept_in_containers
from ...facts.emptying import ending, gone_through, told_to_end
from ...facts.knowledge import PROCESSES
from ...facts.model import statement_of
from ...finding import Confidence, Retains
from ...lexical.ended_first import ends_before_it_replaces
from ...lexical.groups import groups_each_time, groups_let_go
from ...lexical.handed_processes import dropped_processes
from ...lexical.launched import launched_and_dropped
from ...lexical.left_at_queues import left_at_queues
from ...lexical.left_running import left_running
from ...lexical.once import is_repeated
from ...lexical.prepared_loaders import loaders_prepared_each_time
from ...lexical.process_per_pass import processes_per_pass
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML408"
name = "pool-or-loader-never-closed"
retains: Retains | None = Retains.GROWING

WHAT = {
    "pool": "pool of processes", "executor": "executor", "loader": "loader", "process": "process",
    "mp-manager": "manager with its server process",
}  # fmt: skip


def check(evidence: Evidence) -> Iterator[Report]:
    for kept in kept_in_containers(evidence.machine, evidence.program):
        if kept.item.kind not in WHAT:
            continue
        ending_them = list(ending(kept.program, kept.holder.text.rsplit(".", 1)[-1]))
        if ending_them:
            if (
                kept.item.kind == "process"
                and kept.stepping
                and not any(is_repeated(kept.program, place) for place in ending_them)
            ):
                yield _ended_late(kept)
            continue
        if kept.item.kind == "loader" and gone_through(kept.program, kept.holder.text.rsplit(".", 1)[-1]):
            continue  # one for each data set, which all the passes use
        if ends_before_it_replaces(kept.program, kept.holder.text.rsplit(".", 1)[-1]):
            continue
        if kept.item.kind == "process" and told_to_end(kept.program, kept.holder.text.rsplit(".", 1)[-1]):
            continue
        what = WHAT[kept.item.kind]
        who = f"nothing calls `{kept.method}()`" if kept.method else "nothing closes them or takes them out"
        yield Report(
            site=kept.site,
            message=(
                f"`{kept.holder.text}` keeps every {what}, and each keeps its workers running with their memory: "
                f"{who}; make one and reuse it, or close the old one first"
            ),
            confidence=Confidence.HIGH if kept.repeated else Confidence.MEDIUM,
            value="worker processes with all that they hold",
            holder=kept.holder.text,
            release="close the old one (`close()` and `join()`, `shutdown()`) and drop it, or reuse one",
            related=((kept.added, "added here"),) if kept.added != kept.site else (),
        )
    for left in evidence.across(left_running, *PROCESSES):
        yield Report(
            site=left.site,
            message=(
                f"each {left.cls} starts processes that go on until they are told to stop, and "
                f"{left.fate}: they stay with their memory; call `{left.end}()` {left.when}"
            ),
            confidence=Confidence.HIGH,
            value="worker processes with all that they hold",
            holder="the processes",
            release=f"call `{left.end}()` when it is done, or make one and reuse it",
            related=((left.started, "the processes start here"),),
        )
    for dropped in evidence.across(dropped_processes, *PROCESSES):
        yield Report(
            site=dropped.site,
            message=(
                f"each `{dropped.maker}()` starts processes that go on until they are told to stop, and these are "
                "dropped without: they stay with their memory; end them in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="worker processes with all that they hold",
            holder="the processes",
            release="end them when the work is done, or start them once and reuse them",
            related=((dropped.started, "the processes start here"),) if dropped.started is not None else (),
        )
    for started in processes_per_pass(evidence.program):
        yield Report(
            site=started.site,
            message=(
                f"`{started.work}` never returns, each pass starts one more of these, and nobody can end the one "
                "before: every process stays with its memory until the program ends; start it once, or "
                "`terminate()` and `join()` it in a `finally`"
            ),
            confidence=Confidence.MEDIUM,
            value="worker processes with all that they hold",
            holder="the processes",
            release="keep the process, and `terminate()` and `join()` it when the pass is over",
        )
    for waiting in evidence.across(left_at_queues, *PROCESSES):
        yield Report(
            site=waiting.site,
            message=(
                f"`{waiting.work}` waits at `{waiting.queue}` until it is told that this was all, which nobody does: "
                "each call leaves its processes with their memory until the program ends; put an end mark for each "
                "of them into the queue, and `join()` them"
            ),
            confidence=Confidence.MEDIUM,
            value="worker processes with all that they hold",
            holder="the processes",
            release="put an end mark for each process into the queue, and `join()` them",
        )
    for prepared in loaders_prepared_each_time(evidence.program):
        apart = statement_of(prepared.prepared) != statement_of(prepared.site)
        yield Report(
            site=prepared.site,
            message=(
                f"`{prepared.launcher}` lists every loader that it prepares, so each of them keeps its persistent "
                "workers running with their memory; make one and reuse it, or call `free_memory()` in between"
            ),
            confidence=Confidence.MEDIUM if prepared.sure else Confidence.LOW,
            value="worker processes with all that they hold",
            holder=f"{prepared.launcher}._dataloaders",
            release="keep the prepared loader and reuse it",
            related=((prepared.prepared, "prepared here"),) if apart else (),
        )
    for site in launched_and_dropped(evidence.program):
        yield Report(
            site=site,
            message=(
                "a process for each rank, and nobody keeps its handle: when one of them dies, or this one does, the "
                "others stay with their memory, and nothing waits for them; keep the handles, and end them all"
            ),
            confidence=Confidence.MEDIUM,
            value="processes with all that they hold",
            holder="the running processes",
            release="keep the handles in a list, watch them, and `terminate()` or `kill()` them all when one ends",
        )
    each_time = list(evidence.across(groups_each_time, "new_group"))
    for group in each_time:
        use = "ranks that are the same every time" if group.same else "one call"
        yield Report(
            site=group.site,
            message=(
                f"each `{group.maker}` makes connections of its own for {use}, and `torch.distributed` keeps them "
                "until the group is destroyed, which nothing does; keep one group for each set of ranks, or "
                "`destroy_process_group(group)`"
            ),
            confidence=Confidence.MEDIUM,
            value="the connections and buffers of a process group",
            holder="torch.distributed",
            release="keep the group in a table by its ranks, or `destroy_process_group(group)` when it is done",
        )
    for gone in evidence.across(groups_let_go, "new_group"):
        if any(group.site == gone.made for group in each_time):
            continue
        names = ", ".join(gone.names[:3])
        yield Report(
            site=gone.site,
            message=(
                f"`{names}`: forgotten here, but `torch.distributed` keeps each group with its connections until it is "
                "destroyed, and the next set comes on top; call `destroy_process_group(group)` first"
            ),
            confidence=Confidence.MEDIUM if gone.repeated else Confidence.LOW,
            value="the connections and buffers of process groups",
            holder="torch.distributed",
            release="`destroy_process_group(group)` for each group, before its name goes",
            related=((gone.made, "made here"),),
        )


def _ended_late(kept: KeptWorker) -> Report:
    """Of processes that come to their end one by one, and are waited for together after the last step."""
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder.text}` keeps every process until all steps are done, also those that have ended: each has "
            "a descriptor open until its object goes; `join()` and `close()` those that have ended, and take them out"
        ),
        confidence=Confidence.MEDIUM,
        value="processes that have ended, with a descriptor each",
        holder=kept.holder.text,
        release="when the next one starts, `join()` those that are no longer alive, and take them out",
        related=((kept.added, "added here"),) if kept.added != kept.site else (),
    )
