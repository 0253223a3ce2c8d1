"""A container in a class body, shared by all instances, gains tensors.

## What it does
Reports `self.tracks[key] = tensor`, `cls.seen.append(tensor)` and the like
where the container was made in the class body (or as the default of an attrs or
dataclass field), no `__init__` gives each object its own, and nothing empties
it.

## Why it retains
The class body runs once. Its list or dict belongs to the class, so every object
writes into the same one, and what is written stays when the object goes: for
the rest of the process. Objects also see one another's values.

## When it is fine
- `__init__` assigns a container of its own to the same name.
- The container is a constant that is only read, or holds small numbers.
- Something clears it, or evicts when it is full.

## How to release it
Make the container in `__init__`: `self.tracks = {}`; in a dataclass
`field(default_factory=dict)`.

## References
- Python tutorial, "Class and Instance Variables": a mutable class variable is
  shared by all instances.
- Bytes per object: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Retains
from .. import Report
from ..kept import of_code, report, what

if TYPE_CHECKING:
    from ...facts.evidence import Evidence

code = "TML302"
name = "class-attribute-holds-tensor"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for retention, confidence in of_code(evidence, code):
        message = (
            f"`{retention.holder.text}` belongs to the class: {what(retention)} that an instance puts there stays for "
            "the rest of the process, also when the instance is gone; make the container in `__init__`"
        )
        release = "make the container in `__init__`, so that it goes with its object"
        yield report(retention, confidence, message, release)
