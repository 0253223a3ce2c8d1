"""Scripts of a project that turn gradients off by a statement, for what other files of it run; each beside one that
leaves them on."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_TRACKER = """
import torch

class {name}:
    def __init__(self, net: torch.nn.Module, clip):
        self.net, self.clip = net, clip
        self.seen = None

    def follow(self, mask, first):
        for number in range(first, len(self.clip)):
            mask = self.net(self.clip[number])
            if self.seen is None:
                self.seen = mask
            else:
                self.seen = torch.cat([self.seen, mask], 0){mark}
        return mask.argmax()
"""
_SCRIPT = """
import torch
from {module} import Tracker
from nets import Net

{before}
net = Net().eval()

for clip in read_clips():
    tracker = Tracker(net, clip)
    {around}
        tracker.follow(clip.mask, 0)
"""
_NETS = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.last(self.first(x).relu())
"""
_OFF = "torch.autograd.set_grad_enabled(False)"

SCRIPTS = {
    "off for the whole script": (_OFF, "if clip.masked:", ""),
    "off as long as it goes on": ("before = torch.set_grad_enabled(False)", "with torch.autocast('cuda'):", ""),
    "on again": (_OFF + "\nprepare()\ntorch.set_grad_enabled(True)", "if clip.masked:", "  # TML101"),
    "on for the call": (_OFF, "with torch.enable_grad():", "  # TML101"),
    "for those only that ask for it": ("if quick:\n    " + _OFF, "if clip.masked:", "  # TML101"),
    "nothing said": ("", "if clip.masked:", "  # TML101"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_says_before(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, around, mark = SCRIPTS[name]
    files = {
        "nets.py": _NETS,
        "tracking.py": _TRACKER.format(name="Tracker", mark=mark),
        "score.py": _SCRIPT.format(module="tracking", before=before, around=around),
    }
    check_project(files, tmp_path, monkeypatch)


@pytest.mark.parametrize("said", [_OFF, ""])
def test_methods_that_another_class_has_as_well(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = "" if said else "  # TML101"
    files = {
        "nets.py": _NETS,
        "tracking.py": _TRACKER.format(name="Tracker", mark=""),
        "tracking_all.py": _TRACKER.format(name="Tracker", mark=on),
        "score.py": _SCRIPT.format(module="tracking", before=_OFF, around="if clip.masked:"),
        "score_all.py": _SCRIPT.format(module="tracking_all", before=said, around="if clip.masked:"),
    }
    check_project(files, tmp_path, monkeypatch)


_MEASURES = """
import torch

def nearness(first, second, model: torch.nn.Module):
    model.eval()
    return model(torch.from_numpy(first)).sub(torch.from_numpy(second)).mean().item(){mark}
"""
_RENDERING = """
import torch
from measures import *

{guard}
def evaluation(views, model):
    return [nearness(view.picture, view.truth, model) for view in views]
"""


@pytest.mark.parametrize("guard", ["@torch.no_grad()", "# to be timed"])
def test_what_a_star_import_takes_along(guard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = "" if "@" in guard else "  # TML201"
    files = {
        "extra/measures.py": _MEASURES.format(mark="  # TML201"),
        "measures.py": _MEASURES.format(mark=mark),
        "rendering.py": _RENDERING.format(guard=guard),
    }
    check_project(files, tmp_path, monkeypatch)


_LOOP = """
import torch

class Evaluation:
    def __init__(self, module: torch.nn.Module):
        self.module = module
        self.outputs = []

    def setup(self):
        self.outputs = []

    def step_through(self, loader):
        self.setup()
        for index, batch in enumerate(loader):
            self.take_output(self.module(batch), batch, index)
        return self.on_evaluation_end()

    def take_output(self, output, batch, index):
        self.outputs.append(output)  # TML107

    def on_evaluation_end(self):
        return self.module.validation_epoch_end(self.outputs)
"""
_TRAINER = """
import torch
from evaluation import Evaluation

class Trainer:
    def validate(self, module, loader):
        {before}
        loop = self.loop = Evaluation(module)
        return loop.step_through(loader)
"""


@pytest.mark.parametrize("before", ["torch.set_grad_enabled(False)", "module.eval()"])
def test_outputs_are_kept_without_gradients_too(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"evaluation.py": _LOOP, "trainer.py": _TRAINER.format(before=before)}
    check_project(files, tmp_path, monkeypatch)
