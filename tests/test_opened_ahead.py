"""Files that are opened ahead of their use: one for each item of a data set, and pictures that nobody has read yet."""

from __future__ import annotations

import pytest
from snippets import check

SCENES = """
import os
from typing import NamedTuple
import numpy as np
from PIL import Image

class View(NamedTuple):
    number: int
    name: str
    picture: Image.Image
    width: int

def views(folder, names):
    found = []
    for number, name in enumerate(names):
        {opened}
        found.append(View(number, name, picture, picture.width))
    return sorted(found, key=lambda view: view.name)
"""
PATH = "os.path.join(folder, name)"


@pytest.mark.parametrize(
    "opened",
    [
        f"picture = Image.open({PATH})  # TML406",
        f"picture = Image.open({PATH}).convert('RGB')",
        f"picture = Image.open({PATH}); picture.load()",
        f"picture = Image.open({PATH}); print(np.asarray(picture).mean())",
        f"with Image.open({PATH}) as file: picture = file.copy()",
    ],
)
def test_pictures_in_records(opened: str) -> None:
    check(SCENES.format(opened=opened))


def test_a_record_that_reads_what_it_gets() -> None:
    check("""
        from PIL import Image

        class View:
            def __init__(self, name, picture):
                self.name, self.picture = name, picture.resize((64, 64))

        def views(names):
            found = []
            for name in names:
                picture = Image.open(name)
                found.append(View(name, picture))
            return found
    """)


CLIPS = """
import io
import h5py
from PIL import Image
from torch.utils.data import Dataset

class Clips(Dataset):
    def __init__(self, paths, blobs):
        self.paths, self.blobs = paths, blobs
        self.open(paths)

    def open(self, paths):
        {opened}

    def __len__(self):
        return len({counted})

    def __getitem__(self, index):
        return torch.as_tensor(self.files[index])
"""


@pytest.mark.parametrize(
    ("opened", "counted"),
    [
        ("self.files = [h5py.File(path) for path in self.paths]  # TML406", "self.paths"),
        ("self.files = [Image.open(path) for path in paths]  # TML406", "self.files"),
        ("self.files = {path: open(path) for path in sorted(self.paths)}  # TML406", "self.files"),
        ("self.files = [h5py.File(path) for path in self.paths]", "self.blobs"),  # a few shards
        ("self.files = [h5py.File(path) for path in (paths[0], paths[1])]", "self.files"),
        ("self.files = [Image.open(io.BytesIO(blob)) for blob in self.blobs]", "self.blobs"),
        ("self.files = [Image.open(path).convert('L') for path in self.paths]", "self.paths"),
    ],
)
def test_files_of_a_data_set(opened: str, counted: str) -> None:
    check(CLIPS.format(opened=opened, counted=counted))
