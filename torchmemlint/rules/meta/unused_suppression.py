"""A suppression comment names a rule that had nothing to suppress.

## What it does
Reports a TML code in a `noqa` comment, or a `torchmemlint: ignore[...]`, when
the named rule was enabled in this run and has no finding on that line.

## Why it retains
It says nothing about memory. A comment that outlives its reason hides the next
finding on that line.

## When it is fine
- A bare `noqa` and codes of other tools are never reported: other tools may
  need them.
- A code whose rule is not enabled in this run is not reported.
- The flake8 plugin does not report it, since flake8 handles `noqa` itself.

## How to release it
Remove the code from the comment, or the comment.

## References
- The documentation of torchmemlint, suppression comments.
- ruff's `unused-noqa` (RUF100), the same idea for its own codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...finding import Retains

code = "TML901"
name = "unused-suppression"
retains: Retains | None = None


def check(evidence: Evidence) -> Iterator[Report]:
    yield from ()
