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
PROJECTS = {
    "a key that is new in each round of the caller's loop": {
        "cache.py": CACHE,
        "main.py": """
from torch import nn
from cache import serve

def main(steps):
    encoder = nn.Linear(16, 64).eval()
    return [serve(encoder, f"prompt {index}") for index in range(steps)]  # TML301

if __name__ == "__main__":
    main(10)
""",
    },
    "few keys": {
        "cache.py": CACHE,
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
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
