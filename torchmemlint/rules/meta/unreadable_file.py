"""A file cannot be read or parsed, so nothing can be said about it.

## What it does
Reports a file with a syntax error, an encoding that does not fit its content
or its coding line, a notebook that is not valid JSON, a file above
`max-file-size`, or nesting so deep that Python itself would refuse it. The
finding stands at the place of the error where that is known, and the run goes
on with the other files.

## Why it retains
It says nothing about memory. It is a finding and not a warning on the side, so
that a run which looked at nothing does not end as a run that found nothing.

## When it is fine
Test data that is broken on purpose, or a template that only looks like Python.

## How to release it
Correct the file, or leave it out with `extend-exclude`.

## References
- Python reference, "Lexical analysis": encoding declarations (PEP 263).
- The notebook format of Jupyter, nbformat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...finding import Retains

code = "TML900"
name = "unreadable-file"
retains: Retains | None = None


def check(evidence: Evidence) -> Iterator[Report]:
    yield from ()
