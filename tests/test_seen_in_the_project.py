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


DRAW = """
import torch

{guard}
def draw(net, prior, x, count):
    assert not net.training, "in eval mode"
    found = []
    while len(found) < count:
        found.extend(net.sample(count, context=x))
    return torch.stack(found), len(found) / count
"""
POSTERIOR = """
import torch
import tools

class Posterior:
    def __init__(self, net, prior):
        self.net = net.eval()
        self.prior = prior
        self.rate = None

    def correction(self, x):
        def rate_at(x):
            return tools.draw(self.net, self.prior, x, 1000)[1]{mark}

        {mode}
            self.rate = rate_at(x)
        return self.rate

    def sample(self, x, count):
        with {off}:
            return tools.draw(self.net, self.prior, x, count)[0]
"""


@pytest.mark.parametrize(
    ("guard", "mode", "off", "mark"),
    [
        ("", "if self.rate is None:", "torch.no_grad()", "  # TML201"),
        ("", "if self.rate is None:", "self.lock", ""),
        ("", "with torch.no_grad():", "torch.no_grad()", ""),
        ("@torch.no_grad()", "if self.rate is None:", "torch.no_grad()", ""),
    ],
)
def test_a_helper_that_another_function_calls_without_gradients(
    guard: str, mode: str, off: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = POSTERIOR.format(mode=mode, off=off, mark=mark)
    check_project({"tools.py": DRAW.format(guard=guard), "posterior.py": text}, tmp_path, monkeypatch)
