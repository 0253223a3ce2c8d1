"""A loaded checkpoint stays bound after its states went into the model.

## What it does
Reports `checkpoint = torch.load(path)` where the last use of the name is
`load_state_dict(...)` and a training loop follows in the same function; and
`self.checkpoint = torch.load(path)` where the class uses it for
`load_state_dict`, reads no more than small parts of it later, and nothing ever
lets it go. And the private copy of a model or layer, `self._copy =
deepcopy(model)`, that a callback makes when a run starts and that none of its
hooks drops.

## Why it retains
`load_state_dict` copies. The loaded dictionary keeps a second set of all
weights, mostly with the optimizer's two moments beside it: three times the
model, in host memory or on the device, for as long as the name is bound. In the
function that trains, that is the whole training. A callback's copy lies on the
model's device, and stays there when the run is over: for as long as the
callback lives.

## When it is fine
- A helper loads and returns: its local goes with it.
- `del checkpoint` after the last use.
- The states are used again later.
- The callback drops its copy in `teardown`, or another hook at the end, keeps
  it on the host, or offers it as a public attribute.

## How to release it
`del checkpoint` after `load_state_dict`, or load in a function of its own; set
the attribute to `None`.

## References
- PyTorch documentation, `torch.nn.Module.load_state_dict`: it copies
  parameters and buffers (unless `assign=True`).
- Bytes that stay through the training: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import model as m
from ...facts.checkpoints import Copy, Load, consumed, copies_of_callbacks, loaded_parts, loads, wanted_after
from ...finding import Confidence, Remedy, Retains
from .. import Report

if TYPE_CHECKING:
    from ...facts.evidence import Evidence
    from ...facts.machine import Frame
    from ...facts.model import FunctionFacts

code = "TML313"
name = "checkpoint-state-kept"
retains: Retains | None = Retains.HELD


def check(evidence: Evidence) -> Iterator[Report]:
    yield from _loaded(evidence)
    for copy in copies_of_callbacks(evidence.program):
        if evidence.releases.of(copy.name) <= {"__init__", copy.function} and not evidence.releases.wholesale(copy.cls):
            yield _report_copy(copy)


def _loaded(evidence: Evidence) -> Iterator[Report]:
    functions = evidence.facts.functions
    if not any("load_state_dict" in function.calls for function in functions):
        return
    for function in functions:
        if function.name.startswith("test_"):
            continue
        for load in loads(function):
            if load.target is None:
                continue
            if load.target[0] == m.NAME and _trains_after(evidence, function, load):
                yield _report(load, f"`{load.target[1]}`", load.target[1], f"`{function.name}` returns")
            elif load.target[0] == m.ATTR and load.target[1] == (m.NAME, "self") and _stays(evidence, load):
                yield _report(load, f"`self.{load.target[2]}`", f"self.{load.target[2]}", "its object goes")


def _report(load: Load, place: str, holder: str, until: str) -> Report:
    return Report(
        site=load.site,
        message=(
            f"{place} keeps the loaded states after they were copied into the model: a second set of all weights "
            f"stays until {until}; drop it after `load_state_dict`"
        ),
        confidence=Confidence.MEDIUM,
        value="the loaded states",
        holder=holder,
        release="drop it after `load_state_dict` (`del`), or load in a function of its own",
        remedy=Remedy("delete-after-use", holder) if "." not in holder else None,
    )


def _report_copy(copy: Copy) -> Report:
    return Report(
        site=copy.site,
        message=(
            f"`self.{copy.name}` (class {copy.cls}) keeps a copy of the model's weights, on their device, when the run "
            "is over: no hook drops it; drop it in `teardown`"
        ),
        confidence=Confidence.MEDIUM,
        value="a copy of the model",
        holder=f"self.{copy.name}",
        release="set it to `None` in the hook that ends the run (`teardown`), or keep the copy on the host",
    )


def _trains_after(evidence: Evidence, function: FunctionFacts, load: Load) -> bool:
    """Whether the function takes what it needs from the states and then trains, or runs a model, in a loop."""
    assert load.target is not None
    used = consumed(function, load.target)
    if used < 0 or wanted_after(function, load.target, loaded_parts([function], load.target), used):
        return False
    for backward in evidence.backwards:
        frame: Frame | None = backward.frame
        sites = (backward.site, *backward.trail)
        while frame is not None:
            if frame.facts is function:
                return any(site > used and evidence.machine.is_home(site) for site in sites)
            frame = frame.caller
    return False


def _stays(evidence: Evidence, load: Load) -> bool:
    assert load.target is not None
    name = load.target[2]
    if len(evidence.releases.of(name) - {"__init__"}) > 1:
        return False
    users = [function for function in evidence.facts.functions if consumed(function, load.target) >= 0]
    if not users:
        return False
    owners = {place.cls for place in evidence.program.places if place.facts in users}
    if any(evidence.releases.wholesale(owner) for owner in owners):
        return False
    parts = loaded_parts(users, load.target)
    return not any(
        wanted_after(function, load.target, parts, consumed(function, load.target))
        for function in evidence.facts.functions
        if function.name != "__init__"
    )
