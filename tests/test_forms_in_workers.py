"""What the tasks of a pool keep in their process: memos of other files, and caches of decorators."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

BANK = """
import torch

class Bank:
    def __init__(self, limit=None):
        self.limit = limit
        self.waves = {}

    def get(self, name):
        wave = self.waves.get(name)
        if wave is None:
            wave = torch.load(name)
            self.waves[name] = wave
            if self.limit is not None and len(self.waves) > self.limit:
                self.waves.pop(next(iter(self.waves)))
        return wave
"""
TASKS = """
from bank import Bank

ALL = Bank()
LATEST = Bank(limit=4)

def energy(name):
    return ALL.get(name).square().mean().item()

def energy_once(name):
    return LATEST.get(name).square().mean().item()
"""
TABLE = """
import multiprocessing
import tasks

def main(names):
    with multiprocessing.Pool(4) as pool:
        print(sum(pool.imap({task}, names))){mark}
"""


@pytest.mark.parametrize(("task", "mark"), [("tasks.energy", "  # TML401"), ("tasks.energy_once", "")])
def test_a_memo_of_another_file_has_a_limit_or_none(
    task: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLE.format(task=task, mark=mark)
    check_project({"bank.py": BANK, "tasks.py": TASKS, "table.py": table}, tmp_path, monkeypatch)
