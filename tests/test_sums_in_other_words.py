"""Sums and series that are made by other means than `+=` and `append`."""

from __future__ import annotations

import pytest
from snippets import check

TRAINED = """
import collections
import operator

def main(batches):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for x in batches:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {added}

main(torch.rand(9, 4, 8))
"""
TABLE = "sums = {k: sums.get(k, 0) + v for k, v in {'loss': LOSS, 'n': 1}.items()}"
GUILTY = [
    ("sums = {}", TABLE),
    ("sums = collections.Counter()", "sums.update({'loss': LOSS})"),
    ("sums = collections.Counter()", "sums.update(loss=LOSS, n=1)"),
    ("total = 0.0", "total = operator.add(total, LOSS)"),
    ("rows = ()", "rows = rows + (LOSS,)"),
    ("rows = ()", "rows = (*rows, LOSS)"),
]
INNOCENT = [
    ("sums = {}", "sums = {k: v + 1 for k, v in {'loss': loss}.items()}"),
    ("last = ()", "last = (len(last), loss)"),
    ("last = {}", "last.update({'loss': loss})"),
    ("rows = ()", "rows = (1, 2); rows = rows + (loss,)"),
]


@pytest.mark.parametrize(("before", "added"), GUILTY)
def test_sums_and_series(before: str, added: str) -> None:
    check(TRAINED.format(before=before, added=added + "  # TML101").replace("LOSS", "loss"))
    check(TRAINED.format(before=before, added=added).replace("LOSS", "loss.item()"))


@pytest.mark.parametrize(("before", "added"), INNOCENT)
def test_what_only_the_last_round_leaves(before: str, added: str) -> None:
    check(TRAINED.format(before=before, added=added))
