"""Networks that only give constants to a loss, by what the run shows of them, whatever they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..facts.program import text
from ..facts.walk import calls
from ..interpreter.events import ModuleCall
from ..interpreter.machine import Machine
from ..interpreter.values import Obj
from .recordings import Recording, written

# `model_t`, `t_net`, `netT`: the letter alone, as a word.
_TEACHER = re.compile(r"(?<![A-Za-z])[tT](?![A-Za-z])|(?<=[a-z])T(?![A-Za-z])")


def is_lettered_teacher(call: ModuleCall) -> bool:
    """`model_t` in eval mode, where the same function runs `model_s`. In training mode both may be trained, for the
    source and the target of an adaptation."""
    if not call.evaluating:
        return False
    teacher = written(call)
    student = _TEACHER.sub(lambda letter: "s" if letter[0] == "t" else "S", teacher)
    return student != teacher and any(text(one[2]) == student for one in calls(call.frame.facts.body))


def is_of_a_domain(call: ModuleCall) -> bool:
    """`target_model` in training mode, where the same function runs `source_model`: an adaptation has data of two
    domains, and a network for each that may be trained."""
    named = written(call)
    source = named.replace("target", "source").replace("Target", "Source")
    if source == named or call.evaluating:
        return False
    return any(text(one[2]) == source for one in calls(call.frame.facts.body))


def is_left_out(machine: Machine, every: Iterable[Recording], recording: Recording) -> bool:
    """Whether a network in eval mode is no part of what the optimizer trains, while one beside it in the loss is."""
    call = recording.call
    if not machine.trained or not call.evaluating or recording.weight < 2 or not recording.demanded:
        return False
    trained = _with_parts(machine.trained)
    same = [other.call for other in every if other.site == recording.site]
    if any(not one.evaluating or _belongs(one.module, trained) for one in same):
        return False
    beside = {
        other.call.node for other in every if other.site != recording.site and _belongs(other.call.module, trained)
    }
    ancestors = machine.derivation.ancestors
    beside = {node for node in beside if call.node not in ancestors(node)}  # what it feeds is no comparison
    losses = (ancestors(start) for backward in machine.backwards for start in backward.nodes)
    return bool(beside) and any(call.node in made and not beside.isdisjoint(made) for made in losses)


def _belongs(module: Obj, trained: set[Obj]) -> bool:
    return any(holder in trained for holder in module.holders)


def _with_parts(modules: Iterable[Obj]) -> set[Obj]:
    """Modules, and what was put into them: `nn.ModuleList([model])`."""
    found = set(modules)
    pending = list(found)
    for module in pending:
        values = () if module.is_put_off else module.fields.values()
        parts = {one for value in values for one in value if type(one) is Obj} - found
        found |= parts
        pending += parts
    return found
