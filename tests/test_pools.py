"""What pools of processes and threads leave in their workers; `# TML401` says what is due."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from projects import check_project
from snippets import PRELUDE, check

START = """\
import asyncio, functools, multiprocessing, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

SEEN = {}
NUMBERS = {}

def load(index):
    return torch.rand(64, 64) * index

def dedupe(function):
    @functools.wraps(function)
    def wrapper(*args):
        if args not in SEEN:
            SEEN[args] = function(*args)%s
        return SEEN[args]
    return wrapper

"""
FILLED = {
    "function attribute": """
        def back(index):
            back.made[index] = load(index)  # TML401
            return index

        back.made = {}

        def main():
            with multiprocessing.Pool(2) as pool:
                return pool.map(back, range(9))
        """,
    "function attribute through a partial": """
        def back(cfg, index):
            back.made.append(load(index))  # TML401
            return index

        back.made = []

        def main():
            with multiprocessing.Pool(2) as pool:
                return list(pool.imap(functools.partial(back, 3), range(9)))
        """,
    "decorator": """
        @dedupe
        def mean(index):
            return load(index)

        def work(index):
            return mean(index).mean().item()

        def main():
            with ProcessPoolExecutor(2) as pool:
                return list(pool.map(work, range(9)))
        """,
    "decorated method": """
        class Scene:
            @dedupe
            def frame(self, index):
                return load(index)

        def work(index):
            return Scene().frame(index).mean().item()

        def main():
            with ProcessPoolExecutor(2) as pool:
                return list(pool.map(work, range(9)))
        """,
    "object of the initializer": """
        class Scene:
            def __init__(self):
                self.trail = {}

            def add(self, index):
                self.trail.setdefault(index % 3, []).append(load(index))  # TML401
                return index

        scene = None

        def begin():
            global scene
            scene = Scene()

        def work(job):
            name, index = job
            return getattr(scene, name)(index)

        def main():
            with ProcessPoolExecutor(2, initializer=begin) as pool:
                return list(pool.map(work, [("add", index) for index in range(9)]))
        """,
    "executor of an event loop": """
        def work(index):
            NUMBERS[index] = load(index)  # TML401
            return index

        async def main(pool: ProcessPoolExecutor):
            with ProcessPoolExecutor(2) as pool:
                for index in range(9):
                    await asyncio.get_running_loop().run_in_executor(pool, work, index)
        """,
    "thread-local class": """
        class Trace(threading.local):
            def __init__(self):
                self.spans = []

            def reset(self):
                self.spans.clear()

        class Scorer:
            def __init__(self):
                self.trace, self.pool = Trace(), ThreadPoolExecutor(2)

            def score(self, index):
                self.trace.spans.append(load(index))  # TML502
                return index

            def serve(self, jobs):
                return list(self.pool.map(self.score, jobs))
        """,
    "thread-local object": """
        own = threading.local()
        own.spans = []

        def score(index):
            own.spans.append(load(index))  # TML502
            return index

        def serve(pool: ThreadPoolExecutor, jobs):
            with ThreadPoolExecutor(2) as pool:
                return [pool.submit(score, job) for job in jobs]
        """,
    "table that each thread makes when it has none": """
        own = threading.local()

        def table():
            seen = getattr(own, "seen", None)
            if seen is None:
                seen = own.seen = {}
            return seen

        def score(request):
            table()[request.id] = load(request.id)  # TML502
            return request.id

        def serve(requests):
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(score, requests))
        """,
}
NOT_FILLED = {
    "windows that each thread makes when it has none": """
        own = threading.local()

        def window(layer_name, request):
            if not hasattr(own, "windows"):
                own.windows, own.last = {}, {}
            own.last = {request.id: load(request.id)}
            if layer_name not in own.windows:
                own.windows[layer_name] = load(9)
            return own.windows[layer_name]

        def score(request):
            return window("stem", request).mean().item()

        def serve(requests):
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(score, requests))
        """,
    "emptied function attribute": """
        def back(index):
            back.made.clear()
            back.made[index] = load(index)
            return index

        back.made = {}

        def main():
            with multiprocessing.Pool(2) as pool:
                return pool.map(back, range(9))
        """,
    "counting function attribute": """
        def back(index):
            back.calls = back.calls + 1
            return index

        back.calls = 0

        def main():
            with multiprocessing.Pool(2) as pool:
                return pool.map(back, range(9))
        """,
    "decorator of numbers": """
        @dedupe
        def mean(index):
            return load(index).mean().item()

        def main():
            with ProcessPoolExecutor(2) as pool:
                return list(pool.map(mean, range(9)))
        """,
    "last of the initializer's object": """
        class Scene:
            def __init__(self):
                self.trail = []

            def add(self, index):
                self.trail[:] = [load(index)]
                return index

        scene = None

        def begin():
            global scene
            scene = Scene()

        def work(index):
            return scene.add(index)

        def main():
            with ProcessPoolExecutor(2, initializer=begin) as pool:
                return list(pool.map(work, range(9)))
        """,
    "thread-local emptied by the task": """
        class Trace(threading.local):
            def __init__(self):
                self.spans = []

        class Scorer:
            def __init__(self):
                self.trace, self.pool = Trace(), ThreadPoolExecutor(2)

            def score(self, index):
                self.trace.spans.append(load(index))
                total = sum(span.sum().item() for span in self.trace.spans)
                self.trace.spans.clear()
                return total

            def serve(self, jobs):
                return list(self.pool.map(self.score, jobs))
        """,
    "thread-local buffer": """
        own = threading.local()

        def score(index):
            own.buffer = load(index)
            return index

        def serve(jobs):
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(score, jobs))
        """,
}


@pytest.mark.parametrize("name", FILLED)
def test_workers_that_fill_up(name: str) -> None:
    check(START % ("  # TML401" if name.startswith("decorat") else "") + textwrap.dedent(FILLED[name]))


@pytest.mark.parametrize("name", NOT_FILLED)
def test_workers_that_do_not_fill_up(name: str) -> None:
    check(START % "" + textwrap.dedent(NOT_FILLED[name]))


# -- made on import -------------------------------------------------------------------------------

IMPORTED = """
import torch.multiprocessing as mp

ROWS, COLUMNS = 4096, 2048

def bank(rows):
    return torch.rand(rows, COLUMNS)

{}

def work(index):
    return index

def main():
    with mp.get_context("spawn").Pool(2) as pool:
        return pool.map(work, range(9))
"""


def test_what_a_function_makes_on_import() -> None:
    check(IMPORTED.format("BANK = bank(4096)  # TML402"))
    check(IMPORTED.format("BANK = bank(ROWS)  # TML402"))
    check(IMPORTED.format("BANK = bank(8)"))
    check(IMPORTED.format("PEAKS = torch.linspace(0.1, 0.9, 7)"))


MAIN_SCRIPT = """
from torch import nn
import torch.multiprocessing as mp
import strips

class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Linear(width, width)

    def forward(self, x):
        return self.stem(x)

def build(width):
    return Reader(width)

{}

def main(pages):
    with mp.get_context("spawn").Pool(2) as pool:
        return pool.map(strips.cut, pages)

{}
"""
GUARD = 'if __name__ == "__main__":\n    main(range(9))'


@pytest.mark.parametrize(
    ("made", "last"),
    [
        ("MODEL = build(width=1536).eval()  # TML402", GUARD),
        ("MODEL = build(width=64).eval()", GUARD),
        ("MODEL = build(width=1536).eval()", ""),
    ],
)
def test_what_the_main_script_makes_on_import(
    made: str, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"strips.py": "def cut(page):\n    return page\n", "read.py": MAIN_SCRIPT.format(made, last)}
    check_project(files, tmp_path, monkeypatch)


def test_snippets_are_programs() -> None:
    for text in (*FILLED.values(), *NOT_FILLED.values()):
        compile(PRELUDE + START % "" + textwrap.dedent(text), "snippet", "exec")


TABLE = """
import multiprocessing as mp
import numpy as np

def read(path):
    return torch.load(path)["embeddings"]

{made}

def score(i):
    return TABLE[i].sum()

def main(n):
    with mp.get_context("{method}").Pool(4) as pool:
        return sum(pool.imap(score, range(n)))

if __name__ == "__main__":
    main(100)
"""


@pytest.mark.parametrize(
    ("made", "method"),
    [
        ('TABLE = torch.load("table.pt")  # TML402', "spawn"),
        ('TABLE = np.load("table.npy").astype("float32")  # TML402', "forkserver"),
        ('TABLE = read("table.pt")  # TML402', "spawn"),
        ('TABLE = np.load("table.npy", mmap_mode="r")', "spawn"),
        ('TABLE = torch.load("table.pt")', "fork"),
        ('if __name__ == "__main__":\n    TABLE = torch.load("table.pt")', "spawn"),
    ],
)
def test_tables_that_are_loaded_on_import(made: str, method: str) -> None:
    check(TABLE.format(made=made, method=method))
