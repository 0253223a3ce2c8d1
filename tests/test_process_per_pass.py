"""Processes that go round for ever, and that each pass starts anew; `# TML408` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

READER = """
import torch.multiprocessing as mp

def read(shards, ready, asked):
    while True:
        for shard in shards:
            asked.acquire()
            ready.put(torch.load(shard))

def read_once(shards, ready, asked):
    for shard in shards:
        ready.put(torch.load(shard))

class Reader(mp.Process):
    def __init__(self, shards, ready):
        super().__init__(daemon=True)
        self.shards, self.ready = shards, ready

    def run(self):
        while True:
            for shard in self.shards:
                self.ready.put(shard)

class Loader:
    def __init__(self, shards):
        self.shards = shards

    def begin(self):
        ready, asked = mp.Queue(2), mp.Semaphore(1)
        {}
        worker.start()
        {}
        return ready, asked

    def __iter__(self):
        {}
        for _ in self.shards:
            yield ready.get()
            asked.release()
"""
STARTS = "worker = mp.Process(target=read, args=(self.shards, ready, asked), daemon=True)"
BEGINS = "ready, asked = self.begin()"


@pytest.mark.parametrize("starts", [STARTS, "worker = Reader(self.shards, ready)"])
def test_a_reader_for_each_pass(starts: str) -> None:
    check(READER.format(starts + "  # TML408", "pass", BEGINS))


@pytest.mark.parametrize(
    ("starts", "then", "begins"),
    [
        (STARTS.replace("=read", "=read_once"), "pass", BEGINS),  # it comes to an end
        (STARTS, "self.workers.append(worker)\n        self.workers.pop(0).terminate()", BEGINS),
        (STARTS, "worker.join()", BEGINS),
        (STARTS, "pass", "ready, asked = self.shards.feed"),  # nobody is seen to start it again
        (STARTS, "pass", BEGINS + "\n        while True:\n            yield ready.get()"),  # the one pass there is
    ],
)
def test_what_ends_or_is_ended(starts: str, then: str, begins: str) -> None:
    check_innocent(READER.format(starts, then, begins))


STARTED = """
import multiprocessing as mp

def serve(ready):
    while True:
        ready.put(torch.rand(64))

def feed(ready):
    mp.Process(target=serve, args=(ready,), daemon=True).start(){}

def main(epochs, model, optimizer):
    ready = mp.Queue(4)
    {}
"""
TRAINS = "for _ in range(9):\n            optimizer.zero_grad()\n            model(ready.get()).sum().backward()"


def test_who_starts_it_in_a_loop() -> None:
    check(STARTED.format("  # TML408", f"for _ in range(epochs):\n        feed(ready)\n        {TRAINS}"))
    several = f"for _ in range(4):\n        feed(ready)\n    for _ in range(epochs):\n        {TRAINS}"
    check_innocent(STARTED.format("", several))
    check_innocent(STARTED.format("", "for _ in range(2):\n        for _ in range(2):\n            feed(ready)"))
