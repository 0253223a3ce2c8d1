"""Functions of other files for which a run has no time: what they would let go by their text is not said to stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

HANDLE = """
class Handle:
    def __init__(self):
        self.halves = dict()

    def forget(self):
        {forget}

HANDLE = Handle()

def half_of(weight):
    if weight not in HANDLE.halves:
        HANDLE.halves[weight] = weight.half()
    return HANDLE.halves[weight]

def finish():
    if HANDLE.halves is not None:
        print(len(HANDLE.halves))
    HANDLE.forget()
"""
SLOW = """
LOG = []

def tick(n):
    LOG.append(n)
    print(len(LOG))

def prepare(x):
{lines}
    return x
"""
ENTRY = """
import torch
from handle import finish, half_of
from slow import prepare, tick

def main(steps):
    weight = torch.nn.Parameter(torch.rand(64, 64))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for step in range(steps):
        x = prepare(torch.rand(4, 64))
        loss = (x @ half_of(weight * step).float()).square().mean(){mark}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
{calls}
        finish()

main(10)
"""


@pytest.mark.parametrize("long", [False, True])
def test_what_empties_a_table_after_the_time_is_over(
    long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SLOW.format(lines="\n".join(f"    LOG.append({n})" for n in range(300 if long else 1)))
    calls = "\n".join(f"        tick({n})" for n in range(16))
    for forget, mark in (("self.halves.clear()", ""), ("self.halves.keys()", "  # TML102")):
        check_project(
            {
                "handle.py": HANDLE.format(forget=forget),
                "slow.py": slow,
                "main.py": ENTRY.format(mark=mark, calls=calls if long else ""),
            },
            tmp_path,
            monkeypatch,
        )
