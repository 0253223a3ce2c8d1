"""What a metric has told its base class about: `self.add_state("rows", default=torch.tensor([]))`."""

from __future__ import annotations

from ..facts import model as m
from ..facts.walk import calls
from ..interpreter.entries import is_of_torchmetrics
from ..interpreter.events import Store
from ..interpreter.values import Class, Obj
from .unreleased import methods_of


def is_state_of_a_metric(store: Store) -> bool:
    """Whether a store goes to a state of a metric of torchmetrics, which whoever asks for the value resets."""
    owner = store.owner
    if type(owner) is not Obj or not isinstance(owner.cls, Class) or not is_of_torchmetrics(owner.cls):
        return False
    told = (
        call[3][0]
        for facts in methods_of(owner.cls).values()
        if "add_state" in facts.calls
        for call in calls(facts.body)
        if call[2][-1] == "add_state" and call[3]
    )
    return (m.CONST, store.key) in told
