"""What a program learns from, gathered round by round, and memories that look like it."""

from __future__ import annotations

import pytest
from snippets import check

GATHERED = """
class Surrogate:
    def __init__(self):
        self.points, self.values = [], []
        self.net = nn.Linear(512, 1)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def tell(self, point, value):
        self.points.append(point){points}
        self.values.append(value){values}

    def fit(self):
        points, values = torch.stack({seen}), torch.stack(self.values)
        {loop}
            loss = (self.net(points) - values).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def ask(self):
        with torch.no_grad():
            tries = torch.rand(64, 512)
            return tries[self.net(tries).argmin()].clone()

def measure(point):
    return (point - 0.5).square()

def main(rounds):
    surrogate = Surrogate()
    for number in range(rounds):
        {adds}
        surrogate.fit()
"""
MANY = "for _ in range(20):"
ADDS = "point = surrogate.ask(); surrogate.tell(point, measure(point))"
EACH = "for _ in range(100): point = torch.rand(512); surrogate.tell(point, measure(point))"
GROWS = "  # TML303"


@pytest.mark.parametrize(
    ("loop", "adds", "seen", "points", "values"),
    [
        (MANY, ADDS, "self.points", "", ""),
        (MANY, ADDS, "[torch.rand(512)]", GROWS, ""),  # the points are not gone through
        (MANY, EACH, "self.points", GROWS, GROWS),  # a memory of many steps that nobody empties
        ("if True:", ADDS, "self.points", GROWS, GROWS),  # one pass for each addition
    ],
)
def test_what_is_learned_from(loop: str, adds: str, seen: str, points: str, values: str) -> None:
    check(GATHERED.format(loop=loop, adds=adds, seen=seen, points=points, values=values))
