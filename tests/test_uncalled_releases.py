"""A list that a loop fills and differentiates one entry of: a method that would empty it is no release if nothing calls
it."""

from __future__ import annotations

import pytest
from snippets import check

BALANCED = """
class Balanced(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.losses = nn.Linear(8, 4), []

    def forward(self, x):
        shares = self.gate(x).softmax(-1)
        self.losses.append(shares.mean(0).pow(2).sum()){mark}
        return shares

    def forget(self):
        self.losses.clear()

def main(steps):
    model = Balanced()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for _ in range(steps):
        loss = model(torch.rand(4, 8)).pow(2).mean() + {extra}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
"""


@pytest.mark.parametrize(
    ("before", "extra", "after", "mark"),
    [
        ("pass", "model.losses[-1]", "print(loss.item())", "  # TML102"),
        ("pass", "model.losses[-1]", "model.forget()", ""),
        ("pass", "sum(model.losses)", "model.forget()", ""),
        ("pass", "sum(model.losses)", "model.losses.clear()", ""),
    ],
)
def test_a_release_that_nothing_calls(before: str, extra: str, after: str, mark: str) -> None:
    check(BALANCED.format(before=before, extra=extra, after=after, mark=mark))
