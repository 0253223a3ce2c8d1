"""A hook stays on a module that lives longer than the object that it belongs to.

## What it does
Reports `register_forward_hook(...)` and its relatives whose handle is thrown
away, where the hook is a method of an object and the module is not that
object's own: a probe, a saliency map or a profiler that is made for each image
and hooks into the caller's model.

## Why it retains
The module's hook table refers to the bound method, which refers to the object
and all that it has recorded. Without the handle nobody can take the hook out
again, so the object lives as long as the module. If one is made for each call,
each one stays, keeps its activations, and runs at every later forward pass.

## When it is fine
- The handle is kept and `handle.remove()` is called, by a `close`, an
  `__exit__` or a `finally`.
- The object built the module itself, so both go together.
- One object for the whole run: its hooks are wanted as long as the model.

## How to release it
Keep the handles, `self.handles.append(module.register_forward_hook(...))`, and
remove them when the object has done its work; best in `__exit__`, so that
`with` does it.

## References
- PyTorch documentation, "torch.nn.Module": `register_forward_hook` returns "a
  handle that can be used to remove the added hook by calling
  `handle.remove()`".
- That each probe stays, with what it recorded: measured by this rule's
  fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...facts.evidence import Evidence

code = "TML304"
name = "hook-never-removed"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for note in evidence.plain("hook-dropped"):
        owner, repeated = note.detail
        yield Report(
            site=note.site,
            message=(
                f"the handle of this hook is dropped: the module keeps the {owner} and all that it records as long "
                "as the module lives; keep the handle and call `handle.remove()`"
            ),
            confidence=Confidence.HIGH if repeated else Confidence.MEDIUM,
            value=f"a {owner} with what it recorded",
            holder="the module's hook table",
            release="keep the handle, and call `handle.remove()` when the object has done its work",
        )
