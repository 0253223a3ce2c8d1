"""What a method of another file lets go was seen when the call was first run: that there is no time for it in a later
round of the same loop leaves nothing open."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

SUMS = """
class Sum:
    def __init__(self):
        self.total, self.count = None, 0

    def add(self, value):
        self.total = value if self.total is None else self.total + value
        self.count += 1

    def mean(self):
        return self.total / self.count

    def clear(self):
        self.total, self.count = None, 0
"""
LAYERS = """
import torch
from torch import nn
from sums import Sum

class Watched(nn.Module):
    def __init__(self, inside, act):
        super().__init__()
        self.inside, self.act, self.seen, self.watching = inside, act, Sum(), False

    def forward(self, x):
        y = self.act(self.inside(x))
        if self.watching:
            self.look(x, y)
        return y

    def look(self, x, y):
        pass

    def note(self, x):
        x = x.flatten(0, -2)
        self.seen.add(x.t() @ x)

    @torch.no_grad()
    def rank(self):
        return int((torch.linalg.svdvals(self.seen.mean()) > 0.1).sum())

    def clear(self):
        self.seen.clear()
"""
TRAIN = """
import torch
from torch import nn
from layers import Watched

class Input(Watched):
    def look(self, x, y):
        self.note(x.detach())

class Output(Watched):
    def look(self, x, y):
        self.note({kept})

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = Input(nn.Linear(8, 8), nn.ReLU())
        self.right = Input(nn.Linear(8, 8), nn.Tanh())
        self.up, self.down = Input(nn.Linear(8, 8), nn.ReLU()), Input(nn.Linear(8, 8), nn.Tanh())
        self.both, self.out = Output(nn.Linear(32, 8), nn.ReLU()), nn.Linear(8, 2)

    def watched(self):
        return [part for part in self.modules() if isinstance(part, Watched)]

    def forward(self, x):
        sides = [self.left(x), self.right(x), self.up(x), self.down(x)]
        return self.out(self.both(torch.cat(sides, -1)))

def epoch(net, optimizer, steps):
    for part in net.watched():
        part.clear()
        part.watching = True
    for _ in range(steps):
        loss = net(torch.rand(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {then}
    return [part.rank() for part in net.watched()]

def main(steps):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        print(epoch(net, optimizer, steps))

if __name__ == "__main__":
    main(9)
"""


@pytest.mark.parametrize(
    ("kept", "then", "mark"),
    [
        ("y", "print(loss.item())", "  # TML101"),
        ("y.detach()", "print(loss.item())", ""),
        ("y", "net.both.clear()", ""),
    ],
)
def test_a_reset_before_the_loop_is_none_in_it(
    kept: str, then: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = TRAIN.format(kept=kept, then=then).replace(f"note({kept})", f"note({kept}){mark}")
    check_project({"sums.py": SUMS, "layers.py": LAYERS, "train.py": train}, tmp_path, monkeypatch)
