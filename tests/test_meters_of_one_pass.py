"""Objects of a file's class that others make for one pass over a loader."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

METER = """
import torch

class Meter:
    def __init__(self):
        self.scores = []

    def update(self, scores: torch.Tensor):
        self.scores.append(scores.detach().cpu()){mark}

    def mean(self):
        return torch.cat(self.scores).mean().item()
"""
SCRIPT = """
import torch
import torch.nn.functional as F
from torch import nn
from meters import Meter

def epoch(model, loader, optimizer):
    {made}
    for {item} in {over}:
        {again}
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            {backward}
            meter.update(loss.reshape(1))
    {end}
"""
PASS = ["meter = Meter()", "x, y", "loader", "if True:", "loss.backward()", "print(meter.mean())"]


def _but(**changes: str) -> dict[str, str]:
    return dict(zip(("made", "item", "over", "again", "backward", "end"), PASS, strict=True)) | changes


@pytest.mark.parametrize(
    ("script", "marked"),
    [
        (_but(), False),
        (_but(backward="model.eval()"), False),
        (_but(backward="pass"), True),
        (_but(item="_", over="range(1000)", again="for x, y in loader:"), True),
        (_but(over="range(1000)", item="_", again="x, y = next(loader)\n        if True:"), True),
        (_but(made="meter = loader.meter = Meter()"), True),
        (_but(end="return meter"), True),
    ],
)
def test_a_meter_of_another_file(
    script: dict[str, str], marked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = METER.format(mark="  # TML303" if marked else "")
    check_project({"meters.py": meter, "script.py": SCRIPT.format(**script)}, tmp_path, monkeypatch)
