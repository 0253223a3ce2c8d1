"""A checkpoint is loaded onto the device it was saved from, by every rank.

## What it does
Reports `torch.load(path)` without `map_location`, for a checkpoint or a state
dictionary, in a file that works with several ranks (`init_process_group`,
`DistributedDataParallel`, `get_rank`).

## Why it retains
`torch.load` puts each tensor back where it was saved. A checkpoint written by
rank 0 holds tensors of `cuda:0`, so every rank that reads it allocates a full
copy there, next to its own model on its own device, and keeps a context on
`cuda:0` for the rest of its life. With eight ranks that is eight copies on one
device while loading.

## When it is fine
- `map_location="cpu"`, or the rank's own device.
- The file holds no device tensors: a data set, statistics, labels.

## How to release it
`torch.load(path, map_location="cpu")`; `load_state_dict` copies to where the
model is.

## References
- PyTorch tutorial, "Getting Started with Distributed Data Parallel": "you need
  to provide map_location".
- PyTorch documentation, `torch.load`: storages are moved to the device they
  were saved from.
- Not yet measured on CUDA: the fixtures measure what the argument does with a
  stand-in device on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...lexical.checkpoints import loads
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML312"
name = "load-without-map-location"
retains: Retains | None = Retains.PEAK

_RANKS = frozenset(
    "init_process_group DistributedDataParallel DDP get_rank get_world_size local_rank is_main_process".split()
)


def check(evidence: Evidence) -> Iterator[Report]:
    functions = evidence.facts.functions
    if not any("load" in function.calls for function in functions):
        return
    ranks = any(_RANKS.intersection(function.calls) for function in functions)
    for function in functions:
        if function.name.startswith("test_"):
            continue  # it loads what it has saved a moment ago
        for load in loads(function):
            given = len(load.call[3]) > 1 or any(name in ("map_location", "") for name, _ in load.call[4])
            if given or not load.named:
                continue
            yield Report(
                site=load.call[1],
                message=(
                    "every rank loads this onto the device that it was saved from, mostly `cuda:0`, next to its own "
                    'model; pass `map_location="cpu"` or the rank\'s device'
                ),
                confidence=Confidence.MEDIUM if ranks else Confidence.LOW,
                value="a copy of the checkpoint for each rank",
                holder="the device it was saved from",
                release='pass `map_location="cpu"`',
                remedy=Remedy("add-argument", 'map_location="cpu"', sure=False),
            )
