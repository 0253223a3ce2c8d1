"""Lists with one batch of each of several loaders, and lists of all that comes: `# TML409` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

LOADERS = """
import itertools
from torch.utils.data import DataLoader

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.rand(8)

def draw(iterators, name):
    try:
        return next(iterators[name])
    except StopIteration:
        return None

def main(steps, few=8):
    loaders = {{name: DataLoader(Rows(), batch_size=8, num_workers=1) for name in "ab"}}
    iterators = {{name: iter(loader) for name, loader in loaders.items()}}
    every = []
    for step in range(steps):
        {}
        print(rows)
"""
ONE_OF_EACH = {
    "a list": "rows = [next(batches) for batches in iterators.values()]",
    "a table": "rows = {name: next(iterators[name]) for name in iterators}",
    "a loop": "rows = []\n        for batches in iterators.values():\n            rows.append(next(batches))",
    "by a helper": "rows = {name: draw(iterators, name) for name in iterators}",
    "by calls": "rows = [ask() for ask in [lambda: next(iterators['a']), lambda: next(iterators['b'])]]",
    "of loaders": "rows = [next(iter(loader)) for name, loader in loaders.items()]",
}
A_FEW = {
    "arrays of them": "rows = []\n        for i, batch in enumerate(loaders['a']):\n            if i >= few:\n"
    "                break\n            rows.append(batch.numpy())",
    "by number": "rows = []\n        for i, batch in enumerate(loaders['a']):\n            if i == 4:\n"
    "                break\n            rows.append(batch)",
    "by how many there are": "rows = []\n        for batch in loaders['a']:\n            rows.append(batch)\n"
    "            if len(rows) >= few:\n                break",
    "at most": "rows = [batch for batch in itertools.islice(loaders['a'], 4)]",
}
MORE = {
    "until a limit": "rows = []\n        for i, batch in enumerate(loaders['a']):\n            if i == steps:\n"
    "                break\n            rows.append(batch)  # TML409",
    "of all steps": "for batches in iterators.values():\n            every.append(next(batches))  # TML409\n"
    "        rows = every[-2:]",
    "of two in turn": "rows = every\n        for i in range(99):\n"
    "            rows.append(next(list(iterators.values())[i % 2]))  # TML409",
    "of one loader": "rows = [batch for batch in loaders['a']]  # TML409",
}


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_one_of_each(name: str) -> None:
    check_innocent(LOADERS.format(ONE_OF_EACH[name]))


@pytest.mark.parametrize("name", A_FEW)
def test_a_few_batches(name: str) -> None:
    check_innocent(LOADERS.format(A_FEW[name]))


@pytest.mark.parametrize("name", MORE)
def test_more_than_one_of_each(name: str) -> None:
    check(LOADERS.format(MORE[name]))
