"""A global that a function fills and another file of the project empties."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project, lint, marked, write

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


BALANCE = """
from torch import nn

class Extra:
    losses = []

class Store:
    def __init__(self):
        self.rows = []

    def add(self, row):
        self.rows.append(row){row}

STORE = Store()

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4)

    def forward(self, x):
        shares = self.gate(x).softmax(-1)
        Extra.losses.append(shares.mean(0).pow(2).sum()){loss}
        STORE.add(shares.mean(0))
        return shares
"""
TRAIN = """
import torch
from balance import STORE, Extra, Gate

def fit(net, optimizer, steps):
    for _ in range(steps):
        loss = net(torch.rand(4, 8)).pow(2).mean() + sum(Extra.losses) + sum(STORE.rows).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {first}
        {second}

def main(steps):
    net = Gate()
    fit(net, torch.optim.SGD(net.parameters(), lr=0.1), steps)

if __name__ == "__main__":
    main(9)
"""
CUT = "  # TML102"


@pytest.mark.parametrize(
    ("first", "second", "loss", "row"),
    [
        ("Extra.losses = []", "STORE.rows.clear()", "", ""),
        ("Extra.losses.clear()", "STORE.rows = []", "", ""),
        ("Extra.losses.clear()", "print(loss.item())", "", CUT),
        ("print(loss.item())", "del STORE.rows[:]", CUT, ""),
    ],
)
def test_attributes_of_a_class_and_of_an_object(
    first: str, second: str, loss: str, row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"balance.py": BALANCE.format(loss=loss, row=row), "train.py": TRAIN.format(first=first, second=second)}
    monkeypatch.chdir(tmp_path)
    names = write(tmp_path, files)
    assert [one for one in lint(tmp_path, names) if one[0] == "balance.py"] == marked(files)
