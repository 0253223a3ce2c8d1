"""An attribute of a class that gets another list lets go of the one before, if that happens in time."""

from __future__ import annotations

import pytest
from snippets import check

GATED = """
class Extra:
    losses = []

    @classmethod
    def add(cls, loss):
        cls.losses.append(loss){mark}

    @classmethod
    def collect(cls):
        total = sum(cls.losses)
        {after}
        return total

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 2)

    def forward(self, x):
        share = self.gate(x).softmax(-1)
        Extra.add(share.mean(0).pow(2).sum())
        return share

def main(steps):
    net, gate = Net(), Gate()
    optimizer = torch.optim.SGD([*net.parameters(), *gate.parameters()], lr=0.1)
    {first}
    for _ in range(steps):
        x = torch.rand(4, 8)
        loss = (net(x) * gate(x)).sum()
        optimizer.zero_grad()
        ({extra}).backward()
        optimizer.step()
"""
MARK = "  # TML102"
SUM, LAST = "loss + Extra.collect()", "loss + Extra.losses[-1]"


@pytest.mark.parametrize(
    ("after", "first", "extra", "mark"),
    [
        ("cls.losses = []", "pass", SUM, ""),
        ("Extra.losses = []", "pass", SUM, ""),
        ("cls.losses = []", "Extra.collect()", LAST, MARK),
        ("cls.losses = []", "pass", LAST, MARK),
    ],
)
def test_a_list_of_a_class(after: str, first: str, extra: str, mark: str) -> None:
    check(GATED.format(after=after, first=first, extra=extra, mark=mark))


SHARED = """
class Shared:
    _one = None

    def __init__(self):
        self.rows = []

    @classmethod
    def get(cls):
        if {test}:
            cls._one = cls()
        return cls._one

    def add(self, row):
        self.rows.append(row){mark}

def main(steps):
    for _ in range(steps):
        Shared.get().add(torch.rand(4, 8))
"""


@pytest.mark.parametrize(("test", "mark"), [("cls._one is None", "  # TML303"), ("True", "")])
def test_what_is_made_when_it_is_missing_replaces_nothing(test: str, mark: str) -> None:
    check(SHARED.format(test=test, mark=mark))
