"""Processes that go round for ever, in an attribute that each pass gives the next one; `# TML408` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

FEEDER = """
import multiprocessing

def cut(rows, ready):
    while True:
        for row in rows:
            ready.put(row)

class Rows:
    def __init__(self, rows):
        self.rows, self.feeder = rows, None

    def begin(self):
        self.ready = multiprocessing.Queue(4)
        self.feeder = multiprocessing.Process(target=cut, args=(self.rows, self.ready)){due}
        self.feeder.daemon = True
        self.feeder.start()

    def __iter__(self):
        {begins}
        for _ in self.rows:
            yield torch.tensor(self.ready.get())
        {then}

    def close(self):
        self.feeder.terminate()

def main(epochs, model, optimizer):
    rows = Rows([[1.0], [2.0]])
    for _ in range(epochs):
        for row in rows:
            optimizer.zero_grad()
            model(row).sum().backward()
            optimizer.step()
    rows.close()
"""


@pytest.mark.parametrize("begins", ["self.begin()", "if len(self.rows) > 0:\n            self.begin()"])
def test_a_feeder_for_each_pass(begins: str) -> None:
    check(FEEDER.format(due="  # TML408", begins=begins, then="pass"))


@pytest.mark.parametrize(
    ("begins", "then"),
    [
        ("if self.feeder is None:\n            self.begin()", "pass"),
        ("if self.feeder is not None:\n            self.feeder.kill()\n        self.begin()", "pass"),
        ("self.begin()", "self.close()"),
        ("self.begin()", "stop(self.feeder)"),
        ("pass", "pass"),
    ],
    ids=["once", "the one before first", "at the end", "by a helper", "never"],
)
def test_a_feeder_that_is_ended_or_kept(begins: str, then: str) -> None:
    check_innocent(FEEDER.format(due="", begins=begins, then=then))


def test_a_feeder_that_the_first_pass_has_left_running() -> None:
    begin = "    def begin(self):\n"
    text = FEEDER.replace(begin, begin + "        if self.feeder:\n            return\n")
    check_innocent(text.format(due="", begins="self.begin()", then="pass"))
