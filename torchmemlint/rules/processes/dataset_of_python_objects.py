"""Forked workers copy a data set of Python objects by reading it.

## What it does
Reports a list or dict of dicts, objects or parsed records on a `Dataset` that a
`DataLoader` with workers reads: `self.records.append({"text": text})`, also
grouped by a key, and in an object that the data set has for the purpose. And
such a list or dict of the module, which the tasks of a forked pool read.

## Why it retains
Forked workers share the parent's pages until somebody writes to them. Reading a
Python object writes to it: its reference count changes. So each worker ends up
with a private copy of every page of records that it has touched, and memory
grows during the first epoch until it has been multiplied by the number of
workers.

## When it is fine
- The records are few: shards or episodes of many items each, found by
  `divmod(index, size)` or a search (said with low confidence).
- They are in an array, a tensor, or an Arrow table: one object, whose data has
  no reference counts.
- The loader has no workers.

## How to release it
Pack the records into one numpy array or tensor: fixed fields as columns, the
rest pickled into one byte tensor with an array of offsets, and unpack one
record in `__getitem__`.

## References
- PyTorch documentation, `torch.utils.data`, "Multi-process data loading", the
  warning on memory use, and pytorch/pytorch#13246.
- Private memory of the workers: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.global_records import read_from_globals
from ...evidence.records import read_by_forked_workers
from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML405"
name = "dataset-of-python-objects"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for table in read_from_globals(evidence.machine, evidence.program):
        yield Report(
            site=table.site,
            message=(
                f"`{table.name}` holds one Python object or more for each item: forked workers copy its pages by "
                "reading them (reference counts), until each worker has all; pack it into an array or tensor"
            ),
            confidence=Confidence.MEDIUM,
            value="Python objects, once more in each worker",
            holder=table.name,
            release="pack the records into one numpy array or tensor, and unpack one where it is asked for",
            related=((table.workers, "read by these workers"),),
        )
    for records in read_by_forked_workers(evidence.machine, evidence.program):
        here = evidence.machine.is_home(records.site)  # else the file of the data set knows of no loader
        made = not here and records.made >= 0
        place = f"`self.{records.attribute}`" if here else f"`{records.attribute}` of this {records.cls}"
        read = (records.loader, "read by the workers of this loader")
        yield Report(
            site=records.site if here else records.made if made else records.loader,
            message=(
                f"{place} holds one Python object or more for each item: forked workers copy its "
                "pages by reading them (reference counts), until each worker has all; pack it into an array or tensor"
            ),
            confidence=Confidence(min(records.weight, 2) if records.rich else 1),
            value="Python objects, once more in each worker",
            holder=f"self.{records.attribute}",
            release="pack the records into one numpy array or tensor and unpack one in `__getitem__`",
            related=(read,) if here else ((records.site, "filled here"), *((read,) if made else ())),
        )
