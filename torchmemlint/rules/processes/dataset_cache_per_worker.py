"""A data set keeps what it has loaded, once more in each worker of its loader.

## What it does
Reports a `Dataset` whose `__getitem__`, `__iter__` or a helper of theirs puts
what it loads into a container of the data set or into a global, without a
limit: `self.cache[index] = image`. Of a value that is not known, only if the
same value is handed out as well: sizes, offsets and vocabularies are kept, too.
And a buffer of `__iter__` that gets every item, and from which items are handed
out one by one without being taken out: a shuffle buffer without its `pop`. And
a record of the data set's own list that is handed out with what is loaded for
it, `record["image"] = imread(record["path"])`, each time anew. And a data set
of one file that keeps what it has read, in a `cached_property` or an attribute
that is set when it is missing, where a `ConcatDataset` has one for each file.

## Why it retains
A worker of a `DataLoader` works on its own copy of the data set. What it caches
stays in that copy: with 8 workers, the cache of a data set that is shuffled
ends up in memory 8 times. Without `persistent_workers=True` the copies go at
the end of each epoch together with all that was cached, so the cache costs
memory and saves nothing; with it they stay.

## When it is fine
- The cache is bounded (`lru_cache(maxsize=...)`, an eviction).
- It is filled before the workers start, as arrays or tensors, and only read by
  them.
- It is a container of a `multiprocessing.Manager`, which all workers share, or
  shared memory. (One that grows past a limit which the data set was given, and
  which nothing asks, is reported.)
- The loader has no workers: then the cache is held once, as intended.

## How to release it
Do not cache in `__getitem__`; or bound the cache; or fill one shared tensor
(`torch.empty(...).share_memory_()`) that all workers write to and read from.

## References
- PyTorch documentation, `torch.utils.data`, "Multi-process data loading":
  "each worker ... dataset, collate_fn, and worker_init_fn are passed to each
  worker", and the warning about memory.
- Private memory of the workers, N and 2N items: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.concatenated import is_let_go, kept_by_parts
from ...evidence.kept import WorkerRetention, kept_by_workers
from ...facts import model as m
from ...facts.knowledge import MODEL_NAMES
from ...facts.model import statement_of
from ...facts.walk import calls, last_name, nodes
from ...finding import Confidence, Retains
from ...lexical.loaded_in_place import loaded_in_place
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML404"
name = "dataset-cache-per-worker"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    said: set[int] = set()
    for kept in kept_by_workers(evidence.machine):
        if kept.context.kind != "loader" or not kept.growing or kept.what == "handle":
            continue
        if is_let_go(evidence.program, kept.site):
            continue
        said.add(statement_of(kept.site))
        if kept.limit:
            yield _past_its_limit(kept)
            continue
        if kept.holder.kind == "generator":
            yield _handed_singly(kept)
            continue
        seen = any(note.site == kept.context.site for note in evidence.plain("loader-workers"))
        weight = kept.weight if seen else 1 if _runs_a_model(evidence, kept) else min(kept.weight, 2)
        yield Report(
            site=kept.site,
            message=(
                f"`{kept.holder.text}` keeps every item that was loaded, and each worker of the loader has a copy of "
                "its own: the cache costs its size times `num_workers`; bound it, or fill it before the workers start"
            ),
            confidence=Confidence(weight),
            value="the items loaded so far",
            holder=kept.holder.text,
            release="bound the cache, or share one between the workers",
            related=kept.related[:4],
        )
    for part in kept_by_parts(evidence.machine, evidence.program):
        if statement_of(part.site) in said:
            continue
        yield Report(
            site=part.site,
            message=(
                f"`{part.attribute}` stays on each {part.cls} once it was asked for, and the concatenation has one for "
                "each file: all that was ever read is held at once, once more in each worker of a loader; keep the few "
                "that were read last, in an `lru_cache(maxsize=...)` that they share"
            ),
            confidence=Confidence(min(part.weight, 2)),
            value="what was read of each file",
            holder=f"{part.cls}.{part.attribute}",
            release="let the data sets share a small cache, or read it anew",
        )
    for loaded in loaded_in_place(evidence.program):
        if statement_of(loaded.site) in said:
            continue
        yield Report(
            site=loaded.site,
            message=(
                f"`{loaded.entry}` is the entry of `{loaded.table}` itself: what is loaded for it stays in it until "
                "the data set has all that was ever asked for, once more in each worker of a loader; hand out a copy, "
                f"`{loaded.entry} = {loaded.copied}({loaded.entry})`"
            ),
            confidence=Confidence.MEDIUM,
            value="the items loaded so far",
            holder=loaded.table,
            release="put what is loaded into a copy of the entry",
        )


def _runs_a_model(evidence: Evidence, kept: WorkerRetention) -> bool:
    """`self.teacher_model.encode(texts)`: a model on a device runs in no worker, which is forked."""
    return any(
        last_name(part).rpartition("_")[2] in MODEL_NAMES
        for cls in evidence.facts.classes
        if cls.name == kept.holder.owner and kept.function in cls.methods
        for call in calls(evidence.facts.functions[cls.methods[kept.function]].body)
        for part in nodes(call[2])
        if part[0] == m.ATTR and part[1] == (m.NAME, "self")
    )


def _past_its_limit(kept: WorkerRetention) -> Report:
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder.text}` keeps every item that was loaded in the manager's process, and `self.{kept.limit}` "
            "limits nothing: no code asks it; add up what is kept and stop, or evict, when the limit is reached"
        ),
        confidence=Confidence(min(kept.weight, 2)),
        value="the items loaded so far",
        holder=kept.holder.text,
        release="compare what is kept with the limit before an item is added",
        related=kept.related[:4],
    )


def _handed_singly(kept: WorkerRetention) -> Report:
    return Report(
        site=kept.site,
        message=(
            f"`{kept.holder.text}` keeps every item of the pass: what is handed out of it stays in it, and each worker "
            "of a loader has one; take out what you hand out, `pop(index)`"
        ),
        confidence=Confidence(min(kept.weight, 2)),
        value="the items loaded so far",
        holder=kept.holder.text,
        release="take each item out when it is handed out, or replace it by the next one",
        related=kept.related[:4],
    )
