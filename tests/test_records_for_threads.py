"""Records that one thread puts into a queue and another takes out and spreads: what each of their places has."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

JOURNAL = """
import queue
import threading

class Journal:
    def __init__(self):
        self.records = queue.Queue(maxsize=32)
        threading.Thread(target=self.work, daemon=True).start()

    def note(self, name, value):
        self.records.put((name, value))

    def work(self):
        while (record := self.records.get()) is not None:
            self.write(*record)

class Curves(Journal):
    def __init__(self):
        super().__init__()
        self.values = []

    def write(self, name, value):
        self.values.append((name, value))

class Latest(Journal):
    def __init__(self):
        super().__init__()
        self.names = []

    def write(self, name, value):
        self.names.append(name)
"""
TRAIN = """
import torch
from torch import nn
from journal import {journal}

def main(batches):
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    journal = {journal}()
    for number, x in enumerate(batches):
        out = model(x)
        loss, spread = out.square().mean(), out.std()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        journal.note("loss", loss.item())
        journal.note("spread", {spread}){mark}

main([torch.rand(8, 16) for _ in range(20)])
"""


@pytest.mark.parametrize(
    ("journal", "spread", "mark"),
    [("Curves", "spread", True), ("Curves", "spread.item()", False), ("Latest", "spread", False)],
)
def test_the_line_that_gives_it_away(
    journal: str, spread: str, mark: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TRAIN.format(journal=journal, spread=spread, mark="  # TML102" if mark else "")
    check_project({"journal.py": JOURNAL, "train.py": text}, tmp_path, monkeypatch)
