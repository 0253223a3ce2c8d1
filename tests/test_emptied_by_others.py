"""A global that a function fills and another file of the project empties."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

KEPT = """
import torch

SEEN = []

def embed(net, x):
    with torch.no_grad():
        features = net(x)
    SEEN.append(features){mark}
    return features.mean().item()
"""
MAIN = """
import torch
from torch import nn
{imported}

def settle():
    {settled}

def main(steps):
    net = nn.Linear(8, 8)
    {before}
    for _ in range(steps):
        print({embed}(net, torch.rand(4, 8))){mark}
        {then}

if __name__ == "__main__":
    main(9)
"""
MARK = "  # TML301"
MODULE = ("import kept", "kept.embed")
NAMES = ("from kept import SEEN, embed", "embed")
NO = "pass"


@pytest.mark.parametrize(
    ("ways", "settled", "before", "then", "mark"),
    [
        (MODULE, NO, NO, "kept.SEEN = []", ""),
        (MODULE, "kept.SEEN.clear()", NO, "settle()", ""),
        (NAMES, NO, NO, "SEEN.clear()", ""),
        (MODULE, NO, "kept.SEEN.clear()", "print(len(kept.SEEN))", MARK),
        (NAMES, NO, NO, "print(len(SEEN))", MARK),
    ],
)
def test_what_another_file_empties(
    ways: tuple[str, str],
    settled: str,
    before: str,
    then: str,
    mark: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imported, embed = ways
    main = MAIN.format(imported=imported, embed=embed, settled=settled, before=before, then=then, mark=mark)
    check_project({"kept.py": KEPT.format(mark=mark), "main.py": main}, tmp_path, monkeypatch)
