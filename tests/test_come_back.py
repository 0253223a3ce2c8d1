"""What comes back from other processes: results that a pool hands to a callback, what ranks send each other."""

from __future__ import annotations

import pytest
from snippets import check

TILES = """
import multiprocessing as mp

def shrink(index, tile):
    return index, {work}

class Runner:
    def __init__(self):
        self.pool, self.done, self.failed = mp.Pool(2), [], 0

    def note(self, result):
        index, tile = result
        {noted}

    def submit(self, index, tile):
        {submits}

    def flush(self):
        tiles = dict(self.done)
        {flushed}
        return tiles

def main(steps):
    runner = Runner()
    for index in range(steps):
        runner.submit(index, torch.rand(1, 3, 256, 256))
        if index % 100 == 0:
            print(len(runner.flush()))
"""
POOLED = "torch.max_pool2d(tile, 2)"
SUBMITS = "self.pool.apply_async(shrink, (index, tile), callback={})"


def _check(
    submits: str, noted: str = "pass", work: str = POOLED, flushed: str = "pass", driver: tuple[str, str] = ("", "")
) -> None:
    check(TILES.format(work=work, submits=submits, noted=noted, flushed=flushed).replace(*driver))


def test_results_that_a_callback_keeps() -> None:
    _check(SUBMITS.format("self.done.append") + "  # TML303")
    _check(SUBMITS.format("self.note"), "self.done.append((index, tile))  # TML303")
    _check(SUBMITS.format("lambda pair: self.note(pair)"), "self.done.append(tile)  # TML303")


def test_results_that_a_callback_only_reads() -> None:
    _check(SUBMITS.format("self.note"), "self.failed += tile is None")
    _check(SUBMITS.format("self.note"), "self.done.append((index, tile.mean().item()))")
    _check(SUBMITS.format("self.done.append"), flushed="self.done.clear()")
    _check(SUBMITS.format("self.done.append"), flushed="self.done = []")


def test_results_of_one_call() -> None:
    collected = (
        "found = []\n    for index in range(steps):\n"
        "        runner.pool.apply_async(shrink, (index, torch.rand(3, 64, 64)), callback=found.append)\n"
        "    runner.pool.close()\n    runner.pool.join()\n    print(len(found))\n    for index in range(steps):"
    )
    _check("pass", driver=("for index in range(steps):", collected))


RANKS = """
import torch.distributed as dist

class Judge:
    def __init__(self):
        self.mine, self.everything = [], []

    def add(self, x, scores):
        self.mine.append({entry})

    def judge(self):
        parts = [None] * dist.get_world_size()
        {gathers}
        for part in parts if dist.get_rank() == 0 else []:
            self.everything.extend(part){mark}
        self.mine = []
        return len(self.everything)

def main(model, batches, epochs):
    judge = Judge()
    for _ in range(epochs):
        for x in batches:
            with torch.no_grad():
                judge.add(x, model(x))
        print(judge.judge())
        {after}
"""
WHOLE = '{"id": x.shape[0], "scores": scores.cpu()}'
GATHERS = "dist.gather_object(self.mine, parts)"


def test_records_with_tensors_that_ranks_send() -> None:
    check(RANKS.format(entry=WHOLE, gathers=GATHERS, mark="  # TML303", after="pass"))


@pytest.mark.parametrize(
    ("entry", "gathers", "after"),
    [
        ('{"mean": scores.mean().item()}', GATHERS, "pass"),
        ("scores.mean()", GATHERS, "pass"),
        (WHOLE, GATHERS, "judge.everything.clear()"),
        (WHOLE, "dist.gather_object(len(self.mine), parts)", "pass"),
    ],
)
def test_numbers_that_ranks_send_and_records_that_go(entry: str, gathers: str, after: str) -> None:
    check(RANKS.format(entry=entry, gathers=gathers, mark="", after=after))
