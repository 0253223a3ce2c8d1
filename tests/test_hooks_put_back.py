"""Hooks of the interpreter that an object could put back, where somebody asks it to and where nobody does."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CRASHES = """
import sys

class Crash:
    def __init__(self, model):
        self.model = model
        self.before = sys.excepthook

    def install(self):
        sys.excepthook = self.tell{mark}

    def tell(self, kind, error, trace):
        torch.save(self.model.state_dict(), "crash.pt")
        self.before(kind, error, trace)

    def uninstall(self):
        sys.excepthook = self.before

    {leaving}

def fit(width):
    model = nn.Linear(width, width)
    crash = Crash(model)
    crash.install()
    loss = model(torch.randn(4, width)).square().mean()
    loss.backward()
    {end}
    return loss.item()

def main(steps):
    print([fit(64) for _ in range(steps)])
"""


def test_nobody_asks_for_it() -> None:
    check(CRASHES.format(mark="  # TML314", leaving="", end="pass"))


@pytest.mark.parametrize(
    ("leaving", "end"),
    [
        ("", "crash.uninstall()"),
        ("", "print(crash.uninstall)"),
        ("def __del__(self):\n        sys.excepthook = self.before", "pass"),
    ],
)
def test_somebody_does(leaving: str, end: str) -> None:
    check_innocent(CRASHES.format(mark="", leaving=leaving, end=end))
