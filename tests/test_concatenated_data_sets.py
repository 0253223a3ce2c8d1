"""Data sets of one file each that keep what they have read, and the concatenation that has one for each file."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

TAPES = """
import numpy as np
from functools import cached_property, lru_cache
from torch.utils.data import ConcatDataset, DataLoader, Dataset

class Tape:
    def __init__(self, path):
        self.file = open(path, "rb")
        self.rows = torch.from_numpy(np.frombuffer(self.file.read(), dtype=np.uint8).copy())

    def cut(self, at):
        return self.rows[at : at + 100].float()

def open_tape(path):
    return Tape(path)

@lru_cache(maxsize=2)
def last_tape(path):
    return Tape(path)

class Cuts(Dataset):
    def __init__(self, path, number):
        self.path, self.number, self._tape = path, number, None

{reads}

    @cached_property
    def starts(self):
        return list(range(0, 10_000, 100))

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, index):
        return self.tape.cut(self.starts[index]), self.number

class Everything(ConcatDataset):
    def __init__(self, paths):
        super().__init__([Cuts(path, number) for number, path in enumerate(paths)])

@torch.no_grad()
def predict(paths, net):
    {joins}
    for x, _ in DataLoader(tapes, batch_size=8):
        print(net(x).mean())
{after}
"""
JOINS = {
    "a comprehension": "tapes = ConcatDataset([Cuts(path, 0) for path in paths])",
    "a list before": "parts = [Cuts(path, 0) for path in paths]\ntapes = ConcatDataset(parts)",
    "a loop": "parts = []\nfor path in paths:\n    parts.append(Cuts(path, 0))\ntapes = ConcatDataset(datasets=parts)",
    "a class": "tapes = Everything(paths)",
}
KEPT = {
    "a property": "@cached_property\ndef tape(self):  # TML404\n    return open_tape(self.path)",
    "its rows": "@cached_property\ndef tape(self):  # TML404\n    found = open_tape(self.path)\n    return found",
    "when missing": """
        @property
        def tape(self):
            if self._tape is None:
                self._tape = open_tape(self.path)  # TML404
            return self._tape
        """,
}
NOT_KEPT = {
    "each time": "@property\ndef tape(self):\n    return open_tape(self.path)",
    "the last few": "@property\ndef tape(self):\n    return last_tape(self.path)",
    "a number": "@cached_property\ndef size(self):\n    return len(open_tape(self.path).rows)\n\ntape = Tape('first')",
    "an open file": "@cached_property\ndef file(self):\n    return open(self.path)\n\ntape = Tape('first')",
}
PROPERTY = KEPT["a property"]


def tapes(reads: str, joins: str = JOINS["a class"], after: str = "") -> str:
    after = textwrap.indent(after, 4 * " ")
    reads, joins = textwrap.dedent(reads).strip(), textwrap.indent(joins, 4 * " ").strip()
    return TAPES.format(reads=textwrap.indent(reads, 4 * " "), joins=joins, after=after)


@pytest.mark.parametrize("joins", JOINS.values(), ids=JOINS)
@pytest.mark.parametrize("reads", KEPT.values(), ids=KEPT)
def test_what_each_of_many_keeps(reads: str, joins: str) -> None:
    check(tapes(reads, joins))


@pytest.mark.parametrize("reads", NOT_KEPT.values(), ids=NOT_KEPT)
def test_what_is_not_kept(reads: str) -> None:
    check_innocent(tapes(reads))


@pytest.mark.parametrize(
    "joins", ["tapes = Cuts(paths[0], 0)", "tapes = ConcatDataset([Cuts(paths[0], 0), Cuts(paths[1], 1)])"]
)
def test_one_or_two(joins: str) -> None:
    check_innocent(tapes(PROPERTY.replace("  # TML404", ""), joins).replace("Cuts(path, number) for", "Tape(path) for"))


@pytest.mark.parametrize("joins", [JOINS["a class"], JOINS["a list before"]])
@pytest.mark.parametrize(
    "after",
    [
        "for one in tapes.datasets:\n    del one.tape",
        "for one in tapes.datasets:\n    one.tape = None",
        "for one in tapes.datasets:\n    one.__dict__.pop('tape', None)",
    ],
)
def test_what_is_let_go_of(after: str, joins: str) -> None:
    check_innocent(tapes(PROPERTY.replace("  # TML404", ""), joins, after))
