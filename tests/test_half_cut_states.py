"""States of several parts that go from step to step: all of them without their graphs, or only some."""

from __future__ import annotations

import pytest
from snippets import check

FIT = """
class Chars(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(8, 8), nn.Linear(8, 8)

    def forward(self, x, state):
        h, c = state
        out = []
        for t in range(x.size(0)):
            h, c = self.cell(x[t], (h, c))
            out.append(self.head(h))
        return torch.stack(out), (h, c)

def fit(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = torch.zeros(4, 8), torch.zeros(4, 8)
    for x in batches:
        {cut}
        out, state = model(x, state){mark}
        loss = out.square().mean()
        optimizer.zero_grad()
        loss.backward({retain})
        optimizer.step()

fit(Chars(), torch.rand(9, 5, 4, 8))
"""
HALF = ["h, c = state; state = (h.detach(), c)", "state = (state[0].detach(), state[1])"]
WHOLE = ["h, c = state; state = (h.detach(), c.detach())", "state = tuple(s.detach() for s in state)"]


@pytest.mark.parametrize("cut", HALF)
def test_part_of_a_state_goes_on_with_its_graph(cut: str) -> None:
    check(FIT.format(cut=cut, mark="  # TML105", retain="retain_graph=True"))


@pytest.mark.parametrize("cut", WHOLE)
def test_no_part_of_a_state_goes_on_with_its_graph(cut: str) -> None:
    check(FIT.format(cut=cut, mark="", retain=""))


WINDOWS = """
def fit(batches):
    cell, head = nn.GRUCell(8, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    state, loss = torch.zeros(4, 8), {first}
    optimizer.zero_grad()
    for number, x in enumerate(batches):
        state = cell(x, state)  # TML105
        loss = loss + head(state).square().mean(){mark}
        if (number + 1) % 4 == 0:
            loss.backward(retain_graph=True)
            {after}
    optimizer.step()

fit(torch.rand(99, 4, 8))
"""


def test_a_loss_that_starts_over_with_each_window() -> None:
    check(WINDOWS.format(first="0.0", mark="", after="loss = 0.0"))
    check(WINDOWS.format(first="torch.zeros(())", mark="", after="print(loss.item()); loss = torch.zeros(())"))


def test_a_loss_that_goes_on_from_window_to_window() -> None:
    check(WINDOWS.format(first="0.0", mark="  # TML101", after="print(loss.item())"))


def test_the_last_two_of_a_series() -> None:
    check(
        """
        def main():
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            pair = both = (torch.zeros(()), torch.zeros(()))
            rows = [torch.zeros(())]
            for x in torch.rand(99, 4, 8):
                out = model(x)
                out.mean().backward()
                optimizer.step()
                pair = (pair[1], out.abs().mean())
                _, second = both
                both = (second, out.std())
                rows = [row for row in rows if row > 0] + [out.detach().amax()]
            print(pair, both, rows)
        """
    )
