"""A loader that goes to `itertools.cycle` of another file, told by the file that gives it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_ROUNDS = """
import itertools

def endless(source):
    return itertools.cycle(source)

def rounds(source):
    while True:
        yield from source
"""

_NAMED = """
import itertools
import torch

def endless(loader):
    return itertools.cycle(loader)  # TML308
"""

_STREAMS = """
from torch.utils.data import DataLoader
import rounds

def stream(data):
    return rounds.endless(DataLoader(data, batch_size=8)){mark}

def rates(base):
    return rounds.endless([base, base / 2])

def passes(data):
    return rounds.rounds(DataLoader(data, batch_size=8))
"""

_TRAIN = """
import streams

def main(data, steps):
    batches, rates = streams.stream(data), streams.rates(0.1)
    for _ in range(steps):
        print(next(batches).sum() * next(rates))
"""

_THROUGH = """
import rounds

def fit(batches, steps):
    batches = rounds.endless(batches)
    for _ in range(steps):
        print(next(batches).sum())
"""

_HANDED = """
from torch.utils.data import DataLoader
from train import fit

def main(data):
    fit(DataLoader(data, batch_size=8), 100)  # TML308
    fit([data[0], data[1]], 100)
"""


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"rounds.py": _ROUNDS, "streams.py": _STREAMS.replace("{mark}", "  # TML308"), "train.py": _TRAIN},
            id="by the file that makes the loader, not by those that use it",
        ),
        pytest.param(
            {"rounds.py": _NAMED, "streams.py": _STREAMS.split("def passes")[0].replace("{mark}", "")},
            id="by the helper itself, where its parameter is named as one",
        ),
        pytest.param(
            {
                "rounds.py": _NAMED.replace("import torch\n", "").replace("  # TML308", ""),
                "streams.py": _STREAMS.split("def passes")[0].replace("{mark}", "  # TML308"),
            },
            id="but not by a helper that is not judged, for it does not name torch",
        ),
        pytest.param({"rounds.py": _ROUNDS, "train.py": _THROUGH, "run.py": _HANDED}, id="through a third file"),
    ],
)
def test_the_file_that_hands_the_loader_over_tells(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project(files, tmp_path, monkeypatch)
