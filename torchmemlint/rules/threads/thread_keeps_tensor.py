"""A thread object keeps its result, and is itself kept after it has finished.

## What it does
Reports an object whose `run` puts a tensor or array on `self`, and which goes
into a container that nothing takes it out of: a list of jobs on a controller, a
table of workers. Subclasses of `threading.Thread`, `QThread` and `QRunnable`
are followed, and objects whose bound method is the target of a thread.

## Why it retains
A finished thread is an ordinary object. Its attributes live as long as it does;
a list of jobs that is only appended to keeps every job and the result of each,
long after somebody has used it. The thread's local variables are gone when
`run` returns; what is on `self` is not.

## When it is fine
- The finished job is taken out of the container (`finished` signal, done
  callback, `join` and clear).
- The result is handed over and the attribute is reset to `None`.
- The list is local to the function that starts and joins the threads.

## How to release it
Emit or return the result and keep it in a local variable of `run`; take the job
out of the container when it has finished.

## References
- Python documentation, `threading.Thread`; Qt documentation, `QThread`:
  "finished" and "deleteLater".
- Live storages after N and 2N jobs, with all threads finished: measured by this
  rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evidence.kept import kept_by_threads
from ...finding import Confidence, Retains
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence

code = "TML501"
name = "thread-keeps-tensor"
retains: Retains | None = Retains.GROWING


def check(evidence: Evidence) -> Iterator[Report]:
    for kept in kept_by_threads(evidence.machine, evidence.program):
        yield Report(
            site=kept.site,
            message=(
                f"`{kept.holder.text}` keeps every finished {kept.cls}, and each keeps its result in "
                f"`self.{kept.attribute}`; take the job out when it has finished, or hand the result over and reset it"
            ),
            confidence=Confidence(max(kept.weight, 2)),
            value=f"the {kept.what} in `self.{kept.attribute}` of each {kept.cls}",
            holder=kept.holder.text,
            release="remove the job from the container when it has finished, or reset its attribute to `None`",
            related=((kept.stored, "the result is stored here"),),
        )
