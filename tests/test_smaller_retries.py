"""Work that a clause does again with less, whatever it says of memory."""

from __future__ import annotations

import pytest
from snippets import check

SEARCH = """
class Search:
    def __init__(self):
        self.net = Net()

    def attempt(self, size):
        loss = self.net(torch.randn(size, 8)).pow(2).mean()
        loss.backward()
        return loss.item()

    def search(self, size):
        try:
            return self.attempt(size)
        except RuntimeError:
            {clause}

    def read(self, size, text=""):
        try:
            return int(text[:size])
        except RuntimeError:
            return self.read(size // 2, text)
"""


@pytest.mark.parametrize(
    "clause",
    [
        "return self.search(size // 2)  # TML307",
        "size //= 2; return self.attempt(size)  # TML307",
        "half = max(size // 2, 1); return self.search(half)  # TML307",
    ],
)
def test_half_of_it(clause: str) -> None:
    check(SEARCH.format(clause=clause))


@pytest.mark.parametrize("clause", ["return self.search(size)", "return size // 2", "raise ValueError(size // 2)"])
def test_nothing_smaller(clause: str) -> None:
    check(SEARCH.format(clause=clause))
