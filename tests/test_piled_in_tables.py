"""Copies of a model under the number of each epoch, of which one is used in the end."""

from __future__ import annotations

import pytest
from snippets import check

FIT = """
import copy

def fit(model: nn.Module, train, epochs, tasks):
    states, best, best_at = {{}}, 1e9, 0
    for {rounds}:
        loss = sum(train.step(model))
        states[{key}] = {copied}{mark}
        if loss < best:
            best, best_at = loss, {key}
    {used}
"""
USED = "model.load_state_dict(states[best_at])"
EPOCHS, COPY = "epoch in range(epochs)", "copy.deepcopy(model.state_dict())"
GUILTY = [
    (EPOCHS, "epoch", COPY, USED),
    (EPOCHS, "epoch + 1", COPY, USED),
    ("epoch, task in enumerate(tasks)", "epoch", COPY, USED),
    (EPOCHS, "epoch", "copy.deepcopy(model)", "return states[best_at]"),
    (EPOCHS, 'f"epoch {epoch}"', COPY, "print(len(states)); model.load_state_dict(states[best_at])"),
]
INNOCENT = [
    ("task in tasks", "task", COPY, USED),  # one for each of a few
    (EPOCHS, "epoch", COPY, "return states"),
    (EPOCHS, "epoch", COPY, "states.pop(best_at)"),
    (EPOCHS, "epoch", COPY, "for one in states.values(): model.load_state_dict(one)"),
    (EPOCHS, "epoch", COPY, "for epoch in range(epochs): model.load_state_dict(states[epoch])"),
    (EPOCHS, '"last"', COPY, 'model.load_state_dict(states["last"])'),
    (EPOCHS, "epoch", "loss", "print(states[best_at])"),
]


@pytest.mark.parametrize(("rounds", "key", "copied", "used"), GUILTY)
def test_all_copies_but_one_are_for_nothing(rounds: str, key: str, copied: str, used: str) -> None:
    check(FIT.format(rounds=rounds, key=key, copied=copied, used=used, mark="  # TML313"))


@pytest.mark.parametrize(("rounds", "key", "copied", "used"), INNOCENT)
def test_copies_that_are_wanted_and_few(rounds: str, key: str, copied: str, used: str) -> None:
    check(FIT.format(rounds=rounds, key=key, copied=copied, used=used, mark=""))
