"""What public code for language and speech does that looks like a leak and is none, each beside what it is taken for."""

from __future__ import annotations

import json

import pytest
from conftest import Lint, Write, lines
from snippets import check

SNIPPETS = {
    "an activation whose gradient is asked for": """
        class Attention(nn.Module):
            def __init__(self, keep=False):
                super().__init__()
                self.project = nn.Linear(8, 8)

            def forward(self, x):
                heads = torch.softmax(self.project(x), -1)
                self.heads = heads
                self.heads.retain_grad()
                return heads.sum(-1)
        """,
    "an activation beside one whose gradient is asked for": """
        class Attention(nn.Module):
            def __init__(self, keep=False):
                super().__init__()
                self.project = nn.Linear(8, 8)

            def forward(self, x):
                scores = self.project(x)
                scores.retain_grad()
                heads = torch.softmax(scores, -1)
                self.heads = heads  # TML108
                return heads.sum(-1)
        """,
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_innocent_beside_guilty(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("torch.allclose(x, x + 1)", 0),
        ("same = torch.equal(x, y)\nsame", 0),
        ("x.equal(y)", 0),
        ("torch.isclose(x, y)", 1),
        ("x == y", 1),
    ],
)
def test_whether_two_tensors_are_alike_is_no_tensor(write: Write, lint: Lint, shown: str, found: int) -> None:
    cells = ["import torch\nx, y = torch.rand(3, 3), torch.rand(3, 3)", shown]
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    write({"a.ipynb": json.dumps({"cells": made, "metadata": {}, "nbformat": 4})})
    assert len(lines(lint("--isolated", "a.ipynb"))) == found
