"""Loaded states that a helper copies into the model, while the function that trains still has them."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRAINER = """
class Trainer:
    def __init__(self, model, batches):
        self.model, self.batches = model, batches
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.initial = None

    def fill(self, states):
        answer = self.model.load_state_dict(states, strict=False)
        {kept}
        print("missing:", answer.missing_keys)

    def train(self, path):
        {load}
        {fill}
        {after}
        for x in self.batches:
            self.optimizer.zero_grad()
            self.model(x).square().mean().backward()
            self.optimizer.step()
"""
WHOLE = "states = torch.load(path, map_location='cpu')"
PART = "loaded = torch.load(path, map_location='cpu')"


def _text(load: str, fill: str, kept: str = "", after: str = "") -> str:
    return TRAINER.format(load=load, fill=fill, kept=kept or "pass", after=after or "pass")


@pytest.mark.parametrize(
    ("load", "fill"),
    [
        (WHOLE, "self.fill(states)"),
        (PART, 'self.fill(states=loaded["model"])'),
        (PART, 'states = loaded["model"]\n        self.fill(states)'),
    ],
)
def test_a_helper_that_copies(load: str, fill: str) -> None:
    check(_text(load + "  # TML313", fill))


@pytest.mark.parametrize(
    ("fill", "kept", "after"),
    [
        ("self.fill(states)", "", "del states"),
        ("self.fill(states)", "self.initial = states", ""),
        ("self.fill(states)", "", "self.model.load_state_dict(states)\n        states = None"),
        ("print(states.keys())", "", ""),
    ],
)
def test_one_that_keeps_them_and_states_that_go(fill: str, kept: str, after: str) -> None:
    check_innocent(_text(WHOLE, fill, kept, after))
