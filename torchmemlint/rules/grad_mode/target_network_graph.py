"""A network that only supplies constants is run with gradients recorded.

## What it does
Reports the call of a frozen role (target network, teacher, reference model,
moving-average copy, the critic in the other player's step) that runs with
gradients on while its result is used as a constant, in a loss that is
differentiated here or handed out, as `compute_loss` does for a trainer. Of a
class that keeps a moving average: also the call that hands the averaged copy's
output out, if nothing ever freezes the copy. And the call of a network of
values for a learning target, `td_target`, `next_q`, through which the loss is
differentiated; and of a network, whatever its name, that gets its weights
again and again from the one that is trained by the same loss, or that is in
eval mode and no part of what the optimizer has, while one beside it is.

## Why it retains
The loss takes the target as a value to compare with. If the target carries a
graph, its activations are saved and held until `backward()`, the backward pass
runs through the target as well, and its parameters receive `.grad` tensors
of their own size that no optimizer ever uses or resets. The step costs the
memory of two trainings, and the gradients are wrong where the target depends
on the trained network. An averaged copy is made with `deepcopy`, which copies
`requires_grad` too: whoever calls it gets a graph and its activations with
every output.

## When it is fine
- The call stands under `no_grad` or `inference_mode`.
- The result is detached before it enters the loss. The graph then goes
  at once.
- The parameters of the frozen network do not require gradients and neither do
  its inputs.
- Both networks are trained by this loss.
- An actor is trained through a critic, which meets no prediction of values.
- The file holds tests, `test_*.py` with pytest or unittest.

## How to release it
Compute the target in a `with torch.no_grad():` block. Additionally freeze the
copy once: `target.requires_grad_(False)`.

## References
- PyTorch tutorials, "Reinforcement Learning (DQN) Tutorial": the target
  values are computed under `no_grad`.
- PyTorch documentation, "Autograd mechanics", "Setting requires_grad" and
  "Locally disabling gradient computation".
- Peak bytes and gradients left behind: measured by this rule's fixtures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...evidence.recordings import written
from ...evidence.untrained import is_left_out, is_lettered_teacher, is_of_a_domain
from ...facts import model as m
from ...facts.knowledge import FROZEN_ROLES
from ...facts.program import targets
from ...facts.walk import statements
from ...finding import Confidence, Remedy, Retains
from ...interpreter.followed import follows_trained, is_trained
from ...interpreter.values import Class, Obj
from .. import Report

if TYPE_CHECKING:
    from ...evidence.evidence import Evidence
    from ...evidence.recordings import Recording
    from ...interpreter.events import ModuleCall

_VALUES = frozenset("q qs q1 q2 qf qnet dqn qfunc v vf value values critic critics qvalue qvalues".split())
_MAKES = frozenset("compute calc calculate get td q value bellman estimate".split())
_OF_KEYS = ("key_encoder", "encoder_k")  # what contrastive learning calls a copy that follows, and a search is not
_FOLLOWS = frozenset("copy_ lerp_ mul_ add_ deepcopy parameters named_parameters".split())
_AVERAGE = re.compile(r"(^|[._])ema([._\d]|$)|Ema|EMA")

code = "TML204"
name = "target-network-graph"
retains: Retains | None = Retains.PEAK
of_tests = False


def check(evidence: Evidence) -> Iterator[Report]:
    seen: set[int] = set()
    remedy: Remedy | None
    for recording in evidence.recordings:
        if recording.site in seen:
            continue
        if any(gives(evidence, recording) for gives in (_is_target, _gives_learning_target, _follows, _is_left_out)):
            named = written(recording.call) if is_lettered_teacher(recording.call) else recording.module
            message = (
                f"`{named}` only gives a target, but its graph goes into the loss: its activations stay "
                "until the backward; call it under `torch.no_grad()`"
            )
            holder = "the loss's graph"
            remedy = Remedy("constant", sure=False)
        elif _is_averaged_copy(recording):
            message = (
                f"`{recording.module}` is a copy that no optimizer trains, but its parameters require gradients: each "
                "output carries a graph and its activations; freeze the copy once with `.requires_grad_(False)`"
            )
            holder = "the output's graph"
            remedy = None  # where the copy is made, or where it is run: the text does not say
        else:
            continue
        seen.add(recording.site)
        yield Report(
            site=recording.site,
            message=message,
            confidence=Confidence(2 if _used_as_module(recording) else min(recording.weight, 2)),
            value="activations of a network that is not trained here",
            holder=holder,
            release="compute it under `torch.no_grad()`, or freeze the network's parameters",
            remedy=remedy,
        )


def _is_target(evidence: Evidence, recording: Recording) -> bool:
    named = [name for name in _names(recording) if _frozen_role(name)]
    lettered = not named and is_lettered_teacher(recording.call)
    if recording.call.attached_inputs or not (named or lettered):
        return False
    if named and all(_encodes_keys(name) for name in named) and not _FOLLOWS & evidence.program.called:
        return False  # of passages that are searched, beside the queries: it is trained as they are
    if is_of_a_domain(recording.call):
        return False
    if recording.call.module is recording.call.frame.receiver:
        return False  # a model that computes its own loss, whatever its class is called
    if is_trained(evidence.machine, recording.call.module):
        return False  # it has an optimizer of its own, which takes steps
    if recording.demanded:
        of_values = not _VALUES.isdisjoint(_words(recording.module))
        return (lettered or evidence.meets_others(recording)) and not (
            of_values and not _meets_a_prediction(evidence, recording)
        )
    return recording.escaped and recording.weight > 1 and evidence.meets_others_in_loss(recording)


def _is_left_out(evidence: Evidence, recording: Recording) -> bool:
    return not recording.call.attached_inputs and is_left_out(evidence.machine, evidence.recordings, recording)


def _follows(evidence: Evidence, recording: Recording) -> bool:
    """Whatever it is called: a network that gets its weights from the one that is trained, beside which it is run."""
    call = recording.call
    return (
        recording.demanded
        and not call.attached_inputs
        and follows_trained(evidence.machine, call.module)
        and evidence.meets_others(recording)
    )


def _gives_learning_target(evidence: Evidence, recording: Recording) -> bool:
    """What a network of values says of the next step, for the target that it, or another one, learns to meet:
    by the function's name, `compute_target`, or that of what it is assigned to, `next_q`."""
    call = recording.call
    if call.attached_inputs or not recording.demanded or recording.weight < 2:
        return False
    if _VALUES.isdisjoint(_words(recording.module)):
        return False
    named = _says_target(call.frame.name) or any(map(_says_target, _assigned_at(call)))
    return named and _meets_a_prediction(evidence, recording)


def _meets_a_prediction(evidence: Evidence, recording: Recording) -> bool:
    """Whether a network of values is to learn it: where there is none in the loss, an actor is trained through it."""
    others = {
        other.call.node
        for other in evidence.recordings
        if other.site != recording.site and not _VALUES.isdisjoint(_words(other.module))
    }
    derivation = evidence.machine.derivation
    losses = (derivation.ancestors(start) for backward in evidence.machine.backwards for start in backward.nodes)
    return any(recording.call.node in made and not others.isdisjoint(made) for made in losses)


def _assigned_at(call: ModuleCall) -> Iterator[str]:
    for statement in statements(call.frame.facts.body):
        if statement[0] == m.ASSIGN and m.statement_of(statement[1]) == m.statement_of(call.site):
            yield from (target[1] for target in targets(statement) if target[0] == m.NAME)


def _says_target(name: str) -> bool:
    """`td_target`, `get_target_q`, `compute_target`, `next_values`; not `target_loss`."""
    words = _words(name)
    if not words or "loss" in words:
        return False
    if words[-1] in ("target", "targets"):
        return words[0] in _MAKES
    return words[-1] in _VALUES and not {"target", "next"}.isdisjoint(words)


def _words(name: str) -> list[str]:
    return name.lower().replace(".", "_").strip("_").split("_")


def _names(recording: Recording) -> Iterator[str]:
    """What the network is called, and what it is a part of: `self.ref_model.decoder`."""
    yield recording.module
    current: Any = recording.call.module
    for _ in range(4):
        if not isinstance(current, Obj) or current.home is None:
            return
        current, name = current.home
        yield name


def _is_averaged_copy(recording: Recording) -> bool:
    """The output of a copy made for averaging, as the `forward` or `__call__` of what averages gives it out."""
    frame, module = recording.call.frame, recording.call.module
    owner = frame.receiver
    if recording.demanded or frame.name not in ("forward", "__call__"):
        return False
    if "$copy" not in module.fields or module.home is None or module.home[0] is not owner:
        return False
    averages = isinstance(owner, Obj) and isinstance(owner.cls, Class) and _frozen_role(owner.cls.facts.name)
    return averages or _frozen_role(recording.module)


def _used_as_module(recording: Recording) -> bool:
    """Whether the class that keeps the network goes through its parameters, or has copied it."""
    home = recording.call.module.home
    if "$copy" in recording.call.module.fields:
        return True  # what is copied, called and differentiated
    if home is None or not isinstance(home[0], Obj) or not isinstance(home[0].cls, Class):
        return False
    uses = home[0].cls.facts.uses.get(home[1], ())
    return not {"parameters", "named_parameters", "state_dict", "buffers"}.isdisjoint(uses)


def _encodes_keys(name: str) -> bool:
    return any(role in name.lower() for role in _OF_KEYS)


def _frozen_role(name: str) -> bool:
    """By its words: `model_ema`, `EMAModel`; not `DenoiseMasked`, which has these letters in a row."""
    roles = [role for role in FROZEN_ROLES if role in name.lower()]
    return bool(roles) and (roles != ["ema"] or _AVERAGE.search(name) is not None)
