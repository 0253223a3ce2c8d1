"""What a layer keeps only where a number of its own is not zero: nobody keeps it who makes the layer with none."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PROGRAM = """
class Gate(nn.Module):
    def __init__(self, width, penalty={default}):
        super().__init__()
        self.lin, self.penalty, self.scores, self.on = nn.Linear(8, width), penalty, [], False

    def forward(self, x):
        scores = self.lin(x).softmax(-1)
        if {test}:
            self.scores.append(scores){note}
        return scores

    def warm_up(self, rate):
        {later}

def train(loader, rates):
    net = Gate({made})
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, _ in loader:
        loss = net(x).var()
        opt.zero_grad()
        loss.backward()
        opt.step()
        net.warm_up(next(rates))
"""
NEVER = {
    "by default": ("0.0", "self.penalty > 0", "8", "pass"),
    "while it trains": ("0.01", "self.training and self.penalty > 0", "8, penalty=0.0", "pass"),
    "asked as a flag": ("0", "self.penalty", "8", "pass"),
    "unlike nothing": ("0.01", "self.penalty != 0", "8, 0", "pass"),
}
SOMETIMES = {
    "on": ("0.01", "self.penalty > 0", "8", "pass"),
    "on for this one": ("0.0", "self.training and self.penalty > 0", "8, penalty=0.01", "pass"),
    "either of two": ("0.0", "self.training or self.penalty > 0", "8", "pass"),
    "raised": ("0.0", "self.penalty > 0", "8", "self.penalty += rate"),
    "set among others": ("0.0", "self.penalty > 0", "8", "self.penalty, self.rate = rate"),
    "at least": ("0.0", "self.penalty >= 0", "8", "pass"),
}


@pytest.mark.parametrize("default, test, made, later", NEVER.values(), ids=NEVER)
def test_a_number_that_is_off(default: str, test: str, made: str, later: str) -> None:
    check_innocent(PROGRAM.format(note="", default=default, test=test, made=made, later=later))


@pytest.mark.parametrize("default, test, made, later", SOMETIMES.values(), ids=SOMETIMES)
def test_a_number_that_is_not(default: str, test: str, made: str, later: str) -> None:
    check(PROGRAM.format(note="  # TML102", default=default, test=test, made=made, later=later))
