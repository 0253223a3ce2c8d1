"""What the hooks of a trainer in other files collect of what a step of this one has left on the trainer."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_HOOKS = """
class Hook:
    trainer = None

    def after_step(self):
        pass

class History(Hook):
    def __init__(self):
        self.values = []

    def after_step(self):
        self.values.append(self.trainer.losses)

class Printer(Hook):
    def after_step(self):
        print(len(self.trainer.losses))
"""
_ENGINE = """
from hooks import Hook

class Trainer:
    def __init__(self):
        self.hooks = []

    def register(self, hook: Hook):
        hook.trainer = self
        self.hooks.append(hook)

    def train(self, count):
        for _ in range(count):
            self.run_step()
            for hook in self.hooks:
                hook.after_step()

    def run_step(self):
        raise NotImplementedError
"""
_TRAIN = """
import torch
from engine import Trainer
from hooks import History, Printer

class SimpleTrainer(Trainer):
    def __init__(self, model, loader, optimizer):
        super().__init__()
        self.model, self.batches, self.optimizer = model, iter(loader), optimizer

    def run_step(self):
        losses = self.model(next(self.batches))
        total = sum(losses.values())
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        self.losses = losses  # TML102

def main(model, loader):
    trainer = SimpleTrainer(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
    trainer.register(History())
    trainer.train(1000)
"""

PROJECTS = {
    "a hook that collects": {"engine.py": _ENGINE, "hooks.py": _HOOKS, "train.py": _TRAIN},
    "a hook that looks": {
        "engine.py": _ENGINE,
        "hooks.py": _HOOKS,
        "train.py": _TRAIN.replace("register(History())", "register(Printer())").replace("  # TML102", ""),
    },
    "a hook that collects numbers": {
        "engine.py": _ENGINE,
        "hooks.py": _HOOKS,
        "train.py": _TRAIN.replace(
            "self.losses = losses  # TML102", "self.losses = {name: loss.item() for name, loss in losses.items()}"
        ),
    },
}


@pytest.mark.parametrize("name", list(PROJECTS))
def test_project(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
