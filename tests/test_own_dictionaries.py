"""Dictionaries and lists with methods of their own: they have what they were made with."""

from __future__ import annotations

import pytest
from snippets import check

BATCHES = """
from collections import OrderedDict, UserDict, defaultdict

class Batch({base}):
    {body}

    def split(self, size):
        return [Batch({{k: v[:size].clone() for k, v in self.items()}})]

class Buffer:
    def __init__(self):
        self.rows, self.last = [], []

    def add(self, batch):
        self.rows = [batch]
        self.last.append({kept}){mark}

def main():
    buffer = Buffer()
    for step in range(1000):
        buffer.add({made})
    print(len(buffer.rows))
"""
COUNT = "def count(self):\n        return len(self['obs'])"
INIT = "def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)"
MADE = {
    "by names": ("dict", COUNT, "Batch(obs=torch.randn(64, 8), done=True)"),
    "of a dictionary": ("OrderedDict", COUNT, "Batch({'obs': torch.randn(64, 8)})"),
    "of a user's": ("UserDict", COUNT, "Batch({'obs': torch.randn(64, 8)})"),
    "by its own constructor": ("dict", INIT, "Batch(obs=torch.randn(64, 8))"),
    "with a factory": ("defaultdict", COUNT, "Batch(list, obs=torch.randn(64, 8))"),
}
LIGHT = {
    "numbers": ("dict", COUNT, "Batch(step=step, done=True)"),
    "a factory alone": ("defaultdict", COUNT, "Batch(list)"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_a_dictionary_was_made_with(name: str) -> None:
    base, body, made = MADE[name]
    check(BATCHES.format(base=base, body=body, made=made, kept="batch", mark="  # TML303"))


@pytest.mark.parametrize("name", LIGHT)
def test_a_dictionary_that_was_made_with_little(name: str) -> None:
    base, body, made = LIGHT[name]
    check(BATCHES.format(base=base, body=body, made=made, kept="batch", mark=""))


def test_what_it_makes_of_itself() -> None:
    base, body, made = MADE["by names"]
    check(BATCHES.format(base=base, body=body, made=made, kept="batch.split(4)", mark="  # TML303"))


def test_a_number_of_it() -> None:
    base, body, made = MADE["by names"]
    check(BATCHES.format(base=base, body=body, made=made, kept="batch.count()", mark=""))


LISTS = """
class Track(list):
    def length(self):
        return len(self)

def main():
    tracks = []
    for step in range(1000):
        track = Track([{made}])
        tracks.append(track){mark}
    print(sum(track.length() for track in tracks))
"""


def test_what_a_list_was_made_with() -> None:
    check(LISTS.format(made="Net()(torch.randn(64, 8))", mark="  # TML102"))
    check(LISTS.format(made="step, step + 1", mark=""))
