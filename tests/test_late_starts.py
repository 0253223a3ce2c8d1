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


RINGS = """
class Frame:
    def __init__(self, size, name=None):
        self.owner = name is None
        self.segment = SharedMemory(name=name, create=self.owner, size=size)

    def write(self, data):
        self.segment.buf[:len(data)] = data

    def release(self):
        self.segment.close()
        if self.owner:
            self.segment.unlink()

class Ring:
    def __init__(self, size):
        self.allocate(size)

    def allocate(self, size):%s
        self.frames = [Frame(size) for _ in range(4)]%s

    def write(self, number, data):
        self.frames[number %% 4].write(data)

    def close(self):
        for frame in self.frames:
            frame.release()
        self.frames = []

class Camera:
    def __init__(self, size):
        self.ring = Ring(size)

    def resize(self, size):
        self.ring.allocate(size)

    def shutdown(self):
        self.ring.close()

def main(sizes):
    camera = Camera(100)
    try:
        for number, size in enumerate(sizes):
            %s
            camera.ring.write(number, b"")
    finally:
        camera.shutdown()
"""
RESIZES = "camera.resize(size)"


def test_segments_that_others_replace() -> None:
    _check(RINGS % ("", "  # TML407", RESIZES))
    _check(RINGS % ("\n        self.close()", "", RESIZES))
    _check(RINGS % ("", "", "print(size)"))
    _check(RINGS % ("", "", f"camera.shutdown()\n            {RESIZES}"))


WATCHED = """
class Watch:
    def __init__(self, model):
        self.model = model
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._go, daemon=True)
        self.thread.start()

    def _go(self):
        while not self.done.wait(1):
            print(self.model)

    def stop(self):
        self.done.set()

class Trainer:
    def __init__(self, model):
        self.model, self.watch = model, None

    def epoch(self):%s
        self.watch = Watch(self.model)%s

    def close(self):
        if self.watch is not None:
            self.watch.stop()
            self.watch = None

def train(trainer, epochs):
    for _ in range(epochs):
        trainer.epoch()

def main():
    trainer = Trainer(Net())
    train(trainer, 3)
    trainer.close()
"""


def test_threads_of_which_only_the_last_is_ended() -> None:
    _check(WATCHED % ("", "  # TML505"))
    _check(WATCHED % ("\n        self.close()", ""))
    _check(WATCHED.replace("trainer.epoch()", "trainer.epoch()\n        trainer.close()") % ("", ""))


FLUSHED = """
class Writer:
    def __init__(self, write):
        self.write = write
        self.items = queue.Queue(maxsize=100)
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self._go, daemon=True)
        self.thread.start()

    def put(self, item):
        self.items.put(item)

    def _go(self):
        while True:
            if not self.items.empty():
                self.write(self.items.get())
            elif self.closing.is_set():
                break

    def flush_and_leave(self):
        self.closing.set()
        self.thread.join()

class Client:
    def __init__(self, model):
        self.model = model
        self.writer = Writer(print)

    def call(self, x):
        self.writer.put(x)

    def finish(self):
        self.writer.flush_and_leave()

def trial(model, rows):
    client = Client(model)%s
    for row in rows:
        client.call(row)
    %s

def written(rows):
    writer = Writer(print)%s
    for row in rows:
        writer.put(row)
    %s

def main(model, parts):
    for rows in parts:
        trial(model, rows)
        written(rows)
"""


def test_threads_that_leave_by_a_flag_and_ends_of_any_name() -> None:
    _check(FLUSHED % ("  # TML505", "print(rows)", "  # TML505", "print(rows)"))
    _check(FLUSHED % ("", "client.finish()", "", "writer.flush_and_leave()"))
