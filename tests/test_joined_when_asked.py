"""A list that a method fills and another gives out as one tensor: it gathers for whoever asks, who is not in sight."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

STATS = """
class Stats:
    def __init__(self):
        self.samples = []

    def update(self, sample: torch.Tensor) -> None:
        self.samples.append(sample)

    def get(self):
        return {gives}
"""


@pytest.mark.parametrize(
    "gives", ["torch.stack(self.samples)", '{"count": len(self.samples), "samples": torch.stack(self.samples)}']
)
def test_all_of_it_is_given_out(gives: str) -> None:
    check_innocent(STATS.format(gives=gives))


def test_a_figure_is_given_out() -> None:
    text = STATS.format(gives="torch.stack(self.samples).mean().item()")
    check(text.replace("append(sample)", "append(sample)  # TML303"))
