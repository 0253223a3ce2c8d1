"""A list of the module that calls fill, and that a function beside them empties: whoever calls the one calls the other,
unless it is in sight that the loop does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

ROUTED = """
import torch
from torch import nn

_BALANCE = []

def balance():
    return sum(_BALANCE)

{forget}

class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.router, self.out = nn.Linear(8, 4), nn.Linear(8, 8)

    def forward(self, x):
        scores = self.router(x).softmax(-1)
        _BALANCE.append(scores.mean(0).pow(2).sum()){kept}
        return self.out(x) * scores.amax(-1, keepdim=True)
"""
TRAIN = """
import torch
import routed
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = routed.Routed()

    def forward(self, x):
        return self.layer(x){here}

def main(steps):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        loss = net(torch.rand(4, 8)).pow(2).mean() + 0.1 * routed._BALANCE[-1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {then}

if __name__ == "__main__":
    main(9)
"""
FORGET = "def forget():\n    _BALANCE.clear()"
MARK = "  # TML102"


@pytest.mark.parametrize(
    ("forget", "then", "kept", "here"),
    [
        (FORGET, "routed.forget()", "", ""),
        (FORGET, "print(loss.item())", "", MARK),
        ("", None, MARK, ""),
        (FORGET, None, "", ""),
    ],
)
def test_whoever_calls_may_empty_it(
    forget: str, then: str | None, kept: str, here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"routed.py": ROUTED.format(forget=forget, kept=kept)}
    if then is not None:
        files["train.py"] = TRAIN.format(then=then, here=here)
    check_project(files, tmp_path, monkeypatch)
