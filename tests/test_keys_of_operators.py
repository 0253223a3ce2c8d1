"""Tables in the workers of a pool, by a key that belongs to the object which is called for each task."""

from __future__ import annotations

import pytest
from snippets import codes

OPERATOR = """
import multiprocessing as mp
from functools import partial
MODELS = {}
def small(dim, seed=0):
    torch.manual_seed(seed)
    return nn.Linear(dim, dim).eval()
def model_for(key):
    if key not in MODELS:
        MODELS[key] = %s
    return MODELS[key]
class Operator:
    def __init__(self, dim):
        self.dim = dim
        self.key = %s
    def __call__(self, sample):
        return self.process(dict(sample))
    @torch.inference_mode()
    def process(self, sample):
        %s
        sample["score"] = float(model(torch.rand(1, 512)).mean())
        return sample
def main(steps):
    samples = [{"id": i} for i in range(steps)]
    with mp.Pool(2) as pool:
        for operator in [Operator(512)]:
            samples = list(pool.imap(operator, samples))
    print(len(samples))
"""
OWN = "model = model_for(self.key)"

GUILTY = [
    # a partial is another one in each task that is unpickled
    OPERATOR % ("key()", "partial(small, dim=dim)", OWN),
    OPERATOR % ("small(512, key)", "dim", 'model = model_for(sample["id"])'),
    OPERATOR % ("small(512, key)", "dim", 'self.key = sample["id"]; model = model_for(self.key)'),
]
INNOCENT = [
    OPERATOR % ("small(*key)", "(dim, 1)", OWN),
    OPERATOR % ("small(512)", 'f"small-{dim}"', OWN),
    OPERATOR % ("small(512)", "dim", OWN),
]


@pytest.mark.parametrize("source", GUILTY)
def test_each_task_brings_another_key(source: str) -> None:
    assert "TML401" in codes(source)


@pytest.mark.parametrize("source", INNOCENT)
def test_all_tasks_have_the_key_of_their_operator(source: str) -> None:
    assert codes(source) == set()
