"""What a pass over an object starts: worker processes, and threads that read ahead; who breaks off, who ends them."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

WORKERS = """
import multiprocessing as mp

def tokenize(wanted, results):
    while True:
        shard = wanted.get()
        if shard is None:
            return
        results.put(list(range(shard)))

class Crew:
    def __init__(self, size):
        self.wanted, self.results, self.crew = mp.Queue(), mp.Queue(), []
        for _ in range(size):
            worker = mp.Process(target=tokenize, args=(self.wanted, self.results), daemon=True)
            worker.start()
            self.crew.append(worker)

    def take(self, shard):
        self.wanted.put(shard)
        return self.results.get()

    def close(self):
        for worker in self.crew:
            self.wanted.put(None)

class Corpus:
    def __init__(self, shards):
        self.shards = shards

    def __iter__(self):
{body}
"""
PASSES = {
    "dropped at the end": """
        crew = Crew(2)  # TML408
        for shard in self.shards:
            yield crew.take(shard)
    """,
    "closed in a finally": """
        crew = Crew(2)
        try:
            for shard in self.shards:
                yield crew.take(shard)
        finally:
            crew.close()
    """,
    "handed to who goes over it": """
        crew = Crew(2)
        yield crew
    """,
}


@pytest.mark.parametrize("case", PASSES)
def test_workers_of_one_pass(case: str) -> None:
    check(WORKERS.format(body=textwrap.indent(textwrap.dedent(PASSES[case]), " " * 8)))


AHEAD = """
import queue
import threading

class Ahead(threading.Thread):
    def __init__(self, source):
        super().__init__(daemon=True)
        self.room = queue.Queue({limit})
        self.source, self.told = source, threading.Event()
        self.start()

    def run(self):
        for item in self.source:
            self.room.put(item)
        self.room.put(None)

    def __iter__(self):
        return self

    def __next__(self):
        item = self.room.get()
        if item is None:
            raise StopIteration
        return item

class Loader:
    def __init__(self, source):
        self.source, self.reader = source, None

    def __iter__(self):
        {made}

    def halt(self):
        if self.reader is not None:
            self.reader.told.set()

class Trainer:
    def __init__(self, source):
        self.loader = Loader(source)

    def round(self, rounds):
        for i, batch in enumerate(self.loader):
            print(batch.mean())
            if i == rounds:
                {leaves}

def main(source):
    trainer = Trainer(source)
    for _ in range(10):
        trainer.round(3)
        {after}
"""
DUE = "return Ahead(iter(self.source))  # TML505"
ON_SELF = "self.reader = Ahead(iter(self.source))  # TML505\n        return self.reader"
FINE = DUE.partition("  #")[0]
READERS = [
    (DUE, "2", "break", "pass"),
    (ON_SELF, "2", "break", "pass"),
    (FINE, "2", "print(i)", "pass"),
    (FINE, "", "break", "pass"),
    (ON_SELF.replace("  # TML505", ""), "2", "break", "trainer.loader.halt()"),
    ("yield from self.source", "2", "break", "pass"),
]


@pytest.mark.parametrize(("made", "limit", "leaves", "after"), READERS)
def test_loaders_that_read_ahead(made: str, limit: str, leaves: str, after: str) -> None:
    check(AHEAD.format(made=made, limit=limit, leaves=leaves, after=after))
