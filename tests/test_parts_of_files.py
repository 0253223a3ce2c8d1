"""Tables of the module that get a part of what a file held, for each path that is asked for."""

from __future__ import annotations

import pytest
from snippets import check

TABLE = """
STATES = {{}}

def read(path):
    state = torch.load(path, map_location="cpu")
    return {part}

def weights(path, other=None):
    if path not in STATES:
        STATES[path] = {stored}{mark}
    return STATES[path]
"""
PARTS = ['state.get("state_dict", state)', 'state.pop("ema")', 'state["net"] if "net" in state else state', "state"]
STORED = ["read(path)", "other or read(path)", "read(path) if other is None else other"]


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_file_for_each_path(part: str, stored: str) -> None:
    check(TABLE.format(part=part, stored=stored, mark="  # TML301"))


@pytest.mark.parametrize("part", ["len(state)", "sorted(state)", 'config.get("width")', "torch.ones(3).sum().item()"])
def test_what_is_no_part_of_it(part: str) -> None:
    check(TABLE.format(part=part, stored="read(path)", mark=""))
