"""Model work goes to a thread that does not see the caller's grad mode.

## What it does
Reports a thread, timer, executor task, Qt runnable or slot of an object that
was moved to a thread, which runs a module and was started under `no_grad`,
`inference_mode` or `set_grad_enabled(False)`, when the worker function does
not turn gradients off itself.

## Why it retains
Grad mode is a property of the thread. A new thread, and every thread of a
pool, starts with gradients on, whatever the mode of the thread that made it.
The worker therefore records a graph for each forward pass; results that go
back through a queue, a future or a list bring their graphs with them, and a
caller that believes itself under `no_grad` keeps them.

## When it is fine
- The worker function is decorated with `@torch.no_grad()` or enters
  `inference_mode` itself, or takes over the caller's mode,
  `set_grad_enabled(mode)`.
- Parameters and inputs need no gradient.
- The thread does no model work: it reads files, logs or moves data.

## How to release it
Put the mode where the work is: decorate the worker function, or begin it with
`with torch.inference_mode():`.

## References
- PyTorch documentation, `torch.no_grad` and `torch.inference_mode`: "This
  context manager is thread local; it will not affect computation in other
  threads."
- Graphs that reach the caller: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Remedy, Retains
from ...interpreter.values import OFF, ON
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Site
    from ...interpreter.events import ModuleCall

code = "TML203"
name = "grad-mode-not-in-thread"
retains: Retains | None = Retains.PEAK


def check(evidence: Evidence) -> Iterator[Report]:
    for site, call in recorded(evidence):
        yield Report(
            site=site,
            message=(
                "this thread does not inherit `no_grad`: grad mode is thread-local, so its model work records a "
                "graph and keeps the activations; turn gradients off in the function that it runs"
            ),
            confidence=Confidence(max(call.weight, 2)),  # whoever turns gradients off for it runs a model
            value="activations of the thread's forward passes",
            holder="the thread's results",
            release="decorate the thread's function with `@torch.no_grad()`",
            related=((call.site, "recorded here"),),
            remedy=Remedy("no-grad", sure=False),
            remedy_site=call.site,
        )


def recorded(evidence: Evidence) -> Iterator[tuple[Site, ModuleCall]]:
    """Threads that are started with gradients off, each with the first module call that it records all the same."""
    machine = evidence.machine
    said: set[Site] = set()
    for note in machine.plain:
        outer, before, after = note.detail if note.kind == "thread" else (ON, 0, 0)
        # where another file starts the thread, what is called here with gradients off
        site = next(filter(machine.is_home, (note.site, *reversed(note.trail))), None) if outer == OFF else None
        if site is None or site in said:
            continue
        for call in machine.module_calls[before:after]:
            if call.grad == ON and call.node not in machine.derivation.demanded:
                said.add(site)
                yield site, call
                break
