"""Functions that are put around an attribute, and put back or not."""

from __future__ import annotations

import pytest
from snippets import check

PROBE = """
class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def weights(self, x):
        return self.layer(x).softmax(-1)

    def forward(self, x):
        return self.weights(x) @ x.T

def record(scorer, into):
    {asks}
    original = scorer.weights

    def recording(x):
        found = original(x)
        {keeps}
        return found

    {puts}{told}
    return original

@torch.no_grad()
def entropy(scorer, x):
    seen = []
    original = record(scorer, seen)
    scorer(x)
    {ends}
    return len(seen)

def main():
    {begins}
    for _ in range(9):
        {each}
        entropy(scorer, torch.rand(4, 8))
"""
PUTS = "scorer.weights = recording"


def probe(
    keeps: str = "into.append(found.mean())",
    puts: str = PUTS,
    asks: str = "pass",
    ends: str = "pass",
    begins: str = "scorer = Scorer().eval()",
    each: str = "pass",
    told: str = "",
) -> str:
    return PROBE.format(keeps=keeps, puts=puts, asks=asks, ends=ends, begins=begins, each=each, told=told)


@pytest.mark.parametrize("puts", [PUTS, 'setattr(scorer, "weights", recording)'])
def test_a_wrapper_around_a_wrapper(puts: str) -> None:
    check(probe(puts=puts, told="  # TML304"))


@pytest.mark.parametrize(
    "text",
    [
        probe(ends="scorer.weights = original"),
        probe(ends='setattr(scorer, "weights", original)'),
        probe(ends="del scorer.weights"),
        probe(keeps="found = found * 2"),  # it refers to nothing but what it is put around
        probe(asks='if hasattr(scorer, "recorded"): return scorer.weights'),
        probe(begins="pass", each="scorer = Scorer().eval()", told="  # TML315"),  # it goes, with the collector
        probe(puts="scorer.recording = recording"),
    ],
)
def test_one_that_is_taken_off_or_goes(text: str) -> None:
    check(text)
