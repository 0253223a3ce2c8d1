"""Workers, threads and loaders: programs like those that the linter met unprepared, each with its lookalike."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import threading
import time
import multiprocessing as mp
from torch.utils.data import DataLoader, Dataset
"""


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


LOADING = """
class Loading(threading.Thread):
    def __init__(self, path):
        super().__init__()
        self.path, self.shard, self.error = path, None, None

    def run(self):
        self.shard = torch.load(self.path)

class Schedule:
    def __init__(self, paths):
        self.paths = paths
        self.jobs = {}

    def prefetch(self, index):
        if index < len(self.paths) and index not in self.jobs:
            job = Loading(self.paths[index])
            self.jobs[index] = job%s
            job.start()

    def get(self, index):
        self.prefetch(index + 1)
        job = self.jobs%s
        job.join()
        return job.shard

def go(paths):
    schedule = Schedule(paths)
    return [schedule.get(i)["x"].mean().item() for i in range(len(paths))]
"""


@pytest.mark.parametrize(("mark", "taken"), [("  # TML501", "[index]"), ("", ".pop(index)")])
def test_finished_loading_threads_under_counted_numbers(mark: str, taken: str) -> None:
    _check(LOADING % (mark, taken))


POOLS = """
class Inverter:
    def __init__(self):
        self.pools = {}

    def pool_for(self, key, patch):
        if key not in self.pools:
            self.pools[key] = mp.Pool(2, initargs=(patch,))%s
        return self.pools[key]

def go(patches):
    inverter = Inverter()
    for k in range(patches):
        inverter.pool_for(%s, torch.zeros(k))
"""


@pytest.mark.parametrize(("mark", "key"), [("  # TML408", 'f"patch{k}"'), ("", '"patch"'), ("", "k % 4")])
def test_pools_under_names_with_a_number_in_them(mark: str, key: str) -> None:
    _check(POOLS % (mark, key))


CACHE = """
class Cache:
    def __init__(self):
        self.table = {}
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.tidy, daemon=True)
        self.thread.start()

    def tidy(self):
        while not self.closed.wait(1.0):
            self.table.clear()

    def close(self):
        self.closed.set()

def look_up(cache, name, net):
    if name not in cache.table:
        cache.table[name] = torch.zeros(8)
    %s
    return cache.table[name]

def session(names, net):
    cache = Cache()%s
    return sum(look_up(cache, name, net).sum().item() for name in names)

def serve(requests, net):
    for names in requests:
        session(names, net)
"""


@pytest.mark.parametrize(
    ("mark", "does"),
    [
        ("  # TML505", "print(len(cache.table))"),
        ("", "cache.close()"),
        ("", "net.caches.append(cache)"),
        ("", "finish = lambda: cache.close()"),
    ],
)
def test_an_object_with_a_thread_that_is_only_lent(mark: str, does: str) -> None:
    _check(CACHE % (does, mark))


GRABBER = """
class Grabber:
    def __init__(self, most):
        self.frames, self.most, self.going, self.waits = deque(), most, True, 0

    def __call__(self):
        while self.going:
            if len(self.frames) > self.most:
                self.waits += 1
                time.sleep(0.001)
                %s
            self.frames.append(torch.rand(3, 64, 64))%s

def go(steps):
    grabber = Grabber(2)
    threading.Thread(target=grabber).start()
    for _ in range(steps):
        if grabber.frames:
            print(grabber.frames.popleft().mean().item())
"""


@pytest.mark.parametrize(("does", "mark"), [("pass", "  # TML504"), ("continue", ""), ("self.frames.clear()", "")])
def test_a_limit_that_is_asked_and_keeps_nothing_out(does: str, mark: str) -> None:
    _check(GRABBER % (does, mark))


OPENED = """
class Decoders:
    def __init__(self):
        self.table = {}

    def get(self, path):
        if path not in self.table:
            self.table[path] = %s
        return self.table[path]

class Clips(Dataset):
    def __init__(self, paths):
        self.paths, self.decoders = paths, Decoders()

    def __getitem__(self, i):
        return self.decoders.get(self.paths[i]).read(64)
"""


@pytest.mark.parametrize("made", ['open(path, "rb")  # TML406', "h5py.File(path)"])
def test_files_that_are_items_and_files_of_many_items(made: str) -> None:
    _check("import h5py\n" + OPENED % made)
