"""Functions that train or do not, as they are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

EPOCH = """
def run_epoch(model, loader, optimizer, training):
    total = 0.0
    {before}
    for x, y in loader:
        {around}
            loss = F.cross_entropy(model(x), y){mark}
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {end}
    return total

def main(loader, held_out):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        run_epoch(model, loader, optimizer, True)
        {call}
"""
CALL = "run_epoch(model, held_out, optimizer, False)"


@pytest.mark.parametrize(
    ("before", "around", "call", "marked"),
    [
        ("pass", "if True:", CALL, True),
        ("pass", "if True:", CALL.replace("False", "training=False"), True),
        ("model.train(training)", "if True:", CALL, True),
        ("pass", "if True:", "with torch.no_grad(): " + CALL, False),
        ("pass", "with torch.set_grad_enabled(training):", CALL, False),
        ("pass", "if True:", CALL.replace("False", "True"), False),
        ("pass", "if True:", CALL.replace("False", "torch.rand(1) > 0.5"), False),
    ],
)
def test_a_round_that_is_told_not_to_train(before: str, around: str, call: str, marked: bool) -> None:
    mark = "  # TML201" if marked else ""
    check(EPOCH.format(before=before, around=around, mark=mark, call=call, end="total += loss.item()"))


def test_what_the_caller_differentiates_itself() -> None:
    check_innocent(
        """
        def losses(model, x, y, backward=True):
            loss = F.cross_entropy(model(x), y)
            if backward:
                loss.backward()
            return loss

        def main(loader):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in loader:
                losses(model, x, y)
                loss = losses(model, x, y, backward=False)
                loss.backward()
                optimizer.step()
        """
    )


PHASES = """
class Trainer:
    def __init__(self, model, loaders):
        self.model, self.loaders = model, loaders
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run(self, phase):
        {mode}
        for x, y in self.loaders[phase]:
            with torch.{grad}:
                loss = F.cross_entropy(self.model(x.cuda()), y.cuda()){mark}
            if {test}:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(loss.item())

    def fit(self):
        for phase in ("train", "val"):
            self.run(phase)
"""
TOLD = 'training = phase == "train"; self.model.train(training)'


@pytest.mark.parametrize(
    ("mode", "test", "grad", "marked"),
    [
        ('self.model.train(phase == "train")', 'phase == "train"', "profiler.record_function(phase)", True),
        ('self.model.train(phase != "val")', 'phase != "val"', "profiler.record_function(phase)", True),
        (TOLD, "training", "profiler.record_function(phase)", True),
        (TOLD, "training", "set_grad_enabled(training)", False),
        (TOLD, "training", 'set_grad_enabled(phase == "train")', False),
        ('self.model.train(phase == "train")', "True", "profiler.record_function(phase)", False),
    ],
)
def test_the_phase_of_a_trainer(mode: str, test: str, grad: str, marked: bool) -> None:
    check(PHASES.format(mode=mode, test=test, grad=grad, mark="  # TML201" if marked else ""))


ENGINE = """
import torch.nn.functional as F

def run_epoch(model, loader, optimizer, training):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(loss.item())
"""
SCRIPT = """
import torch
from torch import nn
from engine import run_epoch

def main(loader, held_out):
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    run_epoch(model, loader, optimizer, True)
    with torch.{grad}:
        run_epoch(model, held_out, optimizer, {training}){mark}
"""


@pytest.mark.parametrize(
    ("grad", "training", "mark"),
    [
        ('profiler.record_function("held out")', "False", "  # TML201"),
        ('profiler.record_function("again")', "True", ""),
        ("no_grad()", "False", ""),
    ],
)
def test_the_rounds_of_another_file(
    grad: str, training: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"engine.py": ENGINE, "script.py": SCRIPT.format(grad=grad, training=training, mark=mark)}
    check_project(files, tmp_path, monkeypatch)
