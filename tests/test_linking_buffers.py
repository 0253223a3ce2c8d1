"""Buffers of another file's object, which a long constructor makes and a method fills in place."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

STORAGE = """
import torch

class Storage:
    def __init__(self, rows, width):
        self.rows = rows
        self.inputs = torch.zeros(rows, width)
        self.actions = torch.zeros(rows)
        self.rewards = torch.zeros(rows)
        self.values = torch.zeros(rows)
        self.hidden = torch.zeros(rows, 16)
        self.cells = torch.zeros(rows, 16)
        self.at = 0
        self.full = False

    def store(self, inputs, rewards, state):
        place = (torch.arange(len(inputs)) + self.at) % self.rows
        self.inputs[place] = inputs
        self.rewards[place] = rewards
        self.hidden[place] = state[0]
        self.cells[place] = state[1]
        self.at = (self.at + len(inputs)) % self.rows
        self.full = self.full or self.at == 0

    def sample(self, count):
        place = torch.randint(0, self.rows, (count,))
        return self.inputs[place], self.rewards[place]
"""
ROLLOUT = """
import torch
from storage import Storage
from torch import nn

class Fit:
    def __init__(self):
        self.cell, self.head = nn.LSTMCell(8, 16), nn.Linear(16, 1)
        self.storage = Storage(64, 8)
        self.optimizer = torch.optim.Adam([*self.cell.parameters(), *self.head.parameters()])
        self.state = None

    def rollout(self):
        for _ in range(4):
            x = torch.rand(4, 8)
            state = self.cell(x, self.state)
            {given}
            self.state = tuple(part.detach() for part in state)

    def train(self):
        x, rewards = self.storage.sample(16)
        loss = (self.head(self.cell(x)[0]) - rewards).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

def main(steps):
    fit = Fit()
    for _ in range(steps):
        fit.rollout()
        fit.train()

main(10)
"""


@pytest.mark.parametrize(
    "given",
    [
        "self.storage.store(x, x.sum(1), state)  # TML101",
        "self.storage.store(x, x.sum(1), tuple(part.detach() for part in state))",
        "self.storage.store(x, x.sum(1), (x.repeat(1, 2), x.repeat(1, 2)))",
    ],
)
def test_states_that_go_to_a_storage(tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"storage.py": STORAGE, "rollout.py": ROLLOUT.format(given=given)}, tmp_path, monkeypatch)
