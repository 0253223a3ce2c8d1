"""What only the caller of another file's function shows: the call is named, unless that file says it by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import NORM, check_project

CACHE = """
import torch

LATENTS = {}

def remember(prompt, latent):
    LATENTS[prompt] = latent

@torch.inference_mode()
def serve(encoder, prompt):
    if prompt not in LATENTS:
        remember(prompt, encoder(torch.randn(32, 16)))
    return float(LATENTS[prompt].mean())
"""
JOBS = """
import torch

FRAMES = []
SUMS = set()

def process(index, mode):
    frame = torch.rand(3, 64, 64)
    if mode == "frames":
        FRAMES.append(frame)  # TML301
    else:
        SUMS.add(int(frame.sum()))
    return index
"""
SCAN = """
import multiprocessing
from functools import partial
import jobs

def scan(pool, count, mode):
    work = partial(jobs.process, mode=mode)
    for row in pool.imap_unordered(work, range(count)):{mark}
        print(row)

def main(steps):
    with multiprocessing.Pool(2) as pool:
        scan(pool, steps, {mode})
"""
_SCHEDULE = """
def forward(step, batch, store):
    loss, rest = step(batch)
    store.append(rest)
    return loss

def run(step, batches):
    store = []
    for batch in batches:
        forward(step, batch, store).backward()
    return store
"""
_SCORES = """
def score(outputs, labels):
    loss = -(outputs["log_probs"] * labels).mean()
    return loss, {"loss": loss.item()}
"""
_STEPS = """
from functools import partial
from torch import nn
from schedule import run
from scores import score

class Engine:
    def __init__(self):
        self.model = nn.Linear(8, 4)

    def step(self, batch, score):
        outputs = {"log_probs": self.model(batch["x"]).log_softmax(-1)}
        loss, numbers = score(outputs, batch["labels"])CUT
        return loss, {"outputs": outputs, "numbers": numbers}MARK

def main(batches):
    engine = Engine()
    rows = run(partial(engine.step, score=score), batches)
    print([row["numbers"] for row in rows])

if __name__ == "__main__":
    main(load())
"""

PROJECTS = {
    "a dictionary in what is returned to another file's loop, after it was handed to a third": {
        "schedule.py": _SCHEDULE,
        "scores.py": _SCORES,
        "fit.py": _STEPS.replace("CUT", "").replace("MARK", "  # TML102"),
    },
    "a dictionary of what has no graph any more": {
        "schedule.py": _SCHEDULE,
        "scores.py": _SCORES,
        "fit.py": _STEPS.replace("MARK", "").replace(
            "CUT", "\n        outputs = {name: one.detach() for name, one in outputs.items()}"
        ),
    },
    "a mode that a partial is made with": {
        "jobs.py": JOBS,
        "scan.py": SCAN.format(mark="  # TML401", mode='"frames"'),
    },
    "another mode": {"jobs.py": JOBS, "scan.py": SCAN.format(mark="", mode='"sums"')},
    "a mode that is read": {
        "jobs.py": JOBS,
        "scan.py": "import sys\n" + SCAN.format(mark="  # TML401", mode="sys.argv[1]"),
    },
    "a key that is new in each round of the caller's loop": {
        "cache.py": CACHE.replace("= latent", "= latent  # TML301"),
        "main.py": """
from torch import nn
from cache import serve

def main(steps):
    encoder = nn.Linear(16, 64).eval()
    return [serve(encoder, f"prompt {index}") for index in range(steps)]

if __name__ == "__main__":
    main(10)
""",
    },
    "few keys of a cache that anybody may ask": {
        "cache.py": CACHE.replace("= latent", "= latent  # TML301"),
        "main.py": """
from torch import nn
from cache import serve

def main(steps):
    encoder = nn.Linear(16, 64).eval()
    return [serve(encoder, "the prompt") for index in range(steps)]

if __name__ == "__main__":
    main(10)
""",
    },
    "a loop of the other file over what a script gives it": {
        "norm.py": NORM,
        "train.py": """
import torch
from norm import Net, fit

def main(steps):
    model = Net(8)
    fit(model, [torch.randn(4, 8) for _ in range(steps)], torch.optim.SGD(model.parameters(), lr=0.1))  # TML101

if __name__ == "__main__":
    main(10)
""",
    },
    "what the other file says by itself": {
        "norm.py": NORM.replace("0.1 * x.mean(dim=0)", "0.1 * x.mean(dim=0)  # TML101")
        + """
def demo(loader):
    model = Net(8)
    fit(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
""",
        "train.py": """
import torch
from norm import Net, fit

def main(steps):
    model = Net(8)
    fit(model, [torch.randn(4, 8) for _ in range(steps)], torch.optim.SGD(model.parameters(), lr=0.1))

if __name__ == "__main__":
    main(10)
""",
    },
    "a part of a model of another file": {
        "models.py": """
from torch import nn

class Enhancer(nn.Module):
    def __init__(self, bins, width):
        super().__init__()
        self.gru = nn.GRU(bins, width)
        self.mask = nn.Linear(width, bins)

    def forward(self, spectrum, hidden=None):
        features, hidden = self.gru(spectrum, hidden)
        return spectrum * self.mask(features).sigmoid(), hidden
""",
        "adapt.py": """
import torch
from models import Enhancer

def adapt(chunks):
    model = Enhancer(32, 40)
    optimizer = torch.optim.SGD(model.mask.parameters(), lr=0.1)
    hidden = None
    for chunk in chunks:
        features, hidden = model.gru(chunk, hidden)  # TML105
        loss = model.mask(features.detach()).sigmoid().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def adapt_each(chunks):
    model = Enhancer(32, 40)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for chunk in chunks:
        features, hidden = model.gru(chunk, None)
        loss = model.mask(features).sigmoid().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    },
    "models of another file that give no graph, and one that only is given none": {
        "vocoders.py": """
import torch
from torch import nn

class Vocoder(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(bins, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x).detach().squeeze()

class Detector(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.net = nn.Linear(bins, 9)

    def forward(self, x):
        if self.training:
            raise NotImplementedError("for inference only")
        return self.infer(x)

    @torch.no_grad()
    def infer(self, x):
        return self.net(x)

class Tuned(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.net = nn.Linear(bins, 1)

    def forward(self, x):
        x = x.detach()
        return self.net(x)
""",
        "speak.py": """
import torch
from vocoders import Detector, Tuned, Vocoder

def speak(spectra):
    vocoder = Vocoder(80).eval()
    waves = []
    for spectrum in spectra:
        waves.append(vocoder(spectrum))
    print(torch.stack(waves).mean().item())

def find(spectra):
    detector = Detector(80).eval()
    found = []
    for spectrum in spectra:
        found.append(detector(spectrum))
    print(torch.stack(found).mean().item())

def speak_tuned(spectra):
    vocoder = Tuned(80).eval()
    waves = []
    for spectrum in spectra:
        waves.append(vocoder(spectrum))  # TML102
    print(torch.stack(waves).mean().item())
""",
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
