"""Loaders that are given to `map` of a pool of threads, which takes every batch at once."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SCORING = """
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from torch.utils.data import DataLoader

class Scorer:
    def __init__(self):
        self.net = nn.Linear(64, 4)

    @torch.inference_mode()
    def score(self, batch):
        return self.net(batch).argmax(1).tolist()

    @torch.inference_mode()
    def score_file(self, path):
        return self.net(torch.load(path)).argmax(1).tolist()

def main(data, paths):
    scorer, loader, rows = Scorer(), DataLoader(data, batch_size=64), []
    with {pool} as pool:
{scores}
    print(len(rows))
"""
THREADS = "ThreadPoolExecutor(2)"
GUILTY = {
    "an executor": (THREADS, "for row in pool.map(scorer.score, loader):  # TML308\n    rows += row"),
    "made there": (THREADS, "for row in pool.map(scorer.score, DataLoader(data)):  # TML308\n    rows += row"),
    "a pool of threads": ("ThreadPool(2)", "for row in pool.imap(scorer.score, loader):  # TML308\n    rows += row"),
}
INNOCENT = {
    "paths": (THREADS, "for row in pool.map(scorer.score_file, paths):\n    rows += row"),
    "the parts of a batch": (THREADS, "for x in loader:\n    rows += pool.map(scorer.score, x.chunk(4))"),
    "numbers": (THREADS, "rows += pool.map(str, range(len(loader)))"),
}


@pytest.mark.parametrize(("pool", "scores"), GUILTY.values(), ids=GUILTY)
def test_every_batch_at_once(pool: str, scores: str) -> None:
    check(SCORING.format(pool=pool, scores=textwrap.indent(scores, 8 * " ")))


@pytest.mark.parametrize(("pool", "scores"), INNOCENT.values(), ids=INNOCENT)
def test_what_each_call_loads(pool: str, scores: str) -> None:
    check(SCORING.format(pool=pool, scores=textwrap.indent(scores, 8 * " ")))
