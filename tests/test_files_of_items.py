"""Open files under their paths: one for each item of a data set, or a few shards."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SCANS = """
import functools
import zipfile
import h5py
from torch.utils.data import DataLoader, Dataset

class Scans(Dataset):
    def __init__(self, paths, shards):
        self.paths, self.shards = paths, shards
        self.files = {{}}

    def __len__(self):
        return {length}

    def file(self, path):
        if path not in self.files:
            self.files[path] = {opened}{mark}
        return self.files[path]

    def __getitem__(self, index):
        {asked}
        return torch.from_numpy(file["scan"][0])

def main(paths, shards):
    return DataLoader(Scans(paths, shards), num_workers=2)
"""
MARK = "  # TML406"


def _scans(
    asked: str = "file = self.file(self.paths[index])",
    length: str = "len(self.paths)",
    opened: str = 'h5py.File(path, "r")',
    mark: str = "",
) -> str:
    return SCANS.format(asked=asked, length=length, opened=opened, mark=mark)


@pytest.mark.parametrize(
    "asked",
    ["file = self.file(self.paths[index])", "path = self.paths[index]\n        file = self.file(path)"],
    ids=["at once", "by a name"],
)
@pytest.mark.parametrize("opened", ['h5py.File(path, "r")', "zipfile.ZipFile(path)"])
def test_a_file_for_each_item(asked: str, opened: str) -> None:
    check(_scans(asked, opened=opened, mark=MARK))


@pytest.mark.parametrize(
    ("asked", "length"),
    [
        ("file = self.file(self.shards[index // 100])", "100 * len(self.shards)"),
        ("shard = self.shards[self.paths[index]]\n        file = self.file(shard)", "len(self.paths)"),
        ("file = self.file(self.shards[index])", "len(self.paths)"),
    ],
    ids=["by hundreds", "looked up", "of another length"],
)
def test_files_of_many_items(asked: str, length: str) -> None:
    check_innocent(_scans(asked, length))


CACHED = """
import functools
import tarfile
from torch.utils.data import DataLoader, Dataset

@functools.lru_cache(maxsize={most}){mark}
def archive(path):
    return tarfile.open(path)

class Scans(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.frombuffer(archive(self.paths[index]).extractfile("x").read(), dtype=torch.uint8)

def main(paths):
    return DataLoader(Scans(paths), num_workers=2)
"""


def test_a_cache_of_open_files() -> None:
    check(CACHED.format(most="None", mark="  # TML305"))
    check_innocent(CACHED.format(most=8, mark=""))
