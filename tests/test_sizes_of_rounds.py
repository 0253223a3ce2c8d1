"""Caches under a shape or a length: of tensors that each round makes with another size, and of those that are few."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

MASKS = """
import random

MASKS = {{}}

def mask_of(x):
    {key}
    if key not in MASKS:
        MASKS[key] = torch.ones(key if type(key) is int else 8, 64).triu(){told}
    return MASKS[key]

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x):
        x = {before}
        return self.layer(x) * mask_of(x).sum()

def batches(steps):
    for i in range({rounds}):
        n = {size}
        yield torch.randn(4, n, 64)

def main(steps):
    model = Reader().eval()
    with torch.inference_mode():
        for x in batches(steps):
            print(model(x).sum().item())
"""
LENGTH, SHAPE = "key = x.shape[1]", "key = (str(x.device), str(x.size()))"


@pytest.mark.parametrize(
    ("key", "rounds", "size"),
    [
        (LENGTH, "steps", "32 + 8 * i"),
        (SHAPE, "steps", "32 + 8 * i"),
        ("key = x.size(1)", "steps", "random.randint(3, 4000)"),
    ],
)
def test_another_size_in_each_round(key: str, rounds: str, size: str) -> None:
    check(MASKS.format(key=key, rounds=rounds, size=size, before="x.relu()", told="  # TML301"))


@pytest.mark.parametrize(
    ("key", "rounds", "size", "before"),
    [
        (LENGTH, "steps", "64", "x"),
        (LENGTH, "3", "32 + 8 * i", "x"),
        (LENGTH, "steps", "32 + 8 * (i % 4)", "x"),
        (LENGTH, "steps", "random.randint(3, 6)", "x"),
        ("key = x.shape[0]", "steps", "32 + 8 * i", "x"),
        ("key = (x.shape[1] + 63) // 64 * 64", "steps", "32 + 8 * i", "x"),
        (SHAPE, "steps", "32 + 8 * i", "F.interpolate(x, (64, 64))"),
    ],
    ids=["one", "three", "four in turn", "a few", "the batch", "in steps", "made the same"],
)
def test_few_sizes(key: str, rounds: str, size: str, before: str) -> None:
    check_innocent(MASKS.format(key=key, rounds=rounds, size=size, before=before, told=""))
