"""Threads that an object of another file starts and nothing ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

FEED = """
import queue
import threading

class Feed:
    def __init__(self, loader):
        self.loader, self.ready = loader, queue.Queue(4)
        self.done = threading.Event()
        self.worker = threading.Thread(target=self.run, daemon=True)
        self.worker.start()

    def run(self):
        while {test}:
            for batch in self.loader:
                self.ready.put(batch.cuda())

    def close(self):
        self.done.set()
"""
SCRIPT = """
from feed import Feed

def train(model, loader, optimizer, epochs):
    {first}
    for _ in range(epochs):
        {each}
        for _ in range(len(loader)):
            loss = model(feed.ready.get()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {end}
"""
EACH = "feed = Feed(loader)"


@pytest.mark.parametrize(
    ("test", "first", "each", "end"),
    [
        ("True", "pass", EACH + "  # TML505", "pass"),
        ("True", EACH, "pass", "pass"),
        ("not self.done.is_set()", "pass", EACH, "feed.close()"),
    ],
)
def test_one_for_each_epoch(
    test: str, first: str, each: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"feed.py": FEED.format(test=test), "script.py": SCRIPT.format(first=first, each=each, end=end)}
    check_project(files, tmp_path, monkeypatch)


def test_the_loop_of_the_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = """
import threading

def beat(model):
    while True:
        model.ping()

def start(models):
    for model in models:
        threading.Thread(target=beat, args=(model,), daemon=True).start()
"""
    script = """
from pool import start

def train(model, loader, optimizer):
    start([model])
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
"""
    check_project({"pool.py": pool, "script.py": script}, tmp_path, monkeypatch)
