"""Threads, processes and timers that nothing can end, and writers that nobody closes; and those that somebody does."""

from __future__ import annotations

import textwrap

import pytest
from snippets import PLAN, PRELUDE

from torchmemlint.linter.engine import lint_source
from torchmemlint.source import decode

IMPORTS = """\
import atexit
import itertools
import multiprocessing as mp
import threading
import time
import weakref
from functools import partial
from threading import Thread

from torch.utils.tensorboard import SummaryWriter
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

LEFT_OPEN = [
    """
    def log_epoch(folder, losses):
        writer = SummaryWriter(folder)
        for i, loss in enumerate(losses):
            writer.add_scalar("loss", loss, i)
    """,
    """
    class Trainer:
        def train(self, path, val=None):
            train_w = None
            val_w = None
            train_w = SummaryWriter(path)
            if val is not None:
                val_w = SummaryWriter(path + "/val")
            self.evaluate(train_w, val_w)
        def evaluate(self, one, two):
            if one:
                one.add_scalar("x", 1, 1)
                one.flush()
    """,
    """
    def fit(cfg):
        tb = SummaryWriter(cfg.out) if cfg.tb else None
        if tb is not None:
            tb.add_text("cfg", str(cfg))
    if __name__ == "__main__":
        for cfg in [1, 2]:
            fit(cfg)
    """,
    """
    def graph(model, x, folder):
        SummaryWriter(folder).add_graph(model, x)
    """,
    """
    import tensorboardX
    class Evaluator:
        def on_epoch(self, epoch, images):
            board = tensorboardX.SummaryWriter(logdir=f"runs/{epoch}")
            self._show(board, images)
        def _show(self, board, images):
            board.add_images("x", images)
    """,
    """
    class Run:
        def open(self, folder):
            writer = SummaryWriter(folder)
            self.writer = writer
        def close(self):
            self.writer.flush()
    """,
    """
    class Logger2:
        def log_video(self, name, frames, step):
            sw = SummaryWriter(log_dir=name)
            sw.add_video(name, frames, step)
            sw.flush()
    """,
    """
    def write_histograms(model, folder, step):
        from tensorboardX import SummaryWriter as SW
        tb = SW(folder)
        for n, p in model.named_parameters():
            tb.add_histogram(n, p, step)
    """,
    """
    def sweep(configs):
        for c in configs:
            writer = SummaryWriter(c.dir)
            train_one(c, writer)
    def train_one(c, writer):
        writer.add_scalar("a", 1, 2)
    """,
    """
    class Experiment:
        def execute(self, seed):
            board: SummaryWriter = SummaryWriter(str(seed))
            board.add_scalar("s", seed, 0)
    """,
    """
    class Callback:
        def on_fit_end(self, trainer, result):
            w = SummaryWriter(trainer.dir)
            try:
                w.add_scalar("r", result, 0)
            except OSError:
                w.close()
                raise
    """,
    """
    class Agg:
        def agg(self, runs):
            writers = [SummaryWriter(r) for r in runs]
            for w in writers:
                w.add_scalar("x", 1, 0)
    """,
]

CLOSED = [
    """
    def log_epoch(folder, losses):
        writer = SummaryWriter(folder)
        for i, loss in enumerate(losses):
            writer.add_scalar("loss", loss, i)
        writer.close()
    """,
    """
    class Trainer:
        def train(self, path, val=None):
            train_w = None
            val_w = None
            train_w = SummaryWriter(path)
            val_w = SummaryWriter(path + "/val")
            self.evaluate(train_w, val_w)
            for w in (train_w, val_w):
                w.close()
        def evaluate(self, one, two):
            if one:
                one.add_scalar("x", 1, 1)
                one.flush()
    """,
    """
    def fit(cfg):
        tb = SummaryWriter(cfg.out) if cfg.tb else None
        if tb is not None:
            tb.add_text("cfg", str(cfg))
    if __name__ == "__main__":
        fit(1)
    """,
    """
    def graph(model, x, folder):
        with SummaryWriter(folder) as w:
            w.add_graph(model, x)
    """,
    """
    import tensorboardX
    class Evaluator:
        def on_epoch(self, epoch, images):
            board = tensorboardX.SummaryWriter(logdir=f"runs/{epoch}")
            self._show(board, images)
        def _show(self, board, images):
            board.add_images("x", images)
            board.close()
    """,
    """
    def make(folder):
        w = SummaryWriter(folder)
        w.add_text("a", "b")
        return w
    """,
    """
    class Run:
        def begin(self, folder):
            w = SummaryWriter(folder)
            atexit.register(w.close)
            w.add_text("a", "b")
    """,
    """
    class Run:
        def begin(self, folder):
            w = SummaryWriter(folder)
            self.backend = Backend(w)
    """,
    """
    class Agg:
        def agg(self, runs):
            writers = [SummaryWriter(r) for r in runs]
            for w in writers:
                w.add_scalar("x", 1, 0)
            for w in writers: w.close()
    """,
    """
    class Exp:
        def go(self, folder):
            try:
                w = SummaryWriter(folder)
                w.add_text("a","b")
            finally:
                w.close()
    """,
]


def found(text: str) -> set[str]:
    source = PRELUDE + IMPORTS + textwrap.dedent(text)
    return {finding.code for finding in lint_source(decode("snippet.py", source.encode()), PLAN)}


@pytest.mark.parametrize("text", [*ENDLESS, *LEFT_OPEN])
def test_what_nothing_ends(text: str) -> None:
    assert found(text) == {"TML505"}


@pytest.mark.parametrize("text", [*ENDED, *CLOSED])
def test_what_comes_to_its_end(text: str) -> None:
    assert found(text) == set()


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
    assert found(SAVED.format("model.state_dict()")) == {"TML314"}
    assert found(SAVED.format("path")) == set()
