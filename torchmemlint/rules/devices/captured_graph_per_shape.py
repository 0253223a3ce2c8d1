"""A captured CUDA graph is kept for each shape, without a limit.

## What it does
Reports a table, on an object or in a global, that gains a
`torch.cuda.CUDAGraph`, or what a function of the file wraps around one, for
each key that the input decides, such as its shape, where nothing is ever taken
out. Likewise a TensorRT engine or execution context under a key that is a shape
or a size.

## Why it retains
A captured graph owns a private memory pool with all its intermediate tensors,
and keeps its static inputs and outputs. Inputs of ever new shapes, a sequence
length or a last batch, capture ever new graphs.

## When it is fine
- The number of graphs has a limit, or shapes are rounded up to a few buckets
  that are known beforehand.

## How to release it
Pad to a few fixed sizes, and evict the least recently used graph beyond a
limit; let graphs share a pool (`pool=`).

## References
- PyTorch documentation, `torch.cuda.CUDAGraph` and "CUDA Graphs" in the notes
  on CUDA semantics: "Graph memory management".
- At least 2 MiB reserved for each graph: measured by this rule's fixtures on a
  GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from ...lexical.captured_graphs import graphs_by_shape
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML703"
name = "captured-graph-per-shape"
retains: Retains | None = Retains.GROWING

_WHAT = {"graph": "a captured graph, with a memory pool", "engine": "an engine, with device memory"}


def check(evidence: Evidence) -> Iterator[Report]:
    for slip in graphs_by_shape(evidence.program):
        yield Report(
            site=slip.site,
            message=(
                f"`{slip.name}` keeps {_WHAT[slip.kind]} of its own, for every key that comes along; "
                "pad inputs to a few sizes and evict beyond a limit"
            ),
            confidence=Confidence(slip.weight),
            value="captured graphs with their memory pools" if slip.kind == "graph" else "engines with their memory",
            holder=slip.name,
            release="pad to a few sizes, and bound the table",
        )
