"""Handles of communication that are waited for in each step, and stay in their list."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

BUCKETS = """
import torch.distributed as dist

class Buckets:
    def __init__(self, params):
        self.params = list(params)
        self.works = []

    def start(self):
        for param in self.params:
            flat = param.grad.reshape(-1).clone()
            self.works.append((dist.all_reduce(flat, async_op=True), flat)){mark}

    def wait(self):
        {waits}
            work.wait()
        {after}

{more}

def train(model, optimizer, loader):
    buckets = Buckets(model.parameters())
    for batch in loader:
        model(batch).mean().backward()
        buckets.start()
        buckets.wait()
        optimizer.step()
        optimizer.zero_grad()
"""
FOR = "for work, flat in self.works:"


def _buckets(waits: str = FOR, after: str = "pass", more: str = "", mark: str = "") -> str:
    return BUCKETS.format(waits=waits, after=after, more=more, mark=mark)


def test_works_that_are_waited_for_and_stay() -> None:
    check(_buckets(mark="  # TML303"))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"after": "self.works.clear()"},
        {"after": "self.works = []"},
        {"after": "del self.works[:]"},
        {"waits": "while self.works:\n            work, flat = self.works.pop()"},
        {"more": "def drop(buckets):\n    finish(buckets.works)"},
    ],
    ids=["cleared", "a new list", "deleted", "taken out", "handed to another"],
)
def test_works_that_go(kwargs: dict[str, str]) -> None:
    check_innocent(_buckets(**kwargs))
