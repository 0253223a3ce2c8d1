"""Modules of other files that are given parts of this one, and states that other files hand back."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project, lint, write

_STATS = """
from collections import defaultdict

_seen = defaultdict(list)

def note(name, value):
    _seen[name].append(value)
"""
_WHOLE = """
from torch import nn

class Tagger(nn.Module):
    def __init__(self, encoder, width):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.encoder(x))
"""
_FIT = """
import torch.nn.functional as F

def fit(model, batches, optimizer):
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
_MAIN = """
import torch
from torch import nn

import stats
from fit import fit
from whole import Tagger

class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scores = nn.Linear(width, width)

    def forward(self, x):
        gate = self.scores(x).sigmoid()
        {note}
        return x * gate

def main(batches):
    model = Tagger({encoder}, 8)
    fit(model, batches, torch.optim.SGD(model.parameters(), lr=0.1))

if __name__ == "__main__":
    main(torch.utils.data.DataLoader([]))
"""
_ENCODERS = ["Gate(8)", "nn.Sequential(nn.Linear(8, 8), Gate(8))", "nn.ModuleList([Gate(8)])[0]"]


def _whole(encoder: str, note: str) -> dict[str, str]:
    main = _MAIN.format(encoder=encoder, note=note)
    return {"stats.py": _STATS, "whole.py": _WHOLE, "fit.py": _FIT, "main.py": main}


@pytest.mark.parametrize("encoder", _ENCODERS)
def test_a_part_that_keeps_something_elsewhere(encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(_whole(encoder, 'stats.note("gate", gate)  # TML102'), tmp_path, monkeypatch)


def test_a_main_that_something_else_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = _whole(_ENCODERS[0], 'stats.note("gate", gate)  # TML102')
    files["main.py"] = files["main.py"].partition("if __name__")[0]
    check_project(files, tmp_path, monkeypatch)


@pytest.mark.parametrize("encoder", _ENCODERS)
@pytest.mark.parametrize("note", ['stats.note("gate", gate.mean().item())', "gate = gate * 2"])
def test_a_part_that_keeps_nothing(encoder: str, note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(_whole(encoder, note), tmp_path, monkeypatch)


_STATE = """
from dataclasses import dataclass, field, replace
from typing import Any

@dataclass(frozen=True)
class Sums:
    count: int = 0
    total: Any = 0.0

    def plus(self, value):
        return replace(self, count=self.count + 1, total=self.total + value)

@dataclass
class State:
    step: int = 0
    sums: Sums = field(default_factory=Sums)
"""
_LOOP = """
from dataclasses import replace

from state import Sums

def epoch(state, batches, step):
    state = replace(state, sums=Sums())
    for batch in batches:
        state = step(state, batch)
    print(state.step, float(state.sums.total))
    return state
"""
_STEP = """
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import nn

from loop import epoch
from state import State

model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def step(state, batch):
    x, y = batch
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {sums}
    return replace(state, step=state.step + 1, sums=sums)

def main(batches):
    epoch(State(), batches, step)

if __name__ == "__main__":
    main(torch.utils.data.DataLoader([]))
"""


@pytest.mark.parametrize(
    "sums",
    [
        "sums = state.sums.plus(loss)  # TML105",
        "sums = state.sums.plus(loss.item())",
        "sums = state.sums.plus(loss.detach())",
        "sums = replace(state.sums, total=float(loss))",
    ],
)
def test_a_state_in_a_state(sums: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"state.py": _STATE, "loop.py": _LOOP, "main.py": _STEP.format(sums=sums)}
    check_project(files, tmp_path, monkeypatch)


_NET = """
import torch
import torch.nn.functional as F
from torch import nn


class Vocoder(nn.Module):
    def __init__(self, kernels, rates):
        super().__init__()
        self.num_kernels, self.num_ups = len(kernels), len(rates)
        self.pre, self.post = nn.Conv1d(8, 8, 3), nn.Conv1d(8, 1, 3)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(8, 8, r) for r in rates])
        self.blocks = nn.ModuleList([nn.Conv1d(8, 8, k) for k in kernels for _ in rates])

    def forward(self, x):
        return self.post(x)

    def infer_now(self, x, length=None):
        out_length = x.shape[2] * 4
        x = self.pre(x)
        for i in range(self.num_ups):
            if self.now:
                x = x[:, :, -3:]
            x = self.ups[i](F.leaky_relu(x, 0.1))
            total = None
            for j in range(self.num_kernels):
                if total is None:
                    total = self.blocks[i * self.num_kernels + j](x)
                else:
                    total += self.blocks[i * self.num_kernels + j](x)
            x = total / self.num_kernels
        x = torch.tanh(self.post(x))
        out = torch.zeros([x.shape[0], 1, out_length])
        out[:, :, -x.shape[2]:] = x[:, :, -out.shape[2]:]
        return out


class Voice(nn.Module):
    def __init__(self, kernels, rates):
        super().__init__()
        self.dec = Vocoder(kernels, rates)
        self.emb = nn.Embedding(4, 8)

    def forward(self, x):
        return self.dec(x)

    def infer(self, x, ids, length=None):
        g = self.emb(ids)
        return self.dec.infer_now((x * g)[:, :, :3], length), g
"""
_SPEAKER = """
import torch
from net import Voice


class Runner:
    def load(self, file):
        cpt = torch.load(file, map_location="cpu")
        model = Voice(*cpt["config"])
        model.eval()
        model.load_state_dict(cpt["weight"])
        self.model = model
        return self

    def infer(self, x: torch.Tensor, ids: torch.Tensor, length: int) -> torch.Tensor:
        found = self.model.infer(x, ids, length)
        return found[0][0, 0]
"""


def test_what_a_function_of_another_file_computes_of_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project({"net.py": _NET, "speaker.py": _SPEAKER}, tmp_path, monkeypatch)


_RATES = (
    "def fill(cfg):\n"
    + "    cfg.setdefault('rate', 1)\n    cfg['total'] = cfg['total'] + 1\n" * 120
    + "    return cfg\n"
)
_VOICE = """
from torch import nn
from rates import fill

class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layer, self.observer = nn.Linear(cfg["width"], 8), None

    def forward(self, x):
        return self.observer(self.layer(x)) if self.observer else self.layer(x)

class Voice(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = Net(fill(cfg))

    def forward(self, x, short=False):
        x = x.long()
        if short:
            x = x[:, 1:]
        if x.dim() == 1:
            x = x.unsqueeze(0)
        if x.size(0) > 8:
            x = x[:8]
        if x.size(1) > 8:
            x = x[:, :8]
        return {given}
"""
_SPEAK = """
import torch
from voice import Voice

def main(cfg, codes):
    voice, sounds = Voice(cfg).eval(), []
    for code in codes:
        sounds.append(voice(torch.tensor(code)))
    return torch.stack(sounds)

if __name__ == "__main__":
    main({"width": 8}, [[1], [2]])
"""


@pytest.mark.parametrize(
    ("given", "guilty"),
    [
        ("self.net(x).detach().squeeze()", False),
        ("(self.net(x).detach(), self.net(x).mean().item())", False),
        ("self.net(x).squeeze()", True),
        ("self.net(x.detach())", True),
        ("(self.net(x), x.detach())", True),
    ],
)
def test_passes_that_there_is_no_time_for(
    given: str, guilty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the constructor runs has used up the steps of other files: then the pass is judged by its `return`."""
    files = {"rates.py": _RATES, "voice.py": _VOICE.format(given=given), "speak.py": _SPEAK}
    names = write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    wanted = [("speak.py", 8, code) for code in ("TML102", "TML201") if guilty]
    assert lint(tmp_path, names) == wanted
