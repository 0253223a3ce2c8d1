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
