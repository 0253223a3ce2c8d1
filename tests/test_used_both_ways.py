"""Methods for inference that somebody goes back through all the same, and models under names of their own."""

from __future__ import annotations

import pytest
from snippets import check

ASKED = """
class Strategy:
    def __init__(self, kernel: nn.Module, x: torch.Tensor):
        self.kernel, self.x = kernel, x

    def predict(self, x):
        return self.kernel(x) @ self.x{mark}

def acquisition(strategy, candidates):
    return -(strategy.predict(candidates) - 0.5).pow(2).sum()

def search(steps):
    strategy = Strategy(nn.Linear(8, 8), torch.randn(8))
    for _ in range(steps):
        candidates = torch.rand(4, 8, requires_grad=True)
        {step}
        print(acquisition(strategy, candidates.detach()).item())
"""


@pytest.mark.parametrize(
    ("step", "mark"),
    [
        ("step, = torch.autograd.grad(acquisition(strategy, candidates), candidates)", ""),
        ("acquisition(strategy, candidates).backward()", ""),
        ("pass", "  # TML201"),
    ],
)
def test_inference_that_is_gone_back_through(step: str, mark: str) -> None:
    """`no_grad` in the method would break the other call."""
    check(ASKED.format(step=step, mark=mark))


TILED = """
class Decoding:
    def __init__(self, {param}):
        self.{name} = {value}

    def in_tiles(self, latents):
        return torch.cat([self.{name}(part) for part in latents.split(1)])

    @torch.no_grad()
    def decode(self, latents):
        try:
            return self.{name}(latents)
        except torch.cuda.OutOfMemoryError:
            print("decoding in tiles")
            return self.in_tiles(latents){mark}
"""
MARK = "  # TML307"


@pytest.mark.parametrize(
    ("param", "name", "value", "mark"),
    [
        ("model", "first_stage_model", "model.eval()", MARK),
        ("stage: nn.Module", "stage", "stage", MARK),
        ("stage: nn.Module", "last", "stage.eval()", MARK),
        ("stage", "stage", "nn.Linear(8, 8).eval()", MARK),
        ("read", "read_model", "read", ""),  # who knows
        ("stage: str", "stage", "stage", ""),
    ],
)
def test_models_that_are_tried_again_another_way(param: str, name: str, value: str, mark: str) -> None:
    check(TILED.format(param=param, name=name, value=value, mark=mark))
