"""Device tensors are made in a worker of a loader: a context for each.

## What it does
Reports `.cuda()`, `.to(device)` and `device=` in `__getitem__`, `__iter__`,
`collate_fn` or `worker_init_fn` of a data set that a `DataLoader` with workers
reads. If they stand in another file than the loader, the line that leads there
is reported: the call of a method, or the loader.

## Why it retains
Each process that touches a device makes a context there, some hundred MiB, and
has a caching allocator of its own; both stay until the worker ends. With the
start method `fork` the call fails where the parent has used the device before
it forked; with `spawn` it works and costs.
A device tensor that is sent to the main process stays allocated in the worker
until the main process lets go of it.

## When it is fine
- The loader has no workers (`num_workers=0`).
- The device is the CPU.

## How to release it
Return CPU tensors, with `pin_memory=True` on the loader, and move the batch in
the training loop: `batch.to(device, non_blocking=True)`.

## References
- PyTorch documentation, `torch.utils.data`, "Multi-process data loading": "It
  is generally not recommended to return CUDA tensors in multi-process loading";
  "Sharing CUDA tensors" in `torch.multiprocessing`.
- The size of a context, half a GiB on an H200: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.led_from import line_of_home
from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Site

code = "TML403"
name = "device-in-loader-worker"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    machine = evidence.machine
    loaders = {note.site: note.detail[1] for note in evidence.plain("loader-workers")}
    said: set[Site] = set()
    for note in machine.plain:
        if note.kind != "loader-device" or not (machine.is_home(note.site) or machine.is_home(note.detail.site)):
            continue
        # of a data set in another file it is said of the line that leads there
        site = line_of_home(machine, note.site, *reversed(note.trail), loops=note.loops)
        if site is None or site in said:
            continue
        said.add(site)
        started = note.detail.site
        what = "this" if site == note.site else f"`{note.frame.name}()`, to which this leads, moves to a device and"
        yield Report(
            site=site,
            message=(
                f"{what} runs in a worker of the loader: each worker makes a device context and keeps what it "
                "allocates there until it ends; return CPU tensors and move the batch in the main process"
            ),
            confidence=Confidence(loaders.get(started, 1)),
            value="a device context for each worker",
            holder="the loader's workers",
            release="return CPU tensors, set `pin_memory=True`, and call `.to(device)` in the training loop",
            related=((started, "the loader with workers"),) if started in loaders else (),
        )
