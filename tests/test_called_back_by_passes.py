"""What passes of another file's modules hand to whoever has put something on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

ATTENTION = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.observer = None

    def forward(self, x):
        weights = (self.query(x) @ self.key(x).transpose(1, 2)).softmax(-1)
        if self.observer is not None:
            self.observer(weights)
        return weights @ x
"""
VIEWER = """
from attention import Attention

class Maps:
    def __init__(self, model):
        self.maps = []
        for part in model.modules():
            if isinstance(part, Attention):
                part.observer = self.save

    def save(self, weights):
        self.maps.append({kept})
        {end}
"""
SCRIPT = """
import torch
from torch import nn
from attention import Attention
from viewer import Maps

def main(loader):
    model = nn.Sequential(Attention(8), Attention(8))
    {made}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        loss = model(x).mean(){mark}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
MADE, MARK = "maps = Maps(model)", "  # TML102"


@pytest.mark.parametrize(
    ("kept", "end", "made", "mark"),
    [
        ("weights", "pass", MADE, MARK),
        ("weights[0]", "print(len(self.maps))", MADE, MARK),
        ("weights.mean().item()", "pass", MADE, ""),
        ("weights", "self.maps.clear()", MADE, ""),
        ("weights", "pass", "pass", ""),
    ],
)
def test_an_observer(
    kept: str, end: str, made: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = VIEWER.format(kept=kept, end=end)
    files = {"attention.py": ATTENTION, "viewer.py": viewer, "script.py": SCRIPT.format(made=made, mark=mark)}
    check_project(files, tmp_path, monkeypatch)
