"""Hooks of a trainer that are in files of their own: what a `main` leads to, and what each file says by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

HOOKS = """
class Recorder:
    def __init__(self):
        self.seen = []

    def after_step(self, runner):
        self.seen.append(runner.out["loss"]{taken})
"""
RUNNER = """
import torch

class Runner:
    def __init__(self, model, optimizer, loader):
        self.model, self.optimizer, self.loader = model, optimizer, loader
        self.hooks, self.out = [], None

    def tell(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def train(self):
        for x, y in self.loader:
            self.out = {"loss": torch.nn.functional.cross_entropy(self.model(x), y)}
            self.optimizer.zero_grad()
            self.out["loss"].backward()
            self.optimizer.step()
            self.tell("after_step")
"""
MAIN = """
import torch
from hooks import Recorder
from runner import Runner

def main(loader):
    model = torch.nn.Linear(8, 3)
    runner = Runner(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)
    runner.hooks.append(Recorder())
    runner.train(){mark}
"""


@pytest.mark.parametrize(("taken", "mark"), [("", "  # TML102"), (".item()", "")])
def test_a_hook_that_collects(taken: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"hooks.py": HOOKS.format(taken=taken), "runner.py": RUNNER, "main.py": MAIN.format(mark=mark)}
    check_project(files, tmp_path, monkeypatch)


CODES = """
import torch
from torch import nn

class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(64, 16))
        self.register_buffer("usage", torch.zeros(64))

    def forward(self, z):
        soft = (-torch.cdist(z, self.table)).softmax(-1).mean(0)
        self.usage = 0.99 * self.usage + 0.01 * soft  # TML101
        return z + soft.sum()
"""
TRAIN = """
import torch
from torch import nn
from coding import Codes

class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.codes = nn.Linear(64, 16), Codes()

    def forward(self, x):
        return self.codes(self.encode(x))

def main(loader):
    model = Coder()
    optimizer = torch.optim.Adam(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
"""


def test_a_state_that_its_own_file_speaks_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"coding.py": CODES, "train.py": TRAIN}, tmp_path, monkeypatch)


EXTRACTOR = """
class Extractor:
    def __init__(self, model):
        self.model, self.handles, self.map = model, [], None

    def {method}(self):
        for handle in self.handles:
            handle.{does}()
        self.handles.clear()
"""
INPUTS = """
from base import Extractor

class OfInputs(Extractor):
    def __init__(self, model):
        super().__init__(model)
        self.handles.append(model.register_forward_pre_hook(self.keep)){mark}

    def keep(self, module, inputs):
        self.map = inputs[0].detach().clone()
"""


@pytest.mark.parametrize(("method", "does", "mark"), [("close", "remove", ""), ("show", "describe", "  # TML304")])
def test_a_base_of_another_file_takes_the_hooks_out(
    method: str, does: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"base.py": EXTRACTOR.format(method=method, does=does), "inputs.py": INPUTS.format(mark=mark)}
    check_project(files, tmp_path, monkeypatch)
