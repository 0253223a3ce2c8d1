"""What is said of a file does not go, or come, only because the files that it imports are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project, marked, write

from torchmemlint.config import load
from torchmemlint.linter import engine, pool


def unsure(names: list[str], folder: Path) -> list[tuple[str, int, str]]:
    """All that is reported, also with low confidence: nobody is seen to train here."""
    plan = engine.plan(load(folder, {"no-cache": True, "min-confidence": "low"}, isolated=True))
    return [(found.filename, found.start.row, found.code) for found in pool.lint_files(names, plan, 1)]


# More of another file than the run of a short script has time for.
_LONG = "\n".join(f"    seen.append(float(scale) * {number})" for number in range(160))
REDUCE = f"""
import torch

class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, name):
        return value / 2

    @staticmethod
    def backward(ctx, grad):
        return grad / 2, None

def broadcast(weights, scale=1.0):
    seen = []
{_LONG}
    for weight in weights:
        weight.detach().mul_(scale)
    return seen

def allreduce(value, name):
    packed, kind = value.contiguous(), None
    if kind is None:
        kind = packed.dtype
    if name is None:
        name = "noname"
    packed = packed.view(-1)
    summed = Sum.apply(packed, name)
    if kind != summed.dtype:
        summed = summed.to(kind)
    return summed

def count_ranks(value, name):
    total = len(name)
    if total > 3:
        total = 3
    if total < 1:
        total = 1
    if name is None:
        total = 0
    if value is None:
        total = 0
    return total
"""
AVERAGES = """
import torch
import torch.nn.functional as F
from torch import nn
import reduce

class Average:
    def __init__(self, name):
        self.name, self.sum, self.count = name, torch.tensor(0.0), 0

    def update(self, value):
        self.sum += reduce.{asked}(value.cpu(), self.name){mark}
        self.count += 1

def train(loader):
    model = nn.Linear(8, 2)
    reduce.broadcast(model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of = Average("loss")
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss_of.update(loss)
    return loss_of
"""


@pytest.mark.parametrize(("asked", "mark"), [("allreduce", "  # TML101"), ("count_ranks", "")])
def test_what_there_is_no_time_for_is_judged_by_its_name(
    asked: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"reduce.py": REDUCE, "train.py": AVERAGES.format(asked=asked, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


CHECKS = """
import torch
from torch import nn

def probe(batches):
    net = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
"""
SHARPNESS = """
import torch
from torch import nn
from checks import probe

def fit(batches):
    net = nn.Linear(8, 2)
    rate = torch.tensor(0.1)
    for x in batches:
        loss = net(x).abs().mean()
        loss.backward(create_graph=True){mark}
        {then}
    return rate

if __name__ == "__main__":
    probe(torch.randn(4, 8, 8))
"""


@pytest.mark.parametrize(("mark", "then"), [("  # TML104", "rate = rate + 1"), ("", "net.zero_grad(set_to_none=True)")])
def test_gradients_that_another_program_resets(
    mark: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"checks.py": CHECKS, "sharpness.py": SHARPNESS.format(mark=mark, then=then)}
    check_project(files, tmp_path, monkeypatch)


SERVER = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Crops(Dataset):
    def __init__(self, paths):
        self.paths, self.crops = paths, {{}}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if index not in self.crops:
            self.crops[index] = torch.load(self.paths[index]){kept}
        return self.crops[index]

class Scores:
    def __init__(self):
        self.model = nn.Linear(8, 2).eval()

    def of(self, crop):
        return self.model(crop).argmax(1).tolist(){run}

def main(paths=("a.pt", "b.pt")):
    scores = Scores()
    for crop in DataLoader(Crops(paths), num_workers=4):
        print(scores.of(crop))
"""
START = """
from server import main

if __name__ == "__main__":
    main()
"""
STARTS = """
import server

server.main(paths=("c.pt", "d.pt"))
"""


@pytest.mark.parametrize("script", [START, STARTS])
def test_a_script_that_only_starts_what_is_elsewhere(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"server.py": SERVER.format(kept="  # TML404", run="  # TML201"), "start.py": script}
    check_project(files, tmp_path, monkeypatch)


BASE = """
import torch
from torch import nn

class Mixing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return (self.query(x) @ self.key(x).transpose(-1, -2)).softmax(dim=-1) @ x

    def {method}(self, x):
        with torch.no_grad():
            {run}
"""
MASKED = """
from base import Mixing

class Masked(Mixing):
    def forward(self, x):
        weights = (self.query(x) @ self.key(x).transpose(-1, -2)).tril().softmax(dim=-1)
        self.last_map = weights{mark}
        return weights @ x
"""


@pytest.mark.parametrize(
    ("method", "run", "mark"),
    [
        ("weights", "self.forward(x)", "  # TML108"),
        ("__call__", "return self.forward(x)", ""),  # nobody comes to the pass without it
    ],
)
def test_a_pass_that_the_base_runs_without_gradients_as_well(
    method: str, run: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"base.py": BASE.format(method=method, run=run), "masked.py": MASKED.format(mark=mark)}
    names = write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert unsure(names, tmp_path) == marked(files)


ATTENTION = """
import torch
from torch import nn

class Attentive(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)

    def {inner}(self, x):
        weights = (self.query(x) @ self.key(x).transpose(-1, -2)).softmax(dim=-1)
        self.last_map = weights{mark}
        return weights @ x

    def show(self, x):
        self.eval()
        with torch.no_grad():
            self.{inner}(x)
        self.train()
        return self.last_map.cpu().numpy()
"""


@pytest.mark.parametrize(
    ("inner", "mark"),
    [("forward", "  # TML108"), ("_weigh", "")],  # the latter nobody else calls
)
def test_a_pass_that_a_method_runs_without_gradients_as_well(
    inner: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"attentive.py": ATTENTION.format(inner=inner, mark=mark)}
    names = write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert unsure(names, tmp_path) == marked(files)


BANK = """
import torch
from lightning import LightningModule
from neighbours import gathered, nearest
from torch import nn

class Monitor(LightningModule):
    def __init__(self, loader):
        super().__init__()
        self.backbone, self.loader, self.bank = nn.Linear(8, 8), loader, None
        self.labels = []

    def on_validation_epoch_start(self):
        features = []
        with torch.no_grad():
            for images, _ in self.loader:
                images = images.to(self.device)
                features.append(self.backbone(images).squeeze()){mark}
        self.bank = torch.cat(features)

    def validation_step(self, batch, index):
        found = self.backbone(batch[0])
        labels = {labels}
        labels = torch.cat(gathered(labels))
        self.labels.append(labels.cpu())

    def on_validation_epoch_end(self):
        self.labels.clear()
"""


@pytest.mark.parametrize(("labels", "mark"), [("nearest(found, self.bank)", ""), ("gathered(self.bank)", "  # TML310")])
def test_results_that_code_which_is_not_there_computes_with(
    labels: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project({"monitor.py": BANK.format(labels=labels, mark=mark)}, tmp_path, monkeypatch)
