"""Tables of the module that have what was used last at their end, and from which nothing is ever taken."""

from __future__ import annotations

import pytest
from snippets import check

RANKED = """
from collections import OrderedDict

LOADED = OrderedDict()

def read(path):
    checkpoint = torch.load(path, map_location="cpu")
    return checkpoint.get("state_dict", checkpoint)

def states(info):
    if info.title in LOADED:
        {ranked}
        return LOADED[info.title]
    return read(info.filename)

def load(model, info, limit):
    states_of = states(info)
    model.load_state_dict(states_of)
    LOADED[info.title] = states_of{mark}
    {evicted}
"""
RANK = "LOADED.move_to_end(info.title)"


def test_a_cache_that_lets_go_of_nothing() -> None:
    check(RANKED.format(ranked=RANK, evicted="pass", mark="  # TML301"))


@pytest.mark.parametrize(
    ("ranked", "evicted"),
    [
        (RANK, "while len(LOADED) > limit: LOADED.popitem(last=False)"),
        (RANK, "if len(LOADED) > limit: del LOADED[next(iter(LOADED))]"),
        ("pass", "pass"),  # a few models, each under its title
    ],
)
def test_one_that_does_and_a_table_of_few(ranked: str, evicted: str) -> None:
    check(RANKED.format(ranked=ranked, evicted=evicted, mark=""))
