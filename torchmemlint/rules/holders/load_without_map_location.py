"""A checkpoint is loaded onto the device it was saved from, by every rank.

## What it does
Reports `torch.load(path)` without `map_location`, for a checkpoint or a state
dictionary:

- in a file that works with several ranks (`init_process_group`,
  `DistributedDataParallel`, `get_rank`, `spawn`, `all_reduce`), or in a
  function that is told its `rank` or `process_index`; in such a file also
  NeMo's `restore_from(path)`, where the model is moved to the rank's device
  only then;
- in a function that has a parameter `map_location` and does not pass it on, be
  it to `torch.load`, to `load_url` or to a loader of the same file;
- where a part of the checkpoint, `checkpoint["model"]`, goes into a module;
- in a class whose other methods load with a `map_location`, or that keeps the
  weights on the object and copies them into parameters; likewise
  `obj.load_state_dict(torch.load(path))` beside functions that say where to;
- in a tool that reads checkpoints and writes one, and computes nothing.

## Why it retains
`torch.load` puts each tensor back where it was saved. A checkpoint written by
rank 0 holds tensors of `cuda:0`, so every rank that reads it allocates a full
copy there, next to its own model on its own device, and keeps a context on
`cuda:0` for the rest of its life. With eight ranks that is eight copies on one
device while loading. With one rank it is one: all weights, and mostly an
optimizer's state of twice their size, beside the model that gets the weights.

## When it is fine
- `map_location="cpu"`, or the rank's own device.
- The file holds no device tensors: a data set, statistics, labels.
- The function asks whether it was given a `map_location`, or loads onto the
  host as well: somebody has thought of it.
- The file holds tests, `test_*.py` with pytest or unittest.

## How to release it
`torch.load(path, map_location="cpu")`; `load_state_dict` copies to where the
model is.

## References
- PyTorch tutorial, "Getting Started with Distributed Data Parallel": "you need
  to provide map_location".
- PyTorch documentation, `torch.load`: storages are moved to the device they
  were saved from.
- The model's bytes a second time on one GPU: measured by this rule's fixtures.
  What several ranks add there was not: it takes a second device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.unmapped import unmapped_loads
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML312"
name = "load-without-map-location"
retains: Retains | None = Retains.PEAK
of_tests = False

_RANKS = (
    "every rank loads this onto the device that it was saved from, mostly `cuda:0`, next to its own model; pass "
    '`map_location="cpu"` or the rank\'s device'
)
_COSTS = {
    "": _RANKS,
    "ranks": _RANKS,
    "ignored": (
        "`map_location` is not passed on: whatever the caller asks for, this goes to the device that it was saved "
        "from; pass `map_location=map_location`"
    ),
    "kept": (
        "the object keeps what it copies into the model on the device that it was saved from, a second set of weights "
        'for as long as it lives; pass `map_location="cpu"`'
    ),
    "others": (
        "this goes to the device that it was saved from, next to the model, while others here say where they load to; "
        'pass `map_location="cpu"` as well'
    ),
    "unused": (
        "this is loaded onto the device that it was saved from, though nothing here computes on one: all tensors of "
        'the checkpoint lie there for nothing; pass `map_location="cpu"`'
    ),
    "copied": (
        "the whole checkpoint is loaded onto the device that it was saved from, next to the model that a part of it is "
        'copied into; pass `map_location="cpu"`'
    ),
}


def check(evidence: Evidence) -> Iterator[Report]:
    for load in unmapped_loads(evidence.program):
        given = "map_location" if load.why == "ignored" else '"cpu"'
        yield Report(
            site=load.site,
            message=_COSTS[load.why],
            confidence=Confidence.MEDIUM if load.why else Confidence.LOW,
            value="a copy of the checkpoint for each rank" if load.why == "ranks" else "a copy of the checkpoint",
            holder="the device it was saved from",
            release=f"pass `map_location={given}`",
            remedy=Remedy("add-argument", f"map_location={given}", sure=False),
        )
