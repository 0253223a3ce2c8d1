"""Hooks of the interpreter, of which there is one at a time, and objects that set them when they are made."""

from __future__ import annotations

import pytest
from snippets import check

RUNNERS = """
import sys
import threading
import weakref

class Runner:
    def __init__(self, name):
        self.model = Net()
        self.name = name
        {before}
        {hook} = {value}{mark}

    def tell(self, *args):
        torch.save(self.model.state_dict(), self.name)

    def close(self):
        {close}

def sweep(count):
    for number in range(count):
        runner = Runner(f"crash-{{number}}.pt")
        runner.model(torch.randn(2, 8)).sum().backward()
        runner.close()

sweep(3)
"""


@pytest.mark.parametrize(
    ("before", "hook", "value"),
    [
        ("pass", "sys.excepthook", "self.tell"),
        ("self.before = threading.excepthook", "threading.excepthook", "self.tell"),
        ("pass", "sys.excepthook", "lambda *args: self.tell(*args)"),
    ],
)
def test_who_sets_a_hook_stays(before: str, hook: str, value: str) -> None:
    check(RUNNERS.format(before=before, hook=hook, value=value, close="pass", mark="  # TML314"))


@pytest.mark.parametrize(
    ("before", "value", "close"),
    [
        ("self.before = sys.excepthook", "self.tell", "sys.excepthook = self.before"),
        ("pass", "self.tell", "sys.excepthook = sys.__excepthook__"),
        ("pass", "print", "pass"),
    ],
)
def test_who_puts_it_back_goes(before: str, value: str, close: str) -> None:
    check(RUNNERS.format(before=before, hook="sys.excepthook", value=value, close=close, mark=""))
