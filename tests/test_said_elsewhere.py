"""What a file says of itself is not said again in those that use it; what only its user knows is said there."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_STREAM = """
import queue
import threading
import torch

class Stream:
    def __init__(self, paths):
        self.paths = paths
        self.queue = queue.Queue()
        self.thread = threading.Thread(target=self.fill)
        self.thread.start()

    def fill(self):
        for path in self.paths:
            self.queue.put(torch.rand(3, 640, 640) * len(path))  # TML504

    def __iter__(self):
        for _ in self.paths:
            yield self.queue.get()
"""

_USE_STREAM = """
from stream import Stream

for x in Stream(["first", "second"]):
    print(x.mean())
"""

_BUCKETS = """
import functools
import torch

class Buckets:
    def __init__(self, size):
        self.buffer = torch.zeros(size)

    @functools.lru_cache()  # TML305
    def shard(self, count):
        return len(self.buffer) // count
"""

_USE_BUCKETS = """
from buckets import Buckets

for size in range(2, 9):
    buckets = Buckets(size)
    print(buckets.shard(2))
"""

_PAIR = """
import functools

@functools.lru_cache(maxsize=64)
def area(box, scale):
    return scale * (box[2] - box[0]) * (box[3] - box[1])
"""

_USE_PAIR = """
import torch
from pair import area

for number in range(99):
    print(area(torch.rand(4), number))  # TML305
"""


def test_a_queue_without_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"stream.py": _STREAM, "use.py": _USE_STREAM}, tmp_path, monkeypatch)


def test_a_cache_of_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"buckets.py": _BUCKETS, "use.py": _USE_BUCKETS}, tmp_path, monkeypatch)


def test_a_cache_that_only_its_user_gives_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"pair.py": _PAIR, "use.py": _USE_PAIR}, tmp_path, monkeypatch)
