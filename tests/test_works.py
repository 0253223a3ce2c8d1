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
