"""`cachetools.cached`: what it is given says how much stays."""

from __future__ import annotations

import pytest
from snippets import check

EMBED = """
from collections import OrderedDict

import cachetools
from cachetools import LRUCache, TTLCache, cached

_TABLE = {{}}
_FEW = LRUCache(8)

@{cache}{mark}
def embed(text: str):
    return torch.randn(1000) * len(text)

def main(steps):
    for step in range(steps):
        print(embed(f"query {{step}}").sum().item())
"""
MEASURE = """
import cachetools

@cachetools.cached({cache}){mark}
def size_of(model: nn.Module, kind: str):
    return sum(part.numel() for part in model.parameters())

def main(steps):
    for step in range(steps):
        print(size_of(nn.Linear(64, 64), "all"))
"""
WITHOUT = ["{}", "cache={}", "dict()", "OrderedDict()", "cache=_TABLE", "_TABLE"]
WITH = ["LRUCache(maxsize=4)", "cache=cachetools.LRUCache(16)", "TTLCache(16, ttl=60)", "_FEW", "cache=_FEW"]


@pytest.mark.parametrize("cache", WITHOUT)
@pytest.mark.parametrize("decorator", ["cached", "cachetools.cached"])
def test_a_table_without_a_bound(decorator: str, cache: str) -> None:
    check(EMBED.format(cache=f"{decorator}({cache})", mark="  # TML305"))


@pytest.mark.parametrize("cache", WITH)
@pytest.mark.parametrize("decorator", ["cached", "cachetools.cached"])
def test_a_table_with_a_bound(decorator: str, cache: str) -> None:
    check(EMBED.format(cache=f"{decorator}({cache})", mark=""))


def test_a_model_in_the_keys() -> None:
    check(MEASURE.format(cache="{}", mark="  # TML305"))
    check(MEASURE.format(cache="cachetools.LRUCache(64)", mark="  # TML305"))
    check(MEASURE.format(cache="{}, key=lambda model, kind: kind", mark=""))
