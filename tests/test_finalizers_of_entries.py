"""Finalizers whose method belongs to a table that has what is watched in an attribute of an entry."""

from __future__ import annotations

import pytest
from snippets import check

TRACKER = """
import weakref

class Entry:
    def __init__(self, key):
        self.key = key
        self.value = None

class Tracker:
    def __init__(self):
        self.entries = {{}}

    def track(self, weight):
        known = self.entries.get(id(weight))
        if known is None:
            known = self.entries[id(weight)] = Entry(id(weight))
            weakref.finalize(weight, self.forget, id(weight)){mark}
        return known

    def forget(self, key):
        del self.entries[key]
{more}

def lower(model):
    tracker = Tracker()
    for layer in model:
        weight = layer.weight
        entry = tracker.track(weight)
        if entry.value is None:
            entry.value = {value}
    {end}
    return len(tracker.entries)

def main(steps):
    for step in range(steps):
        print(lower(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))))
"""
MARK = "  # TML314"
LEFT_EMPTY = """
    def finish(self):
        for entry in self.entries.values():
            entry.value = None
"""
ANEW = """
    def finish(self):
        self.entries = {}
"""


@pytest.mark.parametrize("value", ["weight", "(weight, 1)"])
def test_an_entry_that_gets_what_is_watched(value: str) -> None:
    check(TRACKER.format(mark=MARK, more="", value=value, end="pass"))


@pytest.mark.parametrize("value", ["weight.abs().max().item()", "weight.shape", "str(layer)"])
def test_an_entry_that_gets_something_small(value: str) -> None:
    check(TRACKER.format(mark="", more="", value=value, end="pass"))


@pytest.mark.parametrize("more", [LEFT_EMPTY, ANEW])
def test_entries_that_are_emptied(more: str) -> None:
    check(TRACKER.format(mark="", more=more, value="weight", end="tracker.finish()"))
