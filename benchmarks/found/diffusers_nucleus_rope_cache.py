"""diffusers 0.42.1, models/transformers/transformer_nucleusmoe_image.py:234 (TML305): `lru_cache` on a module's method.

The cache has the module in its keys: a transformer that was unloaded keeps its embedding tables, up to 128 of them.
"""

import functools

import torch
from ledger import growth
from torch import nn


class Rope(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = torch.randn(1024, 32)

    @functools.lru_cache(maxsize=128)  # noqa: B019
    def frequencies(self, height, width):
        return self.positions[:height].mean() + self.positions[:width].mean()

    def frequencies_now(self, height, width):
        return self.positions[:height].mean() + self.positions[:width].mean()


def load_and_drop(count, method):
    for _ in range(count):
        getattr(Rope(), method)(16, 16)  # the pipeline goes after one image


if __name__ == "__main__":
    print("as released")
    growth(lambda count: load_and_drop(count, "frequencies"))
    print("without the cache")
    growth(lambda count: load_and_drop(count, "frequencies_now"))
