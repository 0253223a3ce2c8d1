"""Workers that never end and are started only where the last one is no more; `# TML505` says what is due."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = """
import queue
import threading

jobs = queue.Queue()
lock = threading.Lock()
worker = None
busy = set()


def drain():
    while True:
        print(jobs.get().sum())

"""
SUBMIT = """
def submit(x):
    global worker
    with lock:
        {}
    jobs.put(x)


def main(n):
    for _ in range(n):
        submit(torch.rand(8))
"""
ONE_AT_A_TIME = {
    "where none is there": """
        if worker is None:
            worker = threading.Thread(target=drain, daemon=True)
            worker.start()
    """,
    "where it has died": """
        if worker is None or not worker.is_alive():
            worker = threading.Thread(target=drain, daemon=True)
            worker.start()
    """,
    "tried, and forgotten where that fails": """
        if worker is None or not worker.is_alive():
            try:
                worker = threading.Thread(target=drain, daemon=True)
                worker.start()
            except RuntimeError:
                worker = None
                raise
    """,
    "left where it is alive": """
        if worker is not None and worker.is_alive():
            return jobs.put(x)
        worker = threading.Thread(target=drain, daemon=True)
        worker.start()
    """,
}
EACH_TIME = {
    "one for each": """
        worker = threading.Thread(target=drain, daemon=True)  # TML505
        worker.start()
    """,
    "under a test of something else": """
        if x.numel() > 4:
            worker = threading.Thread(target=drain, daemon=True)  # TML505
            worker.start()
    """,
}
OF_AN_OBJECT = """
class Feeder:
    def __init__(self):
        self.jobs = queue.Queue()
        self.worker = None

    def drain(self):
        while True:
            print(self.jobs.get().sum())

    def submit(self, x):
        if self.worker is None:
            self.worker = threading.Thread(target=self.drain, daemon=True)
            self.worker.start()
        self.jobs.put(x)


def main(n):
    feeder = Feeder()
    for _ in range(n):
        feeder.submit(torch.rand(8))
"""


def _program(body: str) -> str:
    return HEAD + SUBMIT.replace("        {}", textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8))


@pytest.mark.parametrize("name", ONE_AT_A_TIME)
def test_one_worker_at_a_time(name: str) -> None:
    check(_program(ONE_AT_A_TIME[name]).replace("jobs.put(x)", "jobs.put(x.shape)"))


@pytest.mark.parametrize("name", EACH_TIME)
def test_one_worker_more_each_time(name: str) -> None:
    check(_program(EACH_TIME[name]).replace("jobs.put(x)", "jobs.put(x.shape)"))


def test_the_worker_of_an_object() -> None:
    check((HEAD + OF_AN_OBJECT).replace("jobs.put(x)", "jobs.put(x.shape)"))
