"""Rows of a batch that are kept, all of them, and then cut to the last ones."""

from __future__ import annotations

import pytest
from snippets import check

SAMPLES = """
class Samples:
    def __init__(self, budget=8):
        self.budget, self.samples = budget, {{}}

    def fit(self, features, targets, active):
        for feature, target in zip(features, targets):
            {keep}
        self.samples = {{k: self.samples[k] for k in active}}

def main(frames, targets, active):
    net, samples = Net().eval(), Samples()
    for frame in frames:
        with torch.no_grad():
            features = list(net(frame))
        samples.fit(features, targets(frame), active(frame))
"""
ADD = "self.samples.setdefault(target, []).append(feature)\n            "
CUT = "if self.budget: self.samples[target] = self.samples[target][-self.budget:]"
PICKED = "if target in self.samples: self.samples[target] = feature  # TML309"


@pytest.mark.parametrize("keep", [ADD + CUT, PICKED])
def test_rows_that_are_cut_and_rows_that_are_picked(keep: str) -> None:
    check(SAMPLES.format(keep=keep))
