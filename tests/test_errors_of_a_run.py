"""Lists of errors that each run begins anew: what a run leaves there stays until the next one."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SEARCH = """
class Search:
    def __init__(self, make):
        self.make = make

    def attempt(self, params, x):
        model = self.make(**params)
        try:
            return model(x).square().mean().item()
        except RuntimeError as error:
            self.failed.append((params, error)){mark}
            return float("nan")

    def attempts(self, grid, x):
        return [self.attempt(params, x) for params in grid]

    def fit(self, grid, x):
{fit}

search = Search(nn.Linear)
search.fit([dict(in_features=8, out_features=n) for n in range(1, 1000)], torch.randn(4, 8))
print(search.failed)
"""
GUILTY = {
    "begun by who makes them": "self.failed = []\nself.scores = self.attempts(grid, x)",
    "cleared": "self.failed.clear()\nfor params in grid:\n    self.attempt(params, x)",
    "declared": "if x is None:\n    return\nself.failed: list = []\nself.scores = self.attempts(grid, x)",
}
INNOCENT = {
    "and let go of": "self.failed = []\nself.scores = self.attempts(grid, x)\nprint(self.failed)\nself.failed = []",
    "let go of in each round": "for params in grid:\n    self.failed = []\n    self.attempt(params, x)",
    "let go of before others are tried": "self.failed = []\nprint(grid)",
}


@pytest.mark.parametrize("fit", GUILTY.values(), ids=GUILTY)
def test_what_a_run_leaves(fit: str) -> None:
    check(SEARCH.format(fit=textwrap.indent(fit, 8 * " "), mark="  # TML307"))


@pytest.mark.parametrize("fit", INNOCENT.values(), ids=INNOCENT)
def test_what_a_run_lets_go_of(fit: str) -> None:
    check(SEARCH.format(fit=textwrap.indent(fit, 8 * " "), mark=""))
