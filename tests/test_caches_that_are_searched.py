"""Caches that a search goes through for the nearest entry: they are no index, where every entry is wanted."""

from __future__ import annotations

import pytest
from snippets import check

SEARCHED = """
import collections

class {cls}:
    def __init__(self, capacity):
        self.capacity = capacity
        self.{table} = collections.OrderedDict()

    @property
    def size(self):
        return sum(state.numel() for state in self.{table}.values())

    def nearest(self, key):
        best, found = 0, None
        for other in self.{table}:
            same = sum(a == b for a, b in zip(other, key))
            if same > best:
                best, found = same, other
        return found

    def put(self, key, state):
        self.{table}.pop(key, None)
        self.{table}[key] = state{mark}
        {limit}

@torch.no_grad()
def main(prompts, steps):
    model, kept = nn.Embedding(1000, 512), {cls}(10_000_000)
    for prompt in prompts:
        tokens = tuple(prompt.tolist())
        if kept.nearest(tokens) is None:
            print("cold")
        kept.put(tokens, model(prompt))
"""


@pytest.mark.parametrize(
    ("cls", "table", "mark", "limit"),
    [
        ("PrefixCache", "states", "  # TML311", "pass"),
        ("Prefixes", "cache", "  # TML311", "pass"),
        ("PrefixCache", "states", "", "while self.size > self.capacity: self.states.popitem(last=False)"),
        ("Vectors", "states", "", "pass"),
    ],
)
def test_a_cache_that_is_searched(cls: str, table: str, mark: str, limit: str) -> None:
    check(SEARCHED.format(cls=cls, table=table, mark=mark, limit=limit))
