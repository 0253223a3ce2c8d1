"""`functools.reduce` over batches, over what is there already, and in a loss."""

from __future__ import annotations

import pytest
from snippets import check

HELD_OUT = """
import functools
from functools import reduce
import operator

class Fit:
    def __init__(self):
        self.model = Net()

    def loss(self, batch):
        return F.cross_entropy(self.model(batch[0]), batch[1])

    {decorator}
    def held_out(self, batches):
        self.model.eval()
        total = {folded}
        return float(total)

def main(batches):
    print(Fit().held_out(batches))

main([(torch.rand(4, 8), torch.zeros(4).long())] * 9)
"""
GUILTY = [
    "functools.reduce(lambda total, batch: total + self.loss(batch), batches, 0.0)  # TML101",
    "reduce(lambda total, batch: self.loss(batch) + total, batches, 0.0)  # TML101",
]
INNOCENT = [
    "reduce(lambda most, batch: max(most, batch[0].mean()), batches, 0.0)",
    "reduce(lambda total, batch: total + len(batch[0]), batches, 0)",
    "reduce(operator.add, [weight.square().sum() for weight in self.model.parameters()])",
]


@pytest.mark.parametrize("folded", GUILTY)
def test_losses_folded_with_their_graphs(folded: str) -> None:
    check(HELD_OUT.format(folded=folded, decorator=""))
    check(HELD_OUT.format(folded=folded.replace("  # TML101", ""), decorator="@torch.no_grad()"))


@pytest.mark.parametrize("folded", INNOCENT)
def test_what_is_folded_has_no_graph_or_is_there(folded: str) -> None:
    check(HELD_OUT.format(folded=folded, decorator=""))


def test_a_fold_that_is_differentiated() -> None:
    check(
        """
        from functools import reduce

        def main(batches):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for parts in batches:
                loss = reduce(lambda total, part: total + model(part).mean(), parts, 0.0)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        main(torch.rand(9, 3, 4, 8))
        """
    )
