"""Attributes that a method makes which is not run, of a class of the project whose `append` copies; and lists."""

from __future__ import annotations

import pytest
from snippets import check

JOBS = """
import collections

class Rows{base}:
    def __init__(self, width):
        super().__init__()
        self.data, self.filled = torch.empty(64, width), 0

    {append}
        self.data[self.filled].copy_(row)
        self.filled += 1

class Jobs:
    {told}
    def set_up(self, width):
        {made}

    @torch.no_grad()
    def serve(self, model: nn.Module, loader):
        for batch in loader:
            states = model(batch)
            self.rows.append(states[:, 0]){mark}
"""
PLAIN = {"base": "", "append": "def append(self, row):", "told": "", "made": "self.rows = Rows(width)", "mark": ""}


@pytest.mark.parametrize(
    "change",
    [{}, {"told": "rows: Rows", "made": "pass"}, {"told": "rows: 'Rows'"}, {"made": "self.rows: Rows = Rows(width)"}],
)
def test_rows_are_copied(change: dict[str, str]) -> None:
    check(JOBS.format(**PLAIN | change))


@pytest.mark.parametrize(
    "change",
    [
        {"made": "self.rows = []"},
        {"made": "pass"},
        {"told": "rows: list", "made": "pass"},
        {"base": "(list)", "append": "def add(self, row):"},
    ],
)
def test_views_are_listed(change: dict[str, str]) -> None:
    check(JOBS.format(**PLAIN | {"mark": "  # TML309"} | change))
