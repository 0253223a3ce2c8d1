"""Lists whose entries are replaced at indices that somebody has drawn."""

from __future__ import annotations

import pytest
from snippets import check

REPLAY = """
class Replay:
    def __init__(self, size):
        self.priorities = [1.0] * size

    def update(self, indices, errors):
        for {over}:
            self.priorities[i] = error{mark}

class Agent:
    def __init__(self):
        self.net, self.replay = Net(), Replay(10000)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def train(self, sampler, steps):
        for _ in range(steps):
            indices, state, target = sampler.sample(32)
            errors = (self.net(state) - target).abs().sum(1)
            self.optimizer.zero_grad()
            errors.mean().backward()
            self.optimizer.step()
            self.replay.update(indices, {given})
"""


@pytest.mark.parametrize(
    ("over", "given", "mark"),
    [
        ("i, error in zip(indices, errors)", "errors", "  # TML102"),
        ("error, i in zip(errors, indices)", "errors", "  # TML102"),
        ("i, error in zip(indices, errors)", "errors.detach()", ""),
        ("i, error in zip(indices, errors)", "errors.tolist()", ""),
        ("i, error in enumerate(errors)", "errors", ""),
        ("i, error in zip(range(32), errors)", "errors", ""),
    ],
)
def test_priorities(over: str, given: str, mark: str) -> None:
    check(REPLAY.format(over=over, given=given, mark=mark))
