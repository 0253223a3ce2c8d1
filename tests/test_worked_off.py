"""Loops that go on until a list of work is used up: once, or again and again."""

from __future__ import annotations

import pytest
from snippets import check

WORK = """
class Relaxing:
    def __init__(self, net):
        self.net, self.waiting, self.done = net, [], []

    def load(self, rows):
        self.waiting.extend(rows)

    def _sort_out(self):
        still = []
        for row in self.waiting:
            if row.sum() > 1:
                self.done.append(row)%s
            else:
                still.append(row)
        self.waiting = still

    @torch.no_grad()
    def run(self):
        %s
        return %s

def main(loaders):
    relaxing = Relaxing(nn.Linear(4, 4))
    %s
"""
ALL = """while self.waiting:
            self.waiting = [self.net(row) for row in self.waiting]
            self._sort_out()"""
ENDLESS = """while True:
            self.waiting = [self.net(row) for row in self.waiting]
            self._sort_out()"""
ONCE = "relaxing.load(next(loaders)); print(len(relaxing.run()))"
AGAIN = """while True:
        relaxing.load(next(loaders))
        print(len(relaxing.run()))"""


@pytest.mark.parametrize(
    ("mark", "goes_round", "given", "program"),
    [
        ("", ALL, "self.done", ONCE),
        ("  # TML303", ALL, "self.done", AGAIN),
        ("  # TML303", ENDLESS, "self.done", ONCE),
    ],
)
def test_results_of_work_that_is_used_up(mark: str, goes_round: str, given: str, program: str) -> None:
    check(WORK % (mark, goes_round, given, program))
