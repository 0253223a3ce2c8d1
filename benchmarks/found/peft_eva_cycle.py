"""peft 0.21.2, peft/tuners/lora/eva.py:407 and 410 (TML308): `cycle(dataloader)` while layers converge.

Every batch of the first pass stays until the initialisation is over. `forever` is the way out.
"""

from itertools import cycle

import torch
from ledger import growth
from torch.utils.data import DataLoader, TensorDataset


def forever(loader):
    while True:
        yield from loader


def initialise(batches, endless):
    """Looks at `batches` batches, as the search for components does, and returns with the iterator alive."""
    loader = DataLoader(TensorDataset(torch.arange(8 * batches)), 8, collate_fn=lambda rows: torch.randn(8, 256))
    stream = iter(endless(loader))
    for _ in range(batches):
        next(stream)
    return stream


if __name__ == "__main__":
    print("as released")
    growth(lambda count: initialise(count, cycle))
    print("loader started anew")
    growth(lambda count: initialise(count, forever))
