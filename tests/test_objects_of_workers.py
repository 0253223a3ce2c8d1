"""What a worker process keeps in objects of its own, one more for each task that it takes."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

READS = """
import multiprocessing as mp
import numpy as np

class Reader:
    def __init__(self):
        self.waves, self.most = {{}}, 8

    def load(self, path):
        if path not in self.waves:
            {limit}
            self.waves[path] = np.load(path){mark}
        return torch.from_numpy(self.waves[path])

def work(tasks, results):
    reader = Reader()
    {loop}
        {inside}
        results.put(reader.load(path).mean().item())

def main(paths):
    tasks, results = mp.Queue(8), mp.Queue(8)
    workers = [mp.Process(target=work, args=(tasks, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for path in paths:
        tasks.put(path)
        print(results.get())
    for worker in workers:
        tasks.put(None)
        worker.join()
"""
WHILE = "while (path := tasks.get()) is not None:"
ITER = "for path in iter(tasks.get, None):"
MARK = "  # TML401"


def _reads(loop: str = WHILE, limit: str = "pass", inside: str = "pass", mark: str = "") -> str:
    return READS.format(loop=loop, limit=limit, inside=inside, mark=mark)


@pytest.mark.parametrize("loop", [WHILE, ITER], ids=["while", "iter"])
def test_a_reader_that_keeps_what_it_was_asked_for(loop: str) -> None:
    check(_reads(loop, mark=MARK))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"inside": "reader = Reader()"},
        {"limit": "while len(self.waves) >= self.most:\n                self.waves.pop(next(iter(self.waves)))"},
        {"inside": "reader.waves.clear()"},
    ],
    ids=["one for each task", "a limit", "emptied"],
)
def test_readers_that_let_go(kwargs: dict[str, str]) -> None:
    check_innocent(_reads(**kwargs))


PROCESS = """
import multiprocessing as mp

class Worker(mp.Process):
    def __init__(self, tasks, results):
        super().__init__(daemon=True)
        self.tasks, self.results = tasks, results
        self.kept = {{}}

    def run(self):
        while True:
            path = self.tasks.get()
            if path is None:
                break
            {work}

def main(paths):
    tasks, results = mp.Queue(8), mp.Queue(8)
    worker = Worker(tasks, results)
    worker.start()
    for path in paths:
        tasks.put(path)
        print(results.get())
    tasks.put(None)
    worker.join()
"""
KEEPS = """if path not in self.kept:
                self.kept[path] = {value}{mark}
            self.results.put(self.kept[path].sum().item())"""


@pytest.mark.parametrize("value", ["torch.load(path)", "torch.rand(1000, 100)"])
def test_a_process_that_keeps_what_it_was_asked_for(value: str) -> None:
    check(PROCESS.format(work=KEEPS.format(value=value, mark=MARK)))


@pytest.mark.parametrize(
    "work",
    [
        'self.kept["last"] = torch.load(path)\n            self.results.put(self.kept["last"].sum().item())',
        "self.kept[path] = torch.load(path).sum().item()\n            self.results.put(self.kept[path])",
        "kept = {path: torch.load(path)}\n            self.results.put(kept[path].sum().item())",
    ],
    ids=["the last one", "numbers", "of this task"],
)
def test_processes_that_keep_little(work: str) -> None:
    check_innocent(PROCESS.format(work=work))
