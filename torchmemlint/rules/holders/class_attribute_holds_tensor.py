"""A container in a class body, shared by all instances, gains tensors.

## What it does
Reports `self.tracks[key] = tensor`, `cls.seen.append(tensor)` and the like
where the container was made in the class body (or as the default of an attrs or
dataclass field), no `__init__` gives each object its own, and nothing empties
it. Of the default of an attrs field also everything else that methods put in:
nobody shares such a container on purpose. So are tables of the class that get
what a file held for each path that a method is asked for, and what `__enter__`
puts into one before a check in it raises. So is a model that a `classmethod`
which makes an object and returns it binds to the class instead:
`result = self(); self.model = load(path); return result`.

## Why it retains
The class body runs once. Its list or dict belongs to the class, so every object
writes into the same one, and what is written stays when the object goes: for
the rest of the process. Objects also see one another's values. In a class
method `self` is the class, too: its model stays when the object was dropped.

## When it is fine
- `__init__` assigns a container of its own to the same name.
- The container is a constant that is only read, or holds small numbers.
- Something clears it, or evicts when it is full.

## How to release it
Make the container in `__init__`: `self.tracks = {}`; in a dataclass
`field(default_factory=dict)`, with attrs `field(factory=dict)`. In a class
method bind the attribute of the new object: `result.model = load(path)`.

## References
- Python tutorial, "Class and Instance Variables": a mutable class variable is
  shared by all instances.
- Bytes per object: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.shared_defaults import shared_defaults
from ...finding import Confidence, Remedy, Retains
from ...lexical.alternate_constructors import left_on_the_class
from .. import Report
from ..kept import of_code
from ..wording import left_by_refusals, loaded, report, what

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML302"
name = "class-attribute-holds-tensor"
retains: Retains | None = Retains.GROWING
general = True  # a rule that says why it grows comes first


def check(evidence: Evidence) -> Iterator[Report]:
    defaults = list(shared_defaults(evidence.program))
    said = {site for shared in defaults for site in shared.stores}  # where the default is, it is mended
    for retention, confidence in of_code(evidence, code):
        if retention.store in said:
            continue
        message = (
            f"`{retention.holder.text}` belongs to the class: {what(retention)} that an instance puts there stays for "
            "the rest of the process, also when the instance is gone; make the container in `__init__`"
        )
        release = "make the container in `__init__`, so that it goes with its object"
        yield report(
            retention, confidence, message, release, Remedy("own-container", retention.holder.text, sure=False)
        )
    for shared in defaults:
        yield Report(
            site=shared.site,
            message=(
                f"the default of `{shared.name}` is one container for all {shared.cls} objects: what each of them puts "
                "there stays for the rest of the process; give each its own with `factory=`"
            ),
            confidence=Confidence.MEDIUM,
            value="what instances put there",
            holder=f"{shared.cls}.{shared.name}",
            release="`field(factory=dict)`: a container for each object",
            related=tuple((site, "put there") for site in shared.stores[:3]),
        )
    yield from loaded(evidence, of_class=True)
    yield from left_by_refusals(evidence, "class")
    for left in left_on_the_class(evidence.program):
        yield Report(
            site=left.site,
            message=(
                f"a class method's first parameter is the class: `{left.attribute}` goes to {left.cls} and not to the "
                "object that is returned, and stays when that is dropped; bind it to the new object"
            ),
            confidence=Confidence.MEDIUM,
            value=f"`{left.attribute}`",
            holder=f"the class {left.cls}",
            release="bind the attribute of the object that the method makes",
            retains=Retains.HELD,
        )
