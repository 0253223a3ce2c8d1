"""An object of the module that was given the model, or what has it, and keeps it when the global with the model lets go
of that for the memory."""

from __future__ import annotations

import pytest
from snippets import check

SAMPLED = """
import gc

model = None

class Noise:
    def __init__(self, owner=None):
        self.sampler, self.owner = None, owner

noise = Noise()

class Sampler:
    def __init__(self, model):
        self.model, self.seed = model, 0

    def sample(self, x):
        noise.sampler = {given}{kept}
        with torch.no_grad():
            return self.model(x)

def unload():
    global model
    model = None
    {also}
    gc.collect()
    torch.cuda.empty_cache()

def load(width):
    global model
    unload()
    model = nn.Linear(width, width).cuda()

def main(steps):
    for step in range(steps):
        load(64 + step)
        print(Sampler(model).sample(torch.rand(4, 64 + step).cuda()).mean().item())
"""
MARK = "  # TML301"


@pytest.mark.parametrize(
    ("given", "also", "kept"),
    [
        ("self", "pass", MARK),
        ("self.model", "pass", MARK),
        ("self.seed", "pass", ""),
        ("self", "noise.sampler = None", ""),
    ],
)
def test_what_an_object_of_the_module_was_given(given: str, also: str, kept: str) -> None:
    check(SAMPLED.format(given=given, also=also, kept=kept))


MADE_WITH_IT = """
import gc

model = nn.Linear(64, 64).cuda()

class Pipeline:
    def __init__(self, model):
        self.model = model

pipeline = Pipeline(model)

def unload():
    global model
    model = None{gone}
    gc.collect()
    torch.cuda.empty_cache()

def main():
    print(pipeline.model.weight.sum().item())
    unload()
"""


def test_what_it_was_made_with() -> None:
    check(MADE_WITH_IT.format(gone="  # TML604"))
