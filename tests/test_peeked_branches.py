"""`tee` over what has tensors, by its class or by what is done to it, and a branch that was only looked at."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

FILTER = """
import itertools
from dataclasses import dataclass
from typing import Iterable

{row}

def centred(rows{hint}):
    {splits}
    {first}
    {loop}
        {gives}
"""
SPLITS = "rows, head = itertools.tee(rows)"
PLAIN = {"row": "@dataclass\nclass Row:\n    name: str\n    values: torch.Tensor", "hint": ": Iterable[Row]",
         "splits": SPLITS, "first": "start = next(head)", "loop": "for row in rows:",
         "gives": "yield row.name"}  # fmt: skip
LIGHT = {"row": "@dataclass\nclass Row:\n    name: str\n    size: int"}
UNTOLD = {"row": "", "hint": ""}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"row": "class Row(nn.Module):\n    values: torch.FloatTensor"},
        {"first": "starts = list(itertools.islice(head, 3))"},
        UNTOLD | {"gives": "yield F.normalize(row.values - start.values)"},
        UNTOLD | {"first": "mean = torch.mean(next(head).values)", "gives": "yield torch.relu(row.values) - mean"},
        UNTOLD | {"loop": "for name, x in rows:", "gives": "yield name, torch.relu(x)"},
        UNTOLD | {"loop": "for i, x in enumerate(rows):", "gives": "yield torch.stack([x, x])"},
        UNTOLD | {"gives": "yield row.cuda()"},
    ],
)
def test_stays_behind(change: dict[str, str]) -> None:
    check(FILTER.format(**PLAIN | change | {"splits": SPLITS + "  # TML308"}))


@pytest.mark.parametrize(
    "change",
    [
        LIGHT,
        UNTOLD,
        UNTOLD | {"hint": ": Iterable[str]"},
        UNTOLD | {"gives": "yield torch.zeros(row.size)"},
        UNTOLD | {"first": "net = nn.Linear(next(head).size, 2)"},
        UNTOLD | {"gives": "yield torch.add(row.shape, 1)"},
        {"first": "start = next(head)\n    del head"},
        {"first": "start = next(head)\n    head = None"},
        {"first": "next(head)", "loop": "for row, following in zip(rows, head):"},
        {"splits": "rows = iter(rows)", "first": "start = next(rows)",
         "loop": "for row in itertools.chain([start], rows):"},
    ],
)  # fmt: skip
def test_light_or_let_go(change: dict[str, str]) -> None:
    check_innocent(FILTER.format(**PLAIN | change))
