"""How often frameworks call what they call: what is emptied once in a while does not release what each step adds."""

from __future__ import annotations

from ..interpreter.machine import Frame
from ..interpreter.values import Class, Obj

# A base class, by the end of its name: what it calls for each batch, and what it calls once for many of them
# [docs: transformers.Trainer, `logging_steps` and `eval_steps`; ignite.metrics.Metric, `started` and `completed`].
_CONTRACTS = (
    ("Trainer", ("compute_loss", "training_step"), ("log", "evaluate", "evaluation_loop")),
    ("Metric", ("update",), ("reset", "compute")),
)
_EPOCHS = ("epoch_end", "epoch_start", "train_end", "validation_end", "test_end")
_STEPS = ("training_step", "validation_step", "test_step", "predict_step", "batch_end")


def is_let_go_late(frame: Frame, releasing: set[str]) -> bool:
    """Whether all that empties a place is called less often than what leads to the store in this frame."""
    while frame.caller is not None:
        frame = frame.caller
    receiver = frame.receiver
    if not releasing or not isinstance(receiver, Obj) or not isinstance(receiver.cls, Class):
        return False
    late = [name for name in releasing if name.endswith(_EPOCHS)] if frame.name.endswith(_STEPS) else []
    bases = (*receiver.cls.external, *(entry.facts.name for entry in receiver.cls.mro[1:]))
    for base, steps, seldom in _CONTRACTS:
        if frame.name in steps and any(dotted.endswith(base) for dotted in bases):
            late += seldom
    return releasing.issubset(late)
