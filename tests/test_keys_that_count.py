"""Keys that are worked out of the number of the round, of which each is new."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TABLE = """
_GRIDS = {{}}

def grid(h, w):
    if (h, w) not in _GRIDS:
        _GRIDS[(h, w)] = torch.rand(h, w){mark}
    return _GRIDS[(h, w)]

def main(steps):
    for i in range(steps):
        print(grid({size}, {size}).sum().item())
"""


@pytest.mark.parametrize("size", ["i", "64 + i", "2 * i", "i - 1"])
def test_another_size_in_each_round(size: str) -> None:
    check(TABLE.format(size=size, mark="  # TML301"))


@pytest.mark.parametrize("size", ["64", "64 + i % 4", "i // 100", "0 * i"])
def test_sizes_that_come_again(size: str) -> None:
    check_innocent(TABLE.format(size=size, mark=""))


CACHE = """
@functools.lru_cache(maxsize=None){mark}
def mask(n):
    return {result}

def main(steps):
    for i in range(steps):
        print(mask({size}).sum().item())
"""


@pytest.mark.parametrize("size", ["i", "64 + i"])
def test_a_cache_without_a_bound(size: str) -> None:
    check(CACHE.format(size=size, result="torch.ones(n, n).tril()", mark="  # TML305"))


@pytest.mark.parametrize(
    ("size", "result"),
    [("64", "torch.ones(n, n)"), ("64 + i % 4", "torch.ones(n, n)"), ("i", "torch.ones(n, n).mean()")],
)
def test_a_cache_of_few_or_small_things(size: str, result: str) -> None:
    check_innocent(CACHE.format(size=size, result=result, mark=""))
