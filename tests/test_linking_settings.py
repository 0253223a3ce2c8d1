"""Flags that an object of another file is made with, and that decide what it keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

RECORDERS = """
from dataclasses import dataclass, field

class Recorder:
    def __init__(self, name, keep=False):
        self.name = name
        self.keep = keep
        self.rows = []
        self.last = 0.0

    def add(self, value):
        self.last = float(value)
        if self.keep:
            self.rows.append(value)

class Series:
    def __init__(self, convert=True):
        self.convert = convert
        self.rows = []

    def add(self, value):
        self.rows.append(value.item() if self.convert else value)

class Mode:
    def __init__(self, reduce="mean"):
        self.reduce = reduce
        self.rows, self.total = [], 0.0

    def add(self, value):
        if self.reduce == "mean":
            self.total += value.item()
        else:
            self.rows.append(value)

class Piped:
    def __init__(self, convert=None):
        self.convert = convert
        self.rows = []

    def add(self, value):
        self.rows.append(value if self.convert is None else self.convert(value))

class Switched:
    def __init__(self):
        self.on = False
        self.rows = []

    def start(self):
        self.on = True

    def add(self, value):
        if self.on:
            self.rows.append(value)

@dataclass
class Fields:
    name: str
    keep: bool = False
    rows: list = field(default_factory=list)

    def add(self, value):
        if self.keep:
            self.rows.append(value)

class Open:
    def __init__(self):
        self.on = False
        self.rows = []

    def add(self, value):
        if self.on:
            self.rows.append(value)
"""
FIT = """
import sys
import torch
from recorders import Fields, Mode, Open, Piped, Recorder, Series, Switched
from torch import nn

def main(steps):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder = {made}
    {then}
    for _ in range(steps):
        loss = model(torch.randn(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recorder.add(loss){mark}

main(10)
"""
KEEP = [
    'Recorder("loss", keep=True)',
    'Recorder("loss", True)',
    'Recorder("loss", keep="-k" in sys.argv)',
    "Series(convert=False)",
    "Series(*sys.argv)",
    'Mode("none")',
    "Mode(sys.argv[1])",
    "Fields('loss', keep=True)",
    "Fields(**dict(zip(sys.argv, sys.argv)))",
    "Fields('loss', keep=getattr(sys, 'keep', False))",
    "Piped()",
    "Piped(convert=None)",
]
DROP = [
    "Fields('loss')",
    "Fields('loss', keep=False)",
    'Recorder("loss")',
    'Recorder("loss", keep=False)',
    "Series()",
    "Mode()",
    'Mode(reduce="mean")',
    "Piped(float)",
    "Switched()",
]


def _check(made: str, then: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"recorders.py": RECORDERS, "fit.py": FIT.format(made=made, then=then, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


@pytest.mark.parametrize("made", KEEP)
def test_one_that_keeps(made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(made, "pass", "  # TML102", tmp_path, monkeypatch)


@pytest.mark.parametrize("made", DROP)
def test_one_that_keeps_nothing(made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(made, "pass", "", tmp_path, monkeypatch)


@pytest.mark.parametrize(("made", "then"), [("Switched()", "recorder.start()"), ("Open()", "recorder.on = True")])
def test_one_that_is_switched_on_later(made: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(made, then, "  # TML102", tmp_path, monkeypatch)
