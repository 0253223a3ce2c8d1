"""Threads that nothing can end, and those that somebody does."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, codes

IMPORTS = """\
import itertools
import threading
import time
import weakref
from functools import partial
from threading import Thread
"""

ENDLESS = [
    """
    def beat(owner):
        while True:
            time.sleep(5)
            owner.sweep()
    class Registry:
        def __init__(self):
            self.rows = {}
            self.t = threading.Thread(target=beat, args=(self,))
            self.t.start()
        def sweep(self): self.rows.clear()
    """,
    """
    def pump(owner):
        while owner.alive:
            owner.step()
            time.sleep(1)
    class Engine:
        def start(self):
            Thread(target=partial(pump, owner=self), daemon=True).start()
        def stop(self): self.alive = False
        def __del__(self): self.stop()
    """,
    """
    class Monitor:
        def __init__(self, model):
            self.model = model
            self.thread = Thread(target=lambda: self.watch())
            self.thread.start()
        def watch(self):
            while True:
                time.sleep(1.0)
                print(self.model)
    """,
    """
    class Loader:
        def __init__(self, ds):
            self._stop = threading.Event()
            self.q = queue.Queue(4)
            def fill():
                while not self._stop.is_set():
                    self.q.put(ds[0])
            t = threading.Thread(target=fill)
            t.start()
    """,
    """
    class Sender(threading.Thread):
        def __init__(self, q):
            super().__init__()
            self.q = q
        def run(self):
            while True:
                item = self.q.get()
                print(item)
    def start(q):
        s = Sender(q)
        s.start()
    """,
    """
    class Cache:
        def __init__(self):
            self.table = {}
            self.thread = Thread(None, self._evict, daemon=True)
            self.thread.start()
        def _evict(self):
            while 1:
                time.sleep(60)
                self.table.popitem()
        def close(self):
            self.table.clear()
    """,
    """
    class Poller:
        def __init__(self, client):
            self.client = client
        def loop(self):
            for i in itertools.count():
                self.client.ping(i)
                time.sleep(2)
    def attach(client):
        p = Poller(client)
        t = threading.Thread(target=p.loop, name="poll")
        t.start()
        return p
    """,
    """
    class Scheduler:
        def __init__(self):
            self.jobs = queue.Queue()
            self._t = threading.Thread(target=self._main, daemon=False)
            self._t.start()
        def _main(self):
            self._spin()
        def _spin(self):
            while True:
                job = self.jobs.get()
                try:
                    job()
                except Exception as e:
                    print(e)
    """,
    """
    def watch(session):
        while True:
            time.sleep(3)
            session.ping()
    class Session:
        def __enter__(self):
            Thread(target=lambda: watch(self), daemon=True).start()
            return self
        def ping(self): pass
        def __exit__(self, *a):
            pass
    """,
    """
    class Srv:
        def __init__(self, proc):
            self.proc = proc
            def drain(me):
                for line in me.proc.stdout:
                    print(line)
            self._t = Thread(target=drain, args=[self])
            self._t.start()
        def stop(self):
            self.proc.kill()
        def __del__(self):
            self.stop()
    """,
]

ENDED = [
    """
    def beat(owner):
        while True:
            time.sleep(5)
            owner.sweep()
    class Registry:
        def __init__(self):
            self.rows = {}
            self.t = threading.Thread(target=beat, args=(self,), daemon=True)
            self.t.start()
        def sweep(self): self.rows.clear()
    """,
    """
    def pump(owner):
        while owner() is not None:
            time.sleep(1)
    class Engine:
        def start(self):
            Thread(target=partial(pump, owner=weakref.ref(self)), daemon=True).start()
        def stop(self): self.alive = False
        def __del__(self): self.stop()
    """,
    """
    class Monitor:
        def __init__(self, model):
            self.model = model
            self.done = False
            self.thread = Thread(target=lambda: self.watch())
            self.thread.start()
        def watch(self):
            while True:
                time.sleep(1.0)
                if self.done: break
        def close(self): self.done = True
    """,
    """
    class Loader:
        def __init__(self, ds):
            self._stop = threading.Event()
            self.q = queue.Queue(4)
            def fill():
                while not self._stop.is_set():
                    self.q.put(ds[0])
            t = threading.Thread(target=fill)
            t.start()
        def close(self):
            self._stop.set()
    """,
    """
    class Sender(threading.Thread):
        def __init__(self, q):
            super().__init__()
            self.daemon = True
            self.q = q
        def run(self):
            while True:
                item = self.q.get()
                print(item)
    def start(q):
        s = Sender(q)
        s.start()
    """,
    """
    class Cache:
        def __init__(self):
            self.table = {}
            self.running = True
            self.thread = Thread(None, self._evict, daemon=True)
            self.thread.start()
        def _evict(self):
            while self.running:
                time.sleep(60)
                self.table.popitem()
        def close(self):
            self.running = False
    """,
    """
    class Poller:
        def __init__(self, client):
            self.client = client
        def loop(self):
            for i in itertools.count():
                if not self.client.ping(i):
                    return
                time.sleep(2)
    def attach(client):
        p = Poller(client)
        t = threading.Thread(target=p.loop, name="poll")
        t.start()
        return p
    """,
    """
    class Scheduler:
        def __init__(self):
            self.jobs = queue.Queue()
            self._t = threading.Thread(target=self._main)
            self._t.start()
        def _main(self):
            while True:
                job = self.jobs.get()
                if job is None:
                    break
                job()
        def close(self): self.jobs.put(None)
    """,
    """
    def serve():
        t = Thread(target=work)
        t.start()
        t.join()
    def work():
        while True:
            time.sleep(1)
    """,
    """
    class Acceptor:
        def __init__(self, sock):
            self.sock = sock
            Thread(target=self.run).start()
        def run(self):
            while True:
                conn, addr = self.sock.accept()
                conn.close()
        def close(self): self.sock.close()
    """,
    """
    class Beat:
        def __init__(self, model):
            self.model = model
            self.t = Thread(target=self.go)
            self.t.daemon = True
            self.t.start()
        def go(self):
            while True:
                time.sleep(1)
    """,
]


@pytest.mark.parametrize("text", ENDLESS)
def test_what_nothing_ends(text: str) -> None:
    assert codes(text, PRELUDE + IMPORTS) == {"TML505"}


@pytest.mark.parametrize("text", ENDED)
def test_what_comes_to_its_end(text: str) -> None:
    assert codes(text, PRELUDE + IMPORTS) == set()


ROUND_AND_ROUND = """
import itertools

def tokenise(shard):
    return torch.zeros(64, 512)

class Shards:
    def __init__(self, names):
        self.names, self.ready = names, queue.Queue(4)
        self.stop = threading.Event()
        threading.Thread(target=self.feed, daemon=True).start()

    def feed(self):
        for {}:
            {}

class Epoch:
    def __init__(self, names):
        self.names = names
        self.shards = Shards(names)

    def __iter__(self):
        shards = {}
        for _ in range(8):
            yield from shards.ready.get()

def main(names, model):
    epoch = Epoch(names)
    for _ in range(10):
        for row in epoch:
            print(model(row))
"""
PUTS = "self.ready.put(tokenise(name))"
ASKS = "if self.stop.is_set():\n                return\n            " + PUTS


@pytest.mark.parametrize(
    "round_",
    [
        "name in itertools.cycle(self.names)",
        "number, name in enumerate(itertools.cycle(self.names))",
        "name in itertools.count()",
        "name in itertools.repeat('all')",
    ],
)
def test_what_goes_round_for_ever(round_: str) -> None:
    assert "TML505" in codes(ROUND_AND_ROUND.format(round_, PUTS, "Shards(self.names)"), PRELUDE + IMPORTS)
    assert not codes(ROUND_AND_ROUND.format(round_, PUTS, "self.shards"), PRELUDE + IMPORTS)
    assert "TML505" not in codes(ROUND_AND_ROUND.format(round_, ASKS, "self.shards"), PRELUDE + IMPORTS)


@pytest.mark.parametrize(
    "round_",
    ["name in self.names", "name in itertools.islice(itertools.cycle(self.names), 64)", "name in range(64)"],
)
def test_what_goes_round_some_times(round_: str) -> None:
    found = codes(
        ROUND_AND_ROUND.format(round_, "self.ready.put_nowait(name)", "Shards(self.names)"), PRELUDE + IMPORTS
    )
    assert "TML505" not in found
