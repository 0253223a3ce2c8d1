"""Projects of several files with what is to be reported of them: the codes in their comments, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchmemlint.config import load
from torchmemlint.linter import engine, pool

NORM = """
import torch
from torch import nn

class StreamNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.running = torch.zeros(width)

    def forward(self, x):
        if self.training:
            self.running = 0.9 * self.running + 0.1 * x.mean(dim=0)
        return (x - self.running) * self.scale

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.head = StreamNorm(width), nn.Linear(width, 1)
        self.first = nn.Linear(width, width)

    def forward(self, x):
        return self.head(self.norm(self.first(x)))

def fit(model, loader, optimizer):
    for x in loader:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def write(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return [name for name in files if not name.startswith("venv/")]


def marked(files: dict[str, str]) -> list[tuple[str, int, str]]:
    return sorted(
        (name, row, match[0])
        for name, text in files.items()
        for row, line in enumerate(text.splitlines(), 1)
        for match in [re.search(r"TML\d+", line)]
        if match
    )


def lint(folder: Path, names: list[str], jobs: int = 1) -> list[tuple[str, int, str]]:
    plan = engine.plan(load(folder, {"no-cache": True}, isolated=True))
    return [(f.filename, f.start.row, f.code) for f in pool.lint_files(names, plan, jobs)]


def check_project(files: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = write(folder, files)
    monkeypatch.chdir(folder)
    found, wanted = lint(folder, names), marked(files)
    assert found == wanted, found
    backwards = lint(folder, names[::-1])
    assert backwards == found, backwards
    for single in names:  # a part of the project has the same findings as in the whole
        assert lint(folder, [single]) == [finding for finding in found if finding[0] == single], single
