"""How often frameworks call what they call: what is emptied once in a while does not release what each step adds."""

from __future__ import annotations

from ..facts import knowledge
from ..interpreter.machine import Frame
from ..interpreter.values import Class, Obj


def is_let_go_late(frame: Frame, releasing: set[str]) -> bool:
    """Whether all that empties a place is called less often than what leads to the store in this frame."""
    while frame.caller is not None:
        frame = frame.caller
    receiver = frame.receiver
    if not releasing or not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    late = (
        [name for name in releasing if name.endswith(knowledge.EPOCH_HOOKS)]
        if frame.name.endswith(knowledge.STEP_HOOKS)
        else []
    )
    for base, steps, seldom in knowledge.CONTRACTS:
        if frame.name in steps and any(dotted.endswith(base) for dotted in receiver.cls.base_names):
            late += seldom
    return releasing.issubset(late)
