"""A loaded checkpoint stays bound after its states went into the model.

## What it does
Reports `checkpoint = torch.load(path)`, or what a helper has loaded and gives
back, where the last use of the name is `load_state_dict(...)`, or a helper that
does so, and a training loop follows in the same function; and
`self.checkpoint = torch.load(path)` where the class uses it for
`load_state_dict`, reads no more than small parts of it later, and nothing ever
lets it go. And the private copy of a model or layer, `self._copy =
deepcopy(model)`, that a callback makes when a run starts and that none of its
hooks drops. And the copies that a training adds to a list, `snapshots.append(
deepcopy(model.state_dict()))`, or files under the number of each epoch, of
which one is picked in the end. And the weights that one method of an object
copies, `store`, for another to put back, `restore`, after which the object
still has the copy. And the copy that an object makes in order to write it to a
file, `self._states = deepcopy(model.state_dict())`, and still has when it is
written.

## Why it retains
`load_state_dict` copies. The loaded dictionary keeps a second set of all
weights, in host memory or on the device, for as long as the name is bound. In
the function that trains, that is the whole training. The optimizer's moments
beside it are a second set only where they are moved or converted: those of the
same device and type are taken over as they are. A callback's copy lies on the
model's device, and stays there when the run is over: for as long as the
callback lives.

## When it is fine
- A helper loads and returns: its local goes with it.
- `del checkpoint` after the last use.
- The states are used again later.
- The callback drops its copy in `teardown`, or another hook at the end, keeps
  it on the host, or offers it as a public attribute.
- The file holds tests, `test_*.py` with pytest or unittest.

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

from ...evidence.given_back import given_back
from ...facts import model as m
from ...finding import Confidence, Remedy, Retains
from ...lexical.checkpoints import (
    Copy,
    Load,
    consumed,
    copies_of_callbacks,
    is_model,
    loaded_parts,
    loads,
    parts_under_names,
    wanted_after,
)
from ...lexical.copied_for_a_save import SavedCopy, copied_for_a_save
from ...lexical.filling import filled_from
from ...lexical.piled_copies import piled_copies
from ...lexical.set_aside import SetAside, set_aside
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Expr, FunctionFacts, Site
    from ...interpreter.frames import Frame

code = "TML313"
name = "checkpoint-state-kept"
retains: Retains | None = Retains.HELD
of_tests = False


def check(evidence: Evidence) -> Iterator[Report]:
    yield from _loaded(evidence)
    for copy in copies_of_callbacks(evidence.program):
        if evidence.releases.of(copy.name) <= {"__init__", copy.function} and not evidence.releases.wholesale(copy.cls):
            yield _report_copy(copy)
    for aside in set_aside(evidence.program):
        released = evidence.releases.of(aside.attribute, aside.cls) - {"__init__", "load_state_dict", "to"}
        if released <= {aside.taken} and not evidence.releases.wholesale(aside.cls):
            yield _report_aside(aside)
    for saved in copied_for_a_save(evidence.program):
        released = evidence.releases.of(saved.attribute, saved.cls) - {"__init__", "load_state_dict", "to"}
        if released <= {saved.taken} and not evidence.releases.wholesale(saved.cls):
            yield _report_saved(saved)
    for piled in piled_copies(evidence.program):
        yield Report(
            site=piled.site,
            message=(
                f"`{piled.name}` gets a copy of all weights each time, and one of them is used in the end: the others "
                "stay until then; keep the best one only, and let go of it where a better one is made"
            ),
            confidence=Confidence.MEDIUM,
            value="a copy of all weights each time",
            holder=piled.name,
            release="compare the score where the copy is made, and keep one",
            retains=Retains.GROWING,
        )


def _loaded(evidence: Evidence) -> Iterator[Report]:
    functions = evidence.facts.functions
    if not any("load_state_dict" in function.calls for function in functions):
        return
    found = [(function, load) for function in functions for load in loads(function)]
    for function, load in (*found, *given_back(evidence.machine)):
        if load.target is not None and not function.name.startswith("test_"):
            if load.target[0] == m.NAME:
                kept = _kept_while_training(evidence, function, load)
                if kept:
                    yield _report(
                        kept, "the script ends" if function.name == "<module>" else f"`{function.name}` returns"
                    )
            elif load.target[0] == m.ATTR and load.target[1] == (m.NAME, "self") and _stays(evidence, load):
                yield _report([(load.site, f"self.{load.target[2]}")], "its object goes")


def _report(kept: list[tuple[Site, str]], until: str) -> Report:
    """Of the names that stand for what was loaded, with where they were bound."""
    site, holder = kept[0]
    place = " and ".join(f"`{name}`" for _, name in kept)
    several = len(kept) > 1
    drop = f"drop {'them' if several else 'it'} after `load_state_dict`"
    return Report(
        site=site,
        message=(
            f"{place} keep{'' if several else 's'} the loaded states after they were copied into the model: a second "
            f"set of all weights stays until {until}; {drop}"
        ),
        confidence=Confidence.MEDIUM,
        value="the loaded states",
        holder=holder,
        release=f"{drop} (`del`), or load in a function of its own",
        related=tuple((other, "bound here as well") for other, _ in kept[1:]),
        remedy=None if several or "." in holder else Remedy("delete-after-use", holder),
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


def _report_aside(aside: SetAside) -> Report:
    return Report(
        site=aside.site,
        message=(
            f"`self.{aside.attribute}` (class {aside.cls}) keeps a second set of all weights after `{aside.back}` has "
            f"put them back: it stays until the next `{aside.taken}`, or with the object; let go of it in "
            f"`{aside.back}`"
        ),
        confidence=Confidence.MEDIUM,
        value="a second set of all weights",
        holder=f"self.{aside.attribute}",
        release=f"set it to `None` in `{aside.back}`",
    )


def _report_saved(saved: SavedCopy) -> Report:
    return Report(
        site=saved.site,
        message=(
            f"`self.{saved.attribute}` (class {saved.cls}) keeps a copy of the states after `{saved.saved}` has "
            f"written it: a second set stays until the next `{saved.taken}`, or with the object; let go of it in "
            f"`{saved.saved}`, or keep it in a local"
        ),
        confidence=Confidence.MEDIUM,
        value="a copy of the states",
        holder=f"self.{saved.attribute}",
        release=f"set it to `None` in `{saved.saved}` when it is written, or keep it in a local",
    )


def _kept_while_training(evidence: Evidence, function: FunctionFacts, load: Load) -> list[tuple[Site, str]]:
    """The names of the states, or of parts of them, that a function is done with and still has when it trains."""
    assert load.target is not None

    def used_at(name: Expr) -> Site:
        return max(consumed(function, name), filled_from(evidence.reaching, function, name))

    names = [(load.site, load.target), *parts_under_names(function, load.target, used_at)]
    used = max(used_at(name) for _, name in names)
    if used < 0 or not _trains_after(evidence, function, used):
        return []
    kept = [one for one in names if not wanted_after(function, one[1], loaded_parts([function], one[1]), used)]
    return [(site, name[1]) for site, name in kept]


def _trains_after(evidence: Evidence, function: FunctionFacts, used: Site) -> bool:
    """Whether the function trains, or runs a model, in a loop, after a statement."""
    for backward in evidence.backwards:
        frame: Frame | None = backward.frame
        sites = (backward.site, *backward.trail)
        while frame is not None:
            if frame.facts.place == function.place:  # the same function, in whatever words
                return any(site > used and evidence.machine.is_home(site) for site in sites)
            frame = frame.caller
    return False


def _stays(evidence: Evidence, load: Load) -> bool:
    assert load.target is not None
    name = load.target[2]
    if len(evidence.releases.of(name) - {"__init__"}) > 1 or is_model(evidence.facts.functions, load.target):
        return False
    users = [function for function in evidence.facts.functions if consumed(function, load.target) >= 0]
    if not users:
        return False
    owners = {place.cls for place in evidence.program.places if place.facts in users}
    if any(evidence.releases.wholesale(owner) for owner in owners):
        return False
    parts = loaded_parts(users, load.target)
    return not any(
        wanted_after(function, load.target, parts, _done(function, load))
        for function in evidence.facts.functions
        if function.name != "__init__"
    )


def _done(function: FunctionFacts, load: Load) -> Site:
    """Where a method is done with the states: after it has copied them into the model, or, if it loads them for another
    method that copies them, after that."""
    assert load.target is not None
    site = consumed(function, load.target)
    return max([site, *(one.site for one in loads(function) if one.site == load.site)])
