"""Records of a list whose parts that weigh go in the round that adds them, on some condition or by name."""

from __future__ import annotations

import pytest
from snippets import check

SEARCH = """
class Cache:
    def __init__(self):
        self.rows = []

class Runner:
    def __init__(self, width):
        self.score, self.cache = 0.0, Cache()
        self.model = nn.Linear(width, width)

    def train(self, data):
        opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for x in data:
            opt.zero_grad()
            loss = self.model(x).square().mean()
            loss.backward()
            opt.step()
        self.cache.rows.append(x)
        self.score = loss.item()

    def free(self):
        {free}

def search(widths, data):
    done = []
    for width in widths:
        runner = Runner(width)
        runner.train(data)
        {then}
        done.append(runner){mark}
    return max(one.score for one in done)
"""
MARK = "  # TML311"
NOT_NONE = "if self.model is not None:\n            del self.model"
BOTH = f"{NOT_NONE}\n        if self.score > 0:\n            self.cache.rows.clear()"
NAMES = 'for name in ("model", "cache"):\n            if hasattr(self, name):\n                delattr(self, name)'
CASES = {
    "nothing goes": (BOTH, "pass", MARK),
    "one of two goes": (NOT_NONE, "runner.free()", MARK),
    "both go": (BOTH, "runner.free()", ""),
    "of itself": ("pass", "runner.model = runner.cache = None", ""),
    "by name": (NAMES + "\n        self.cache = None", "runner.free()", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_records_that_let_go(case: str) -> None:
    free, then, mark = CASES[case]
    check(SEARCH.format(free=free, then=then, mark=mark))
