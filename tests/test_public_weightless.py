"""Metrics and estimators of another file that are modules without parameters: what they say of an output that has no
graph has none; beside those that have learned something, and those that are given an output with its graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_METRICS = """
from math import exp
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Variable

def window_of(size, channels):
    one = torch.Tensor([exp(-((x - size // 2) ** 2) / 4.5) for x in range(size)]).unsqueeze(1)
    return Variable(one.mm(one.t()).expand(channels, 1, size, size).contiguous())

class Similarity(nn.Module):
    def __init__(self, size=11, reduction="mean"):
        super().__init__()
        self.size, self.reduction = size, reduction
        self.window = window_of(size, 1)
        self.pool = nn.AvgPool2d(2)

    def forward(self, one, other):
        window = window_of(self.size, one.shape[1])
        return (F.conv2d(self.pool(one), window) - F.conv2d(self.pool(other), window)).abs().mean()

class Learned(Similarity):
    def __init__(self, size=11):
        super().__init__(size)
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())

    def forward(self, one, other):
        return super().forward(self.features(one), self.features(other))

class Weighted(Similarity):
    def forward(self, one, other):
        self.scale = nn.Linear(3, 1)
        return self.scale(one - other).mean()
"""
_EVALUATION = """
import torch
from metrics import Learned, Similarity, Weighted

def evaluate(model, loader):
    metric, scores = {metric}(), []
    model.eval()
    for x, y in loader:
        with {mode}:
            out = model(x)
        metric.eval()
        scores.append(metric(out, y)){mark}
    return torch.stack(scores).mean().item()
"""
_ON, _OFF, _MARK = "timed()", "torch.no_grad()", "  # TML102"


@pytest.mark.parametrize(
    ("metric", "mode", "mark"),
    [
        ("Similarity", _OFF, ""),
        ("Similarity", _ON, _MARK),
        ("Learned", _OFF, _MARK),
        ("Weighted", _OFF, _MARK),
    ],
)
def test_metrics(metric: str, mode: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use = _EVALUATION.format(metric=metric, mode=mode, mark=mark)
    check_project({"metrics.py": _METRICS, "evaluate.py": use}, tmp_path, monkeypatch)
