"""A model is deleted but its optimizer keeps every parameter.

## What it does
Reports `del trainer.model` or `self.model = None` where another attribute of
the same object is an optimizer that was made from that model's parameters, and
the function that lets the model go leaves the optimizer where it is. So is a
method that makes the model anew, as the constructor does, but not its
optimizer. So are parameters that an optimizer's groups are given in the place
of others, `group["params"] = [new]`, where the state goes to the new one,
`optimizer.state[new] = moved`, and nothing takes the old one's out. And so is
`add_param_group` with the parameters of a module that has just taken the place
of another one, time after time, in an optimizer that goes on.

## Why it retains
An optimizer's `param_groups` refer to the parameters themselves, and its state
holds up to two more tensors of their size for each (Adam's moments). So
deleting the module frees nothing: parameters, gradients and moments stay until
the optimizer goes too, often until after the next model has been built.
`optimizer.state` is a dictionary with the parameters themselves as keys: what
is no longer in a group is still in there, once more after each round of pruning
or growing.

## When it is fine
- The optimizer (and the scheduler, which refers to it) is dropped in the same
  place.
- Both are locals of a function that is about to return.
- The old key goes: `del optimizer.state[old]`, or `pop`, where the new one is
  written or in a function that is called there.
- The parameters that take turns are always the same few.
- The module that was there before is kept as well, in a list of stages.

## How to release it
Let go of both, `trainer.model = trainer.optimizer = None`, and of the
scheduler, before the cache is emptied. Move a state with
`optimizer.state[new] = optimizer.state.pop(old)`.

## References
- PyTorch documentation, `torch.optim.Optimizer`: `param_groups` holds the
  parameters.
- Bytes that stay: measured by this rule's fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...facts import model as m
from ...facts.program import text
from ...facts.walk import calls_of, last_name, nodes, statements
from ...finding import Confidence, Remedy, Retains
from ...lexical.added_groups import added_groups
from ...lexical.rebuilt_models import rebuilt_models
from ...lexical.replaced_params import replaced_parameters
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...facts.model import Expr, FunctionFacts, Site

code = "TML317"
name = "optimizer-outlives-model"
retains: Retains | None = Retains.HELD

_FREES = frozenset(("empty_cache", "collect", "ipc_collect"))


def check(evidence: Evidence) -> Iterator[Report]:
    yield from _replaced(evidence)
    yield from _added(evidence)
    yield from _rebuilt(evidence)
    functions = evidence.facts.functions
    if not any({"parameters", "named_parameters"}.intersection(function.calls) for function in functions):
        return
    built = [pair for function in functions for pair in _built(function)]
    if not built:
        return
    for function in functions:
        dropped = list(_dropped(function))
        for site, place, deleted in dropped:
            if function.name.startswith("__init__") or not (deleted or _FREES.intersection(function.calls)):
                continue
            for model, optimizer in built:
                if model != place[-1] or any(other[-1] == optimizer for _, other, _ in dropped):
                    continue
                yield Report(
                    site=site,
                    message=(
                        f"`{model}` goes but `{optimizer}`, which was made from its parameters, stays: it keeps every "
                        f"parameter, gradient and moment; drop `{optimizer}` as well"
                    ),
                    confidence=Confidence.HIGH if _FREES.intersection(function.calls) else Confidence.MEDIUM,
                    value="the parameters and the optimizer's moments",
                    holder=optimizer,
                    release=f"drop `{optimizer}` (and its scheduler) where `{model}` is dropped",
                    remedy=Remedy("drop-also", f"{text(place[1])}.{optimizer}", sure=False),
                )
                break


def _replaced(evidence: Evidence) -> Iterator[Report]:
    for old in replaced_parameters(evidence.program):
        yield Report(
            site=old.site,
            message=(
                f"`{old.optimizer}` gets another parameter in the place of this one, whose state stays: the old one is "
                f"still a key of `{old.optimizer}.state` and keeps its gradient and moments; take it out, "
                f"`{old.optimizer}.state.pop(...)`"
            ),
            retains=Retains.GROWING,
            confidence=Confidence.MEDIUM,
            value="the replaced parameter, its gradient and its moments",
            holder=f"{old.optimizer}.state",
            release=f"take the old key out where the new one is written: `{old.optimizer}.state.pop(old)`",
            related=((old.moved, "the new parameter gets its state"),) if old.moved != old.site else (),
        )


def _added(evidence: Evidence) -> Iterator[Report]:
    for added in added_groups(evidence.program):
        yield Report(
            site=added.site,
            message=(
                f"`{added.optimizer}` gets the parameters of each new `{added.module}` beside those of the one before, "
                "which stay in its `param_groups` with their gradients and moments; make a new optimizer, or take the "
                "old group out"
            ),
            retains=Retains.GROWING,
            confidence=Confidence.MEDIUM,
            value=f"the parameters of each former `{added.module}`, their gradients and moments",
            holder=f"{added.optimizer}.param_groups",
            release="make a new optimizer where the module is replaced, or take the old group and its state out",
            related=((added.replaced, "replaced here"),),
        )


def _rebuilt(evidence: Evidence) -> Iterator[Report]:
    for new in rebuilt_models(evidence.program):
        yield Report(
            site=new.site,
            message=(
                f"another model takes the place of `{new.model}`, and `{new.optimizer}`, which was made from its "
                "parameters, stays: it keeps every parameter, gradient and moment of the one before; "
                f"make `{new.optimizer}` anew as well"
            ),
            confidence=Confidence.MEDIUM,
            value="the parameters of the model before, and the optimizer's moments",
            holder=new.optimizer,
            release=f"make a new `{new.optimizer}` where `{new.model}` is made anew",
        )


def _built(function: FunctionFacts) -> Iterator[tuple[str, str]]:
    """Pairs of attributes: a model, and the optimizer that is made from its parameters."""
    if not {"parameters", "named_parameters"}.intersection(function.calls):
        return
    for statement in statements(function.body):
        if statement[0] != m.ASSIGN:
            continue
        for target in statement[2]:
            if target[0] != m.ATTR or "optim" not in target[2].lower():
                continue
            for call in calls_of(statement):
                if call[2][0] == m.ATTR and call[2][2] in ("parameters", "named_parameters"):
                    owner = call[2][1]
                    if owner[0] == m.ATTR and any(node == owner[1] for node in nodes(target[1])):
                        yield owner[2], target[2]


def _dropped(function: FunctionFacts) -> Iterator[tuple[Site, Expr, bool]]:
    """Attributes that a function deletes or sets to None."""
    for statement in statements(function.body):
        if statement[0] == m.DELETE:
            for target in statement[2]:
                if target[0] == m.ATTR:
                    yield statement[1], target, True
        elif statement[0] == m.ASSIGN and statement[3] == (m.CONST, None):
            for target in statement[2]:
                if target[0] == m.ATTR and last_name(target):
                    yield statement[1], target, False
