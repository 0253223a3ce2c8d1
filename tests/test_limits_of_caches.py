"""A cache that takes a limit, of which a data set in loader workers sets none."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

CACHE = """
import torch

class Cache:
    def __init__(self, max_size=None):
        self.max_size = max_size
        self.entries = {}

    def get(self, path):
        if path in self.entries:
            return self.entries[path]
        clip = torch.frombuffer(open(path, 'rb').read(), dtype=torch.uint8).clone()
        self.entries[path] = clip
        if self.max_size is not None:
            while len(self.entries) > self.max_size:
                self.entries.pop(next(iter(self.entries)))
        return clip

    def clear(self):
        self.entries.clear()
"""
CLIPS = """
import sys
from torch.utils.data import DataLoader, Dataset
from cache import Cache

class Clips(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.cache = Cache(LIMIT)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.cache.get(self.paths[index])MARK

def main(paths):
    clips = Clips(paths)
    for batch in DataLoader(clips, batch_size=4, num_workers=2):
        print(batch.mean().item())

if __name__ == "__main__":
    main(sys.argv[1:])
"""
EMPTIED = CACHE.replace(
    "        clip = ", "        if path.endswith('0.pt'):\n            self.clear()\n        clip = "
)


def _project(limit: str, mark: str, cache: str = CACHE) -> dict[str, str]:
    text = CLIPS.replace("LIMIT", limit).replace("MARK", mark)
    return {"cache.py": cache, "fit.py": text}


PROJECTS = {
    "no limit": _project("", "  # TML404"),
    "a limit": _project("max_size=8", ""),
    "a limit by position": _project("8", ""),
    "no limit, and emptied now and then": _project("", "", EMPTIED),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)


READERS = """
import torch

class Reader:
    def __init__(self, path):
        self.path, self.table = path, torch.zeros(64, 64)

    def row(self, index):
        return self.table[index % 64]

class Open:
    def __init__(self, most=None):
        self.most = most
        self.by_path = {}

    def reader(self, path):
        if path not in self.by_path:
            self.by_path[path] = Reader(path)
            while self.most is not None and len(self.by_path) > self.most:
                self.by_path.pop(next(iter(self.by_path)))
        return self.by_path[path]
"""
ROWS = """
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, paths, opened):
        self.paths, self.opened = paths, opened

    def __len__(self):
        return 64 * len(self.paths)

    def __getitem__(self, index):
        return self.opened.reader(self.paths[index // 64]).row(index)
"""
FIT = """
import sys
from torch.utils.data import DataLoader
from readers import Open
from rows import Rows

MAKE

def main(paths):
    rows = GIVEN
    loader = DataLoader(rows, batch_size=8, num_workers=WORKERS)STARTED
    for batch in loader:
        print(batch.mean().item())

if __name__ == "__main__":
    main(sys.argv[1:])
"""


def _given(given: str, make: str = "", workers: str = "2", started: str = "") -> dict[str, str]:
    fit = FIT.replace("GIVEN", given).replace("MAKE", make).replace("WORKERS", workers).replace("STARTED", started)
    return {"readers.py": READERS, "rows.py": ROWS, "fit.py": fit}


MADE_HERE = {
    "in the call of the data set": _given("Rows(paths, Open())  # TML404"),
    "as an attribute": _given("Rows(paths, None)\n    rows.opened = Open(most=None)  # TML404"),
    "for a name": _given("Rows(paths, opened)", "opened = Open()  # TML404"),
    "by a helper": _given("table(paths)", "def table(paths):\n    return Rows(paths, opened=Open())  # TML404"),
    "with a limit": _given("Rows(paths, Open(4))"),
    "with a limit by name": _given("table(paths, 4)", "def table(paths, n):\n    return Rows(paths, Open(most=n))"),
    "emptied by a subclass": _given(
        "Few(paths, Open())",
        "class Few(Rows):\n    def __getitem__(self, index):\n        if len(self.opened.by_path) > 4:\n"
        "            self.opened.by_path.clear()\n        return super().__getitem__(index)",
    ),
}


@pytest.mark.parametrize("name", MADE_HERE)
def test_caches_that_are_given_to_data_sets(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(MADE_HERE[name], tmp_path, monkeypatch)
