"""Works of collectives that go on by themselves: each has its tensor, until it goes itself."""

from __future__ import annotations

import pytest
from snippets import check

REDUCED = """
import torch.distributed as dist

class Reducer:
    def __init__(self):
        self.works = []

    def reduce(self, tensor):
        self.works.append({work}){mark}

    def finish(self):
        for work in self.works:
            work.wait()
        {after}

def main(steps):
    dist.init_process_group("gloo")
    reducer = Reducer()
    for _ in range(steps):
        reducer.reduce(torch.rand(1000))
        reducer.finish()
    works = [dist.isend(torch.rand(8), rank) for rank in range(4)]
    for work in works:
        work.wait()

main(9)
"""
WORKS = ["dist.all_reduce(tensor, async_op=True)", "dist.isend(tensor, 0)"]


@pytest.mark.parametrize("work", WORKS)
def test_works_that_are_kept(work: str) -> None:
    check(REDUCED.format(work=work, after="pass", mark="  # TML303"))
    check(REDUCED.format(work=work, after="self.works.clear()", mark=""))
    check(REDUCED.format(work=work, after="self.works = []", mark=""))


def test_what_is_done_at_once() -> None:
    check(REDUCED.format(work="dist.all_reduce(tensor)", after="pass", mark=""))


_NEVER = """
import torch
import torch.distributed as dist

class Sync:
    def __init__(self, params):
        self.params = list(params)
        self.handles = []

    def start(self):
        for param in self.params:
            self.handles.append(dist.all_reduce(param.grad, async_op={asynchronous})){mark}

    def close(self):
        {close}

def train(model, loader, optimizer):
    sync = Sync(model.parameters())
    for x in loader:
        model(x).mean().backward()
        sync.start()
        optimizer.step()
        optimizer.zero_grad()
    sync.close()
"""


@pytest.mark.parametrize("close", ["pass", "print(len(self.handles))"])
def test_handles_that_nothing_waits_for(close: str) -> None:
    check(_NEVER.format(asynchronous=True, mark="  # TML303", close=close))


@pytest.mark.parametrize(
    ("asynchronous", "close"), [("True", "wait_for(self.handles)"), ("False", "pass")], ids=["handed out", "at once"]
)
def test_handles_that_somebody_may_wait_for(asynchronous: str, close: str) -> None:
    check(_NEVER.format(asynchronous=asynchronous, mark="", close=close))
