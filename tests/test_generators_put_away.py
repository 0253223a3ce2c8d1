"""Containers of generators: what one will give is nowhere yet; what has been taken out of them is."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SOURCES = """
from torch.utils.data import DataLoader

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.rand(8)

def again(loader):
    while True:
        for batch in loader:
            yield batch

def answers(net, batches):
    for batch in batches:
        yield net(batch)

class Mixture:
    def __init__(self, names):
        self.net, self.streams, self.rows = nn.Linear(8, 8), {{}}, []
        for name in names:
            self.streams[name] = again(DataLoader(Rows(), batch_size=8, num_workers=1))

    def add(self, batches):
        {}

def main(steps, names):
    mixture = Mixture(names)
    streams = [again(DataLoader(Rows(), batch_size=8, num_workers=1)) for _ in names]
    for step in range(steps):
        mixture.add([next(stream) for stream in streams])
        print(len(mixture.rows))
"""


@pytest.mark.parametrize(
    "adds",
    [
        "self.rows.append(answers(self.net, batches))",
        "self.rows.append(('all', answers(self.net, batches)))",
        "self.rows.append(self.net(batch) for batch in batches)",
        "self.streams[len(batches)] = answers(self.net, batches)",
    ],
)
def test_a_generator_is_put_away(adds: str) -> None:
    check_innocent(SOURCES.format(adds))


@pytest.mark.parametrize(
    "adds",
    [
        "self.rows.extend(answers(self.net, batches))",
        "self.rows += answers(self.net, batches)",
        "self.rows.append(tuple(answers(self.net, batches)))",
        "self.rows.append(next(answers(self.net, batches)))",
    ],
)
def test_what_it_gives_is_put_away(adds: str) -> None:
    check(SOURCES.format(adds + "  # TML102"))
