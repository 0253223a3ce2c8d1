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


SEARCH = """
class Space{base}:
    def {called}(self, x):
        return {given}

class Search(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.model{said} = make()

    def forward(self, x):
        self.last = self.model(x){mark}
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("base", "called", "given", "said", "guilty"),
    [
        ("", "__call__", "len(x)", ": Space", False),
        ("", "__call__", "len(x)", "", True),
        ("(nn.Module)", "forward", "len(x)", ": Space", False),
    ],
)
def test_a_model_that_is_said_to_be_none(base: str, called: str, given: str, said: str, guilty: bool) -> None:
    mark = "  # TML108" * guilty
    check(SEARCH.format(base=base, called=called, given=given, said=said, mark=mark))
