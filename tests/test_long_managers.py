"""Context managers of other files that are too long to be run to their `yield`."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_MANAGER = """
from contextlib import contextmanager

class Manager:
    @contextmanager
    def step(self, optimizer):
        optimizer.zero_grad()
{statements}
        yield self
        optimizer.step()
"""
_TRAIN = """
import torch
from manager import Manager

def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    manager, total = Manager(), 0.0
    for x, y in loader:
        with manager.step(optimizer):
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            total += loss  # TML101
    return total
"""


@pytest.mark.parametrize("length", [3, 300])
def test_the_block_runs_all_the_same(length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = "\n".join(f"        self.value_{number} = [{number}]" for number in range(length))
    check_project({"manager.py": _MANAGER.format(statements=statements), "train.py": _TRAIN}, tmp_path, monkeypatch)
