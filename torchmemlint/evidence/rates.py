"""How often frameworks call what they call: what is emptied once in a while does not release what each step adds."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import knowledge
from ..interpreter.frames import Frame
from ..interpreter.values import Class, Obj


def is_let_go_late(frame: Frame, releasing: Callable[[], set[str]]) -> bool:
    """Whether all that empties a place is called less often than what leads to the store in this frame. What does is
    only asked where it matters: the answer takes a look at all of the text."""
    while frame.caller is not None:
        frame = frame.caller
    receiver = frame.receiver
    if not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    bases = receiver.cls.base_names
    contracts = [
        seldom
        for base, steps, seldom in knowledge.CONTRACTS
        if frame.name in steps and any(dotted.endswith(base) for dotted in bases)
    ]
    each_step = frame.name.endswith(knowledge.STEP_HOOKS)
    if not each_step and not contracts:
        return False
    late = {name for seldom in contracts for name in seldom}
    found = releasing()
    return bool(found) and all(name in late or (each_step and name.endswith(knowledge.EPOCH_HOOKS)) for name in found)
