"""Slots that are replaced, or read, at indices that somebody has drawn."""

from __future__ import annotations

import pytest
from snippets import check, messages

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


BUFFER = """
class Buffer:
    def __init__(self, size):
        self.size, self.at = size, 0
        self.rows = torch.zeros(size, 2)

    def write(self, row):
        self.rows[self.at % self.size] = row{mark}
        self.at += 1

    def read(self, number):
        {read}

class Collector:
    def __init__(self, net, buffer):
        self.net, self.buffer = net, buffer

    def collect(self):
        done = False
        while not done:
            row = self.net(torch.randn(8))
            self.buffer.write({given})
            done = row.sum().item() > 1

def train(steps):
    net, head, buffer = Net(), nn.Linear(2, 1), Buffer(100)
    collector = Collector(net, buffer)
    optimizer = torch.optim.Adam(head.parameters())
    for _ in range(steps):
        collector.collect()
        loss = head(buffer.read(16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    "read",
    [
        "with torch.no_grad(): return self.rows[torch.randint(self.size, (number,))]",
        "with torch.no_grad(): return self.rows[torch.randperm(self.size)[:number]]",
        "with torch.inference_mode(): return self.rows[np.random.randint(self.size, size=number)]",
    ],
)
@pytest.mark.parametrize(("given", "mark"), [("row", "  # TML101"), ("row.detach()", "")])
def test_rows_that_are_learned_from_as_copies(read: str, given: str, mark: str) -> None:
    """No backward pass goes back through a copy that was made with gradients off, and none frees what the rows keep."""
    snippet = "import numpy as np\n" + BUFFER.format(read=read, given=given, mark=mark)
    check(snippet)
    if mark:
        assert "saved activations" in messages(snippet)[0]


def test_rows_that_an_update_goes_back_through() -> None:
    check(
        """
        def train(net, head, optimizer, steps):
            for _ in range(steps):
                rows = torch.zeros(10, 2)
                for at in range(10):
                    rows[at] = net(torch.randn(8))
                with torch.no_grad():
                    best = rows[rows.sum(1).argsort()][-3:]
                loss = (head(rows) - best.mean()).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """
    )
