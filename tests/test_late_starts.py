"""Workers that are started after their object was made, and who ends what an attribute held before."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import multiprocessing as mp
import threading
from multiprocessing.shared_memory import SharedMemory
"""


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


FEEDING = """
class Feed:
    def __init__(self, source, depth=2):
        self.source = source
        self.items = queue.Queue(maxsize=depth)
        self.stopping = threading.Event()
        self.thread = None

    def start(self):
        self.thread = threading.Thread(target=self._fill, daemon=True)
        self.thread.start()
        return self

    def _fill(self):
        for item in self.source:
            if self.stopping.is_set():
                return
            self.items.put(item)
        self.items.put(None)

    def __iter__(self):
        return iter(self.items.get, None)

    def stop(self):
        self.stopping.set()%s

class Runner:
    def __init__(self, most):
        self.most, self.feed = most, None

    def epoch(self, source):
        self.feed = Feed(source).start()%s
        for step, item in enumerate(self.feed):
            print(item)
            if step == self.most:
                break
        self.feed.stop()
        self.feed = None

def main(sources):
    runner = Runner(3)
    for source in sources:
        runner.epoch(source)
"""
DRAINS = """
        while self.thread.is_alive():
            self.items.get(timeout=1)"""


@pytest.mark.parametrize(("drains", "mark"), [("", "  # TML505"), (DRAINS, "")])
def test_feeds_that_an_attribute_has_and_that_are_left_in_the_middle(drains: str, mark: str) -> None:
    _check(FEEDING % (drains, mark))


def test_a_feed_that_somebody_else_may_drain() -> None:
    drained = FEEDING % ("", "") + "    while runner.feed:\n        runner.feed.items.get()\n"
    _check(drained)


REPLICAS = """
def serve(model, inbox, outbox):
    while True:
        x = inbox.get()
        if x is None:
            break
        outbox.put(model(x).tolist())

class Replica:
    def __init__(self, model):
        self.model = model
        self.inbox, self.outbox = mp.SimpleQueue(), mp.SimpleQueue()

    def start(self):
        self.process = mp.Process(target=serve, args=(self.model, self.inbox, self.outbox), daemon=True)
        self.process.start()
        return self

    def ask(self, x):
        self.inbox.put(x)
        return self.outbox.get()

    def stop(self):
        self.inbox.put(None)
        self.process.join()

def made(model):
    return Replica(model).start()

def score(model, rows):
    replica = %s
    %s

def main(model, parts):
    for rows in parts:
        score(model, rows)
"""
ASKED = "return [replica.ask(row) for row in rows]"
ENDED = f"try:\n        {ASKED}\n    finally:\n        replica.stop()"


@pytest.mark.parametrize(
    "made",
    ["Replica(model).start()  # TML408", "made(model)  # TML408", "Replica(model)  # TML408\n    replica.start()"],
)
def test_processes_that_are_started_later(made: str) -> None:
    _check(REPLICAS % (made, ASKED))
    _check(REPLICAS % (made.replace("  # TML408", ""), ENDED))
