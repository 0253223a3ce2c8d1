"""Threads that nothing can end: those that keep the object whose end would be theirs, and those that wait for room."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = "import queue\nimport subprocess\nimport threading\nimport weakref\n"


@pytest.mark.parametrize(
    "text",
    [
        # what the thread runs comes to an end by itself
        """
        class Warm:
            def __init__(self, paths):
                self.paths = paths
                threading.Thread(target=self.read, daemon=True).start()

            def read(self):
                for path in self.paths:
                    torch.load(path)

            def __del__(self):
                self.close()
        """,
        # a weak reference
        """
        def poll(owner, stopped):
            while not stopped.wait(1.0):
                one = owner()
                if one is None:
                    return
                one.table.mul_(0.5)
                del one

        class Polled:
            def __init__(self):
                self.table = torch.zeros(8)
                self.stopped = threading.Event()
                threading.Thread(target=poll, args=(weakref.ref(self), self.stopped), daemon=True).start()

            def __del__(self):
                self.stopped.set()
        """,
        # nobody relies on `__del__`
        """
        class Polled:
            def __init__(self):
                self.stopped = threading.Event()
                self.thread = threading.Thread(target=self.poll, daemon=True)
                self.thread.start()

            def poll(self):
                while not self.stopped.wait(1.0):
                    print("still here")

            def close(self):
                self.stopped.set()
                self.thread.join()
        """,
        # the thread of a static method
        """
        class Server:
            def __init__(self, command):
                self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
                threading.Thread(target=self.copy, args=(self.process.stdout,), daemon=True).start()

            @staticmethod
            def copy(pipe):
                for line in iter(pipe.readline, b""):
                    print(line)

            def __del__(self):
                self.process.kill()
        """,
        # an iterator that can be closed
        """
        class Fed:
            def __init__(self, source):
                self.queue = queue.Queue(4)
                self.closed = False
                threading.Thread(target=self.feed, args=(source,)).start()

            def feed(self, source):
                for item in source:
                    self.queue.put(item)
                    if self.closed:
                        break

            def close(self):
                self.closed = True
                self.queue.get_nowait()

            def __next__(self):
                return self.queue.get()
        """,
        # a daemon, as most prefetchers have: read to the end by their loops
        """
        class Fed(threading.Thread):
            def __init__(self, source):
                super().__init__(daemon=True)
                self.queue = queue.Queue(4)
                self.source = source
                self.start()

            def run(self):
                for item in self.source:
                    self.queue.put(item)
                self.queue.put(None)

            def __next__(self):
                item = self.queue.get()
                if item is None:
                    raise StopIteration
                return item
        """,
    ],
)
def test_threads_that_end(text: str) -> None:
    check(IMPORTS + textwrap.dedent(text))


@pytest.mark.parametrize(
    "text",
    [
        """
        class Feed:
            def __init__(self):
                self.running = True
                self.rows = torch.zeros(64, 64)
                self.thread = threading.Thread(name="feed", target=self._fill)  # TML505
                self.thread.start()

            def _fill(self):
                while self.running:
                    self.rows.normal_()

            def close(self):
                self.running = False

            def __del__(self):
                self.close()
        """,
        """
        class Fed:
            def __init__(self, source):
                self.ready = queue.Queue(maxsize=2)

                def feed():
                    for item in source:
                        self.ready.put(item)
                    self.ready.put(None)

                self.feeder = threading.Thread(target=feed)
                self.feeder.start()  # TML505

            def __iter__(self):
                return self

            def __next__(self):
                item = self.ready.get()
                if item is None:
                    raise StopIteration
                return item
        """,
    ],
)
def test_threads_that_nothing_ends(text: str) -> None:
    check(IMPORTS + textwrap.dedent(text))


@pytest.mark.parametrize(
    "text",
    [
        # somebody waits for it
        """
        def launch(ranks, command, env):
            for rank in range(ranks):
                env["LOCAL_RANK"] = str(rank)
                process = subprocess.Popen(command, env=env)
                process.wait()
        """,
        # one of them, for the whole run
        """
        def show(logs, env):
            env["CUDA_VISIBLE_DEVICES"] = ""
            subprocess.Popen(["tensorboard", "--logdir", logs], env=env)
        """,
        # no ranks
        """
        def show(pictures):
            for picture in pictures:
                subprocess.Popen(["xdg-open", picture])
        """,
    ],
)
def test_processes_that_somebody_sees_to(text: str) -> None:
    check(IMPORTS + textwrap.dedent(text))


def test_processes_of_ranks_without_a_handle() -> None:
    check("""
    def launch(devices, command, env):
        for device in devices:
            env["CUDA_VISIBLE_DEVICES"] = str(device)
            process = subprocess.Popen(command, env=env)  # TML408
    """)


@pytest.mark.parametrize(
    "last",
    [
        "self.log.flush()\n        self.writer.close()",  # by the name of a property
        "log = self.writer\n        log.flush()\n        log.close()",
        "print('done')",  # nobody knows who ends it
    ],
)
def test_writers_that_somebody_closes(last: str) -> None:
    check(f"""
class Log:
    def __init__(self, folder):
        self.log = SummaryWriter(folder)

    @property
    def writer(self):
        return self.log

    def finalize(self):
        {last}
""")


def test_writer_that_is_only_used_at_the_end() -> None:
    check("""
    class Log:
        def start(self, folder):
            self.events = SummaryWriter(folder)  # TML505

        def on_train_end(self, best):
            self.events.add_scalar("best", best, 0)
    """)


DRAWN = """
import threading

SEEN = {{"weights": [], "counts": []}}

class Drawing:
    def __init__(self, weights, out):
        self.weights, self.out, self.stop, self.drawn = weights, out, threading.Event(), []
        self.thread = threading.Thread(target=self.{run}, daemon=True)
        self.thread.start()
        {made}

    def go_on(self):
        while not self.stop.is_set():
            picked = torch.multinomial(self.weights, 32)
            self.out.put(picked)
            {keep}

    def fill(self):
        for weight in self.weights:
            self.drawn.append(weight * 2)

def main(loader, out):
    drawing = Drawing(torch.ones(64), out)
    for x in loader:
        print(x.sum(), out.get())
"""


@pytest.mark.parametrize(
    ("run", "made", "keep"),
    [
        ("go_on", "pass", 'SEEN["weights"].append(self.weights.clone())  # TML301'),
        ("go_on", "pass", "self.drawn.append(picked)  # TML303"),
        ("go_on", "pass", 'SEEN["counts"].append(picked.sum().item())'),
        ("go_on", "pass", "self.drawn.append(picked); self.drawn = self.drawn[-8:]"),
        ("fill", "pass", "pass"),
        ("fill", "self.drawn = [weight * 2 for weight in weights]", "pass"),
    ],
)
def test_threads_that_a_constructor_starts(run: str, made: str, keep: str) -> None:
    check(DRAWN.format(run=run, made=made, keep=keep))
