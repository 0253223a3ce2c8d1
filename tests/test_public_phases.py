"""Loops that train and validate by turns, `for phase in ["train", "val"]`: each round is gone through with its own
phase; where gradients are on in both, the second is an evaluation that records."""

from __future__ import annotations

import pytest
from snippets import check

_PHASES = """
def fit(loaders, optimizer):
    model = Net()
    for epoch in range(10):
        for phase in {phases}:
            if phase == "train":
                model.train()
            else:
                model.eval()
            total = 0.0
            for x, y in loaders[phase]:
                with {mode}:
                    loss = F.cross_entropy(model(x), y){mark}
                if phase == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                total += loss{end}
            print(phase, total)
"""
_ON, _OFF = "timed()", 'torch.set_grad_enabled(phase == "train")'


@pytest.mark.parametrize("phases", ['["train", "val"]', '("train", "val")'])
def test_phases(phases: str) -> None:
    check(_PHASES.format(phases=phases, mode=_OFF, mark="", end=".item()"))
    check(_PHASES.format(phases=phases, mode=_ON, mark="  # TML201", end=".item()"))
    check(_PHASES.format(phases=phases, mode=_OFF, mark="", end="  # TML101"))


_ONCE = """
def fit(draw, optimizer):
    model = Net()
    for step in range(10):
        for phase in ["train", "val"]:
            if phase == "train":
                model.train()
            else:
                model.eval()
            loss = model(draw(phase)).mean(){mark}
            if {tested}:
                loss.backward()
                optimizer.step()
            print(loss.item())
"""


def test_one_batch_for_each_phase() -> None:
    check(_ONCE.format(tested='phase == "train"', mark="  # TML201"))
    check(_ONCE.format(tested='phase != "test"', mark=""))
