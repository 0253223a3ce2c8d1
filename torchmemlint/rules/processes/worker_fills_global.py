"""A worker process fills a global of its own, for as long as it lives.

## What it does
Reports arrays, tensors, models and files that the task of a `Pool`, a
`ProcessPoolExecutor`, a `Process` or joblib puts into a global of its module,
into a class attribute, or into an object that a global refers to, also
through helper functions and memo classes: a memo that gains an entry for each
task, or a large array that is made in the worker. So does a function under
`lru_cache(maxsize=None)` or `cache` that each task asks for something else.
And a reader or cache that a process makes before the loop in which it waits for
its tasks, or has itself, and that gains an entry for each.

## Why it retains
Each process has globals of its own. A memo that seems to hold one entry for
each key holds it once in every worker that met the key; it lives until the
worker ends, and the workers of a pool end with the pool. The parent never sees
these entries, so nothing there can clear them.

## When it is fine
- The container has a limit that is kept: `lru_cache(maxsize=8)`, a `deque`
  with `maxlen`, `popitem` when it gets too long.
- `initializer=` sets up something small, or the model, once for each worker on
  purpose: an initializer is never reported.
- `maxtasksperchild=` replaces the workers before much has piled up.

## How to release it
Bound the memo, or give the value to the caller instead of keeping it. Data
that all tasks read belongs in shared memory (`tensor.share_memory_()`,
`multiprocessing.shared_memory`, a memory-mapped file); what must live in the
worker goes into `initializer=`; `maxtasksperchild=` limits the damage.

## References
- Python documentation, "multiprocessing": `Pool(initializer=...,
  maxtasksperchild=...)`, and the programming guidelines on global variables.
- Private memory of the workers, N and 2N tasks: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.cached_by_workers import cached_by_workers
from ...evidence.caches import cached_functions
from ...evidence.kept import kept_by_workers
from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML401"
name = "worker-fills-global"
retains: Retains | None = Retains.GROWING

WORDS = {
    "tensor": "tensors", "array": "arrays", "bytes": "the bytes", "handle": "open files", "module": "models",
    "item": "loaded values",
}  # fmt: skip

_REMEDY = ("bound it, or set `maxtasksperchild`", "bound it, or load it for each task")


def check(evidence: Evidence) -> Iterator[Report]:
    for kept in kept_by_workers(evidence.machine):
        own = not kept.process_wide and kept.growing and kept.serving
        if kept.context.kind != "process" or not (kept.process_wide or own) or kept.what == "handle":
            continue
        if kept.context.setup and not kept.growing:
            continue
        name = f"`{kept.holder.text}`"
        what = WORDS[kept.what]
        if kept.growing:
            yield Report(
                site=kept.site,
                message=(
                    f"each worker process keeps {what} of its own in {name} for every task that adds one, until the "
                    f"worker ends: the parent cannot clear them; {_REMEDY[own]}"
                ),
                confidence=Confidence(kept.weight),
                value=what,
                holder=kept.holder.text,
                release="bound the container, return the value instead, or set `maxtasksperchild=` on the pool",
                related=kept.related[:4],
            )
        elif kept.what in ("tensor", "array", "bytes") and kept.holder.kind == "global":
            yield Report(
                site=kept.site,
                message=(
                    f"each worker process makes its own copy for {name} and keeps it until the worker ends, with "
                    "`fork` as with `spawn`; share it (`share_memory_()`, a memory map) or make it where it is used"
                ),
                confidence=Confidence(min(kept.weight, 2)),
                retains=Retains.HELD,
                value=what,
                holder=kept.holder.text,
                release="share one copy between the workers, or keep it in a local variable",
                related=kept.related[:4],
            )
    for cached in cached_by_workers(evidence.machine):
        if any(one.site == cached.site for one in cached_functions(evidence.machine)):
            continue  # which is said of every process
        what = WORDS[cached.what]
        yield Report(
            site=cached.site,
            message=(
                f"the cache of `{cached.name}` has no bound, and each worker process has one of its own: it keeps "
                f"{what} for every task that asks for others, until the worker ends; give it a `maxsize`, or set "
                "`maxtasksperchild`"
            ),
            confidence=Confidence(cached.weight),
            value=what,
            holder=f"the cache of {cached.name}",
            release="give the cache a `maxsize`, or set `maxtasksperchild=` on the pool",
            related=cached.related,
        )
