"""What is found in a file alone is found as well where the rest of its project is seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

PIPELINE = """
import torch
from torch import nn
from .base import DiffusionPipeline

class Painter(DiffusionPipeline):
    def __init__(self, unet: nn.Module, scheduler):
        self.unet = unet
        self.scheduler = scheduler

    {guard}
    def __call__(self, steps):
        latents = torch.randn(1, 4, 64, 64)
        for t in range(steps):
            noise = self.unet(latents, t){mark}
            latents = self.scheduler.step(noise, t, latents)
        return latents
"""
BASE = """
class DiffusionPipeline:
    def progress_bar(self, total):
        return range(total)
"""


@pytest.mark.parametrize(("guard", "mark"), [("", "  # TML201"), ("@torch.no_grad()", "")])
def test_a_pipeline_whose_base_is_in_the_project(
    guard: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"art/__init__.py": "", "art/base.py": BASE, "art/painter.py": PIPELINE.format(guard=guard, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


LINEAR = """
from torch import nn

class LateLinear(nn.Module):
    def __init__(self, fit):
        super().__init__()
        self.linear = None
        self.frozen = None
        self.fit = fit

    def build(self, inputs: int, outputs: int, names=None):
        self.linear = nn.Linear(inputs, outputs)
        if names is not None:
            self.linear.names = names

    def forward(self, x):
        assert self.linear is not None
        return self.linear(x)
"""
EVALUATE = """
from late import LateLinear

def evaluate(loader, model: LateLinear):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += ({model}(x) - y).abs().sum(0){mark}
    return total
"""


@pytest.mark.parametrize(("model", "mark"), [("model", "  # TML101"), ("model.frozen", "")])
def test_a_layer_that_the_constructor_leaves_to_another_method(
    model: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"late.py": LINEAR, "evaluate.py": EVALUATE.format(model=model, mark=mark)}
    check_project(files, tmp_path, monkeypatch)


EMBED = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))

    def embed(self, dataset{given}):
        {loader}
        codes = []
        for x in loader:
            codes.append(self.encoder(x).cpu())  # MARK
        return torch.cat(codes)
"""


def test_a_module_goes_through_a_loader_of_its_own() -> None:
    """Who is given the loader may have turned gradients off; who makes it is what users call."""
    text = EMBED.format(given="", loader="loader = DataLoader(dataset, batch_size=4)")
    check(text.replace("MARK", "TML201"))
    check_innocent(EMBED.format(given=", loader", loader="shift = 0"))


def test_a_module_that_trains_itself_goes_through_a_loader() -> None:
    text = EMBED.format(given="", loader="loader = DataLoader(dataset, batch_size=4)")
    check_innocent(text.replace("codes.append(self.encoder(x).cpu())", "self.encoder(x).sum().backward()"))
