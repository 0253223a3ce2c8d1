"""Modules that have a `__call__` of their own in place of a pass: what it computes says whether it records a graph."""

from __future__ import annotations

import pytest
from snippets import check

_MEASURES = """
class Hits(nn.Module):
    def __init__(self, threshold=0.5):
        super().__init__()
        self.threshold = threshold

    def __call__(self, wanted, given):
        wanted, given = wanted > self.threshold, given > self.threshold
        both = ((wanted == given) * wanted).float()
        return both.sum() / wanted.float().sum(), both.sum() / given.float().sum()

class Likeness(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def __call__(self, wanted, given):
        return (self.net(wanted) - self.net(given)).abs().mean()

class Passed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, wanted, given):
        return self.net(wanted) - self.net(given)
"""
_EVALUATION = """
class Runner:
    def __init__(self, loader):
        self.model, self.measure = Net(), {measure}()
        self.loader = loader

    def evaluate(self):
        self.model.eval()
        found = []
        for images, masks in self.loader:
            outputs = self.restore(images)
            first, second = self.measure(images * masks, outputs * masks){mark}
            found.append((first.item(), second.item()))
        return found
"""
_COLLECTED = """
def score(loader, measure: {measure}):
    measure.eval()
    found = []
    for images, outputs in loader:
        found.append(measure(images, outputs)){mark}
    return sum(found).item()
"""


@pytest.mark.parametrize("measure", ["Hits", "Passed"])
def test_measures_in_an_evaluation(measure: str) -> None:
    check(_MEASURES + _EVALUATION.format(measure=measure, mark="" if measure == "Hits" else "  # TML201"))


@pytest.mark.parametrize("measure", ["Hits", "Likeness", "Passed"])
def test_measures_that_are_collected(measure: str) -> None:
    check(_MEASURES + _COLLECTED.format(measure=measure, mark="" if measure == "Hits" else "  # TML102"))
