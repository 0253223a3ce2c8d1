"""A list that is taken out of its place while that gets an empty one: what is made of it is made of what was put in."""

from __future__ import annotations

import pytest
from snippets import check

COLLECTED = """
class Losses:
    def __init__(self):
        self.rows = []

    def push(self, loss):
        self.rows.append(loss){mark}

    def take(self):
        {taken}

def main(steps):
    net, losses = Net(), Losses()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        for _ in range(3):
            losses.push(net(torch.rand(4, 8)).pow(2).mean())
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
SWAPPED = "rows, self.rows = self.rows, []; return {made}"
OTHER_WAY = "self.rows, rows = [], self.rows; return {made}"
IN_TURN = "rows = self.rows; self.rows = []; return {made}"
LEFT = "rows = self.rows; return {made}"
MADE = ["torch.stack(rows).mean()", "sum(rows)"]


@pytest.mark.parametrize("taken", [SWAPPED, OTHER_WAY, IN_TURN])
@pytest.mark.parametrize("made", MADE)
def test_all_that_was_put_in_is_differentiated(taken: str, made: str) -> None:
    check(COLLECTED.format(taken=taken.format(made=made), loss="losses.take()", mark=""))


def test_what_stays() -> None:
    check(COLLECTED.format(taken=LEFT.format(made=MADE[0]), loss="losses.take()", mark="  # TML102"))


OF_CLASS = """
class Losses:
    rows = []

    @classmethod
    def take(cls):
        rows, cls.rows = cls.rows, []
        return torch.stack(rows).mean()

def main(steps):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        Losses.rows.append(net(torch.rand(4, 8)).pow(2).mean())
        loss = Losses.take()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_list_of_a_class() -> None:
    check(OF_CLASS)
