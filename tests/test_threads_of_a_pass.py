"""Threads that a pass over a loader starts, where the loop over it leaves early: the line that starts one is told."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

LOADER = """
import itertools
import queue
import threading

class Ahead(threading.Thread):
    def __init__(self, source):
        super().__init__(daemon=True)
        self.room, self.done = queue.Queue(4), threading.Event()
        self.source = source
        self.start()

    def run(self):
        for item in self.source:
            self.room.put(item)
        self.room.put(None)

    def stop(self):
        self.done.set()
        while not self.room.empty():
            self.room.get()

    def __iter__(self):
        return iter(self.room.get, None)

class Loader:
    def __init__(self, source):
        self.source = source

    def __iter__(self):
        {}

def fit(model, loader, epochs, steps):
    for _ in range(epochs):
        {}

def main(source):
    fit(nn.Linear(8, 8), Loader(source), 4, 10)
"""
GIVES = "yield from Ahead(self.source)"
FEW = "for batch in itertools.islice(loader, steps):\n            model(batch)"
ASKED = "batches = iter(loader)\n        for _ in range(steps):\n            model(next(batches))"


@pytest.mark.parametrize("leaves", [FEW, ASKED])
@pytest.mark.parametrize(
    "gives",
    [
        GIVES + "  # TML505",
        "ahead = Ahead(self.source)  # TML505\n        for batch in ahead:\n            yield batch * 2",
    ],
)
def test_thread_of_a_pass_that_is_left(gives: str, leaves: str) -> None:
    check(LOADER.format(gives, leaves))


@pytest.mark.parametrize(
    ("gives", "leaves"),
    [
        ("a = Ahead(self.source)\n        try:\n            yield from a\n        finally:\n            a.stop()", FEW),
        (GIVES, "for batch in loader:\n            model(batch)"),
        (GIVES, ASKED.replace("steps", "len(loader)")),
        (GIVES, "pass\n    batches = iter(loader)\n    for _ in range(steps):\n        model(next(batches))"),
    ],
    ids=["stopped", "to the end", "as many as there are", "one pass for all epochs"],
)
def test_thread_of_a_pass_that_comes_to_its_end(gives: str, leaves: str) -> None:
    check_innocent(LOADER.format(gives, leaves))
