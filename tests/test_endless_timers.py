"""Processes and timers that nothing can end, and those that somebody does; callbacks for the end of the program."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, codes

IMPORTS = """\
import atexit
import multiprocessing as mp
import threading
import time
"""

ENDLESS = [
    """
    def serve(model, inq, outq):
        while True:
            outq.put(model(inq.get()))
    class Pool:
        def __init__(self, model, n):
            self.inq, self.outq = mp.Queue(), mp.Queue()
            self.workers = []
            for _ in range(n):
                p = mp.Process(target=serve, args=(model, self.inq, self.outq))
                p.start()
                self.workers.append(p)
    """,
    """
    class Beat:
        def __init__(self, model):
            self.model = model
            self.tick()
        def tick(self):
            print(self.model)
            self.timer = threading.Timer(30, self.tick)
            self.timer.start()
    """,
    """
    class Beat:
        def __init__(self, loop):
            self.loop = loop
            self.rows = []
            loop.call_soon(self._tick)
        def _tick(self):
            self.rows.append(torch.zeros(3)); self.rows.pop()
            self.loop.call_later(5, self._tick)
        def close(self):
            self.rows.clear()
    """,
    """
    ctx = mp.get_context("spawn")
    def act(rank, model, out):
        env = make_env(rank)
        obs = env.reset()
        while True:
            with torch.no_grad():
                a = model(obs)
            obs, r, done, _ = env.step(a)
            out.put((obs, r))
    def launch_actors(model, n, out):
        for r in range(n):
            ctx.Process(target=act, args=(r, model, out)).start()
    """,
    """
    class Feeder(mp.Process):
        def __init__(self, ds, q):
            mp.Process.__init__(self)
            self.ds, self.q = ds, q
            self.exit_event = mp.Event()
        def run(self):
            while not self.exit_event.is_set():
                self.q.put(self.ds[0])
    class Loader:
        def __init__(self, ds):
            self.q = mp.Queue(4)
            self.feeders = [Feeder(ds, self.q) for _ in range(2)]
            for f in self.feeders:
                f.start()
    """,
    """
    class Flusher:
        def __init__(self):
            self.rows = []
            self._arm()
        def _arm(self):
            t = threading.Timer(10.0, self._flush)
            t.start()
        def _flush(self):
            self.rows.clear()
            self._arm()
    """,
]

ENDED = [
    """
    def serve(model, inq, outq):
        while True:
            outq.put(model(inq.get()))
    class Pool:
        def __init__(self, model, n):
            self.inq, self.outq = mp.Queue(), mp.Queue()
            self.workers = []
            for _ in range(n):
                p = mp.Process(target=serve, args=(model, self.inq, self.outq))
                p.start()
                self.workers.append(p)
        def close(self):
            for p in self.workers: p.terminate()
    """,
    """
    class Beat:
        def __init__(self, model):
            self.model = model
            self.tick()
        def tick(self):
            print(self.model)
            self.timer = threading.Timer(30, self.tick)
            self.timer.start()
        def stop(self): self.timer.cancel()
    """,
    """
    class Beat:
        def __init__(self, loop):
            self.loop = loop
            self.rows = []
            self._closed = False
            loop.call_soon(self._tick)
        def _tick(self):
            if self._closed: return
            self.rows.clear()
            self.loop.call_later(5, self._tick)
        def close(self):
            self._closed = True
    """,
    """
    def act(rank, model, out, stop):
        while not stop.is_set():
            out.put(model(rank))
    def launch(model, n, out):
        stop = mp.Event()
        ps = [mp.Process(target=act, args=(r, model, out, stop)) for r in range(n)]
        for p in ps: p.start()
        return ps, stop
    """,
    """
    class Flusher:
        def __init__(self):
            self.rows = []
            self._arm()
        def _arm(self):
            if self.rows is not None:
                t = threading.Timer(10.0, self._flush)
                t.start()
        def _flush(self):
            self.rows.clear()
            self._arm()
        def close(self): self.rows = None
    """,
]


@pytest.mark.parametrize("text", ENDLESS)
def test_what_nothing_ends(text: str) -> None:
    assert codes(text, PRELUDE + IMPORTS) == {"TML505"}


@pytest.mark.parametrize("text", ENDED)
def test_what_comes_to_its_end(text: str) -> None:
    assert codes(text, PRELUDE + IMPORTS) == set()


SAVED = """
def serve(path):
    model = Net()

    @atexit.register
    def save():
        torch.save({}, path)

    model(torch.zeros(1, 8))

for name in "abc":
    serve(name)
"""


def test_callbacks_registered_by_a_decorator() -> None:
    assert codes(SAVED.format("model.state_dict()"), PRELUDE + IMPORTS) == {"TML314"}
    assert codes(SAVED.format("path"), PRELUDE + IMPORTS) == set()
