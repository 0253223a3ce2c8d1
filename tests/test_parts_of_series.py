"""Slices of tuples and lists whose positions are known: each part goes where the caller puts it."""

from __future__ import annotations

import pytest
from snippets import check

AVERAGES = """
class Fit:
    def __init__(self):
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.first = self.second = 0.0

    def terms(self, x, y):
        gap = (self.model(x) - y).square()
        return gap.mean(), {terms}

    def averaged(self, first, second):
        self.first = 0.9 * self.first + 0.1 * first{first}
        self.second = 0.9 * self.second + 0.1 * second{second}

    def train(self, batches):
        for x, y in batches:
            losses = self.terms(x, y)
            self.optimizer.zero_grad()
            losses[0].backward()
            self.optimizer.step()
            self.averaged(*losses[{part}])

Fit().train([(torch.rand(4, 8), torch.rand(4, 2))] * 9)
"""


@pytest.mark.parametrize("part", ["1:", "-2:", "1:3", "1::1"])
def test_each_part_reaches_its_parameter(part: str) -> None:
    both = {"first": "  # TML101", "second": "  # TML101"}
    check(AVERAGES.format(terms="gap[:, 0].mean(), gap[:, 1].mean()", part=part, **both))


def test_a_part_without_a_graph_stays_one() -> None:
    check(AVERAGES.format(terms="gap[:, 0].mean(), gap[:, 1].mean().item()", part="1:", first="  # TML101", second=""))
    check(AVERAGES.format(terms="gap.max().item(), gap[:, 1].mean()", part="1:", first="", second="  # TML101"))
    check(AVERAGES.format(terms="gap.max().item(), gap[:, 1].mean().detach()", part="1:", first="", second=""))


def test_other_slices_of_the_same_series_are_others() -> None:
    check(
        """
        def main(batches):
            model, history = Net(), []
            for x, y in batches:
                loss = F.mse_loss(model(x), y)
                loss.backward()
                row = (loss, loss.item(), len(x))
                history.append(row[1:])
                print(row[:1], row["a":] if len(x) > 8 else row[len(x) :])

        main([(torch.rand(4, 8), torch.rand(4, 2))] * 9)
        """
    )
