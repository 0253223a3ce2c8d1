"""A default argument collects tensors: it is made once and kept by the function.

## What it does
Reports functions that add a tensor or a model to a list, dict, set or object
which is the default of one of their parameters.

## Why it retains
A default is evaluated once, when the `def` runs, and stored on the function.
Every call that does not pass the argument adds to the same container, which
lives as long as the function: mostly for the rest of the process.

## When it is fine
- The default is only read.
- Something empties it, or its length is tested before it is filled.

## How to release it
Take `None` as the default and make the container in the call:
`memory = [] if memory is None else memory`.

## References
- Python tutorial, "Default Argument Values": the default value is evaluated
  only once.
- Bytes per call: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Remedy, Retains
from .. import Report
from ..kept import of_code
from ..wording import report, what

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML306"
name = "default-argument-holds-tensor"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        holder = retention.holder
        message = (
            f"the default of `{holder.text}` gains {what(retention)} at each call of `{holder.owner}` that leaves it "
            "out: the function keeps them for the rest of the process; make it in the call"
        )
        release = f"use `None` as the default of `{holder.text}` and make the container in the call"
        yield report(retention, confidence, message, release, Remedy("none-default", holder.text, sure=False))
