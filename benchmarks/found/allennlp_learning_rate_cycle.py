"""allennlp 2.10.1, allennlp/commands/find_learning_rate.py:268 (TML308): `itertools.cycle(trainer.data_loader)`.

The search needs 100 batches of a loader that may be much longer or shorter: each one of the first pass is kept.
"""

from itertools import cycle, islice

import torch
from ledger import growth
from torch import nn


class Loader:
    """A loader that makes its batches as they are asked for."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return ({"x": torch.randn(8, 128)} for _ in range(self.batches))


def search(count, repeat):
    model, rates = nn.Linear(128, 1), []
    batches = repeat(Loader(count))
    for step, batch in enumerate(islice(batches, count)):
        model.zero_grad()
        model(batch["x"]).mean().backward()
        rates.append(1e-5 * 2**step)
    return batches, rates


def forever(loader):
    while True:
        yield from loader


if __name__ == "__main__":
    print("as released")
    growth(lambda count: search(count, cycle))
    print("loader started anew")
    growth(lambda count: search(count, forever))
