"""What an object collects only if it is told to: where nobody in sight tells it to, whoever does may empty it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

MIXER = """
import torch
from torch import nn

class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.log, self.logging = nn.Linear(8, 4), [], False

    def enable(self):
        self.logging = True

    def forward(self, x):
        shares = self.gate(x).softmax(-1)
        if self.logging:
            self.log.append(shares{cut}){mark}
        return shares

    def get_log(self):
        return torch.stack(self.log)
"""
TRAIN = """
def main(steps):
    mixer = Mixer()
    {told}
    optimizer = torch.optim.SGD(mixer.parameters(), lr=0.1)
    for _ in range(steps):
        loss = mixer(torch.rand(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
CASES = [
    ("pass", ".detach().clone()", ""),
    ("pass", "", ""),
    ("mixer.logging = True", ".detach().clone()", "  # TML303"),
    ("mixer.enable()", "", "  # TML102"),
]


@pytest.mark.parametrize(("told", "cut", "mark"), CASES)
def test_a_log_that_is_off(told: str, cut: str, mark: str) -> None:
    check(MIXER.format(cut=cut, mark=mark) + TRAIN.format(told=told), prelude="")


@pytest.mark.parametrize(("told", "mark"), [("pass", ""), ("mixer.logging = True", "  # TML102")])
def test_another_file_turns_it_on(told: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = "import torch\nfrom mixer import Mixer\n" + TRAIN.format(told=told)
    train = train.replace(".pow(2).mean()", f".pow(2).mean(){mark}")
    check_project({"mixer.py": MIXER.format(cut="", mark=""), "train.py": train}, tmp_path, monkeypatch)
