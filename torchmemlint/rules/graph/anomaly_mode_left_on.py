"""A debugging recorder is switched on for the whole run and never off again.

## What it does
Reports `torch.autograd.set_detect_anomaly(True)` as a statement, a profiler
that is started and never stopped, or whose `stop()` a `return` in between
passes by, and `torch.cuda.memory._record_memory_history()` that stays enabled.

## Why it retains
- Anomaly detection stores the formatted stack of the forward call on every
  node of the graph. The text goes when the graph goes, so it raises the peak
  and is multiplied by everything else that keeps a graph. The mode is global
  and slows every step.
- A profiler without a schedule keeps an event for every operation until it is
  stopped: host memory grows with each step, without a bound.
- The memory history keeps a stack for each allocation and free; unless
  `max_entries` is set, the trace has no bound.

## When it is fine
- It is used as a context manager around the part that is looked at.
- It is switched off again: `set_detect_anomaly(False)`, `prof.stop()`,
  `_record_memory_history(enabled=None)`.
- The profiler has a `schedule`, so it drops what lies outside its window.
- A command line flag or a setting guards the call.

## How to release it
`with torch.autograd.detect_anomaly():` around the suspect step;
`with torch.profiler.profile(schedule=...) as prof:` with `prof.step()`.

## References
- PyTorch documentation, `torch.autograd.detect_anomaly`: "This mode should be
  enabled only for debugging".
- PyTorch documentation, `torch.profiler`: schedules; "Understanding CUDA
  Memory Usage" for the memory history.
- Text kept per node, bytes kept per profiled step: measured by this rule's
  fixtures. The memory history needs a CUDA build: not yet measured on CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts.model import ATTR, EXPR, Expr, Stmt
from ...facts.program import Place
from ...facts.walk import calls_of, statements
from ...finding import Confidence, Retains
from ...lexical.exits import left_before
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...interpreter.events import Plain

code = "TML109"
name = "anomaly-mode-left-on"
retains: Retains | None = Retains.GROWING
of_tests = False


_KEEPS = {
    "set_detect_anomaly": "keeps a stack trace as long as its graph",
    "profile": "adds an event to the profile",
}


def check(evidence: Evidence) -> Iterator[Report]:
    off = list(evidence.plain("recording-off"))
    if off:
        yield from _passed_by(evidence, off)
        return
    for note in evidence.plain("recording-on"):
        function, conditions = note.detail
        if conditions:
            continue
        yield Report(
            site=note.site,
            message=(
                f"`{function}` stays on for the whole run: every operation {_KEEPS.get(function, 'keeps a record')}; "
                "use it in a `with`, or turn it off"
            ),
            confidence=Confidence.MEDIUM,
            value="records of operations",
            holder="autograd graph",
            release="use `with torch.autograd.detect_anomaly():` around the part under test, or turn it off",
        )


def _passed_by(evidence: Evidence, off: list[Plain]) -> Iterator[Report]:
    """Profilers that the function which starts them stops further down, behind a `return`."""
    for note in evidence.plain("recording-on"):
        facts = note.frame.facts
        started = _call_at(note)
        if started is None:
            continue
        starts, profiler = started
        stops = [
            stop[0]
            for one in off
            if one.frame.facts is facts and (stop := _call_at(one)) is not None and stop[1] == profiler
        ]
        leave = left_before(Place(facts, "", ()), starts, stops, {profiler})
        if leave is not None:
            yield Report(
                site=note.site,
                message=(
                    f"a `return` before `stop()` leaves this profiler on: every operation {_KEEPS['profile']} for the "
                    "rest of the process; use it in a `with`, or stop it in a `finally`"
                ),
                confidence=Confidence.MEDIUM,
                value="records of operations",
                holder="the profiler",
                release="use the profiler in a `with`, or call `stop()` in a `finally`",
                related=((leave[1], "leaves without `stop()`"),),
            )


def _call_at(note: Plain) -> tuple[Stmt, Expr] | None:
    """The statement `prof.start()` or `prof.stop()` that a note is about, and `prof`."""
    for statement in statements(note.frame.facts.body):
        for call in calls_of(statement):
            if call[1] == note.site and call[2][0] == ATTR and statement[0] == EXPR:
                return statement, call[2][1]
    return None
