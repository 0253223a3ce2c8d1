"""Caches without a bound around what a data set reads: put around it in place, and asked through helpers."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import functools
import numpy as np
from torch.utils.data import DataLoader, Dataset
"""

CHUNKED = """
class Chunks:
    def __init__(self, root, size):
        self.root, self.size = root, size
        self.read = functools.lru_cache(maxsize=%s)(self._read)%s
        self.length = functools.lru_cache(maxsize=None)(self._length)

    def _read(self, number):
        return np.load(f"{self.root}/{number}.npy")

    def _length(self, number):
        return self.size - number

    def frame(self, index):
        number, inside = divmod(index, self.size)
        return self.read(number)[min(inside, self.length(number))]

class Frames(Dataset):
    def __init__(self, root):
        self.chunks = Chunks(root, 100)

    def __getitem__(self, index):
        return torch.from_numpy(self.chunks.frame(index))

def loader(root):
    return DataLoader(Frames(root), num_workers=%d)
"""


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


@pytest.mark.parametrize(("bound", "mark", "workers"), [("None", "  # TML305", 4), ("4", "", 4), ("None", "", 0)])
def test_chunks_that_every_worker_reads(bound: str, mark: str, workers: int) -> None:
    _check(CHUNKED % (bound, mark, workers))


def test_a_cache_around_a_function_by_another_name() -> None:
    _check("""
        def read(path):
            return np.load(path)

        def header(path):
            return len(path)

        load = functools.cache(read)  # TML305
        size_of = functools.cache(header)

        class Images(Dataset):
            def __init__(self, paths):
                self.paths = paths

            def __getitem__(self, index):
                return self._image(index), size_of(self.paths[index])

            def _image(self, number):
                return torch.from_numpy(load(self.paths[number]))
    """)


def test_what_many_items_have_in_common() -> None:
    _check("""
        @functools.lru_cache(maxsize=None)
        def prototype(label):
            return np.zeros((label, 64))

        class Labelled(Dataset):
            def __init__(self, labels):
                self.labels = labels

            def __getitem__(self, index):
                return self._of(self.labels[index])

            def _of(self, label):
                return torch.from_numpy(prototype(label))

        def loader(labels):
            return DataLoader(Labelled(labels), num_workers=4)
    """)


CLIPS = """
    class Clip:
        def __init__(self, paths):
            self.paths = paths
            self.frames = {}

        def __getitem__(self, number):
            return self.frame(number)

        def frame(self, number):
            if number in self.frames:
                return self.frames[number]
            frame = torch.from_numpy(np.load(self.paths[number]))
            %s
            return frame

    class Frames(Dataset):
        def __init__(self, clip):
            self.clip = clip

        def __getitem__(self, index):
            return self.clip[index] / 255

    def main(paths):
        for frames in DataLoader(Frames(Clip(paths)), batch_size=4):
            print(frames.mean().item())
"""


def test_what_a_part_of_a_data_set_is_asked_for_by_a_subscript() -> None:
    _check(CLIPS % "self.frames[number] = frame  # TML404")
    _check(CLIPS % "self.frames = {number: frame}")


SLOTS = """
class Images(Dataset):
    def __init__(self, files):
        self.files, self.recent = files, []
        self.images = [None] * len(files)
        self.shapes = [None] * len(files)

    def __getitem__(self, index):
        image = self.images[index]
        if image is None:
            image = np.load(self.files[index])
            %s
            self.recent.append(index)
            if len(self.recent) > 8:
                old = self.recent.pop(0)
                %s
            return image, image.shape[:2]
        return self.images[index], self.shapes[index]

def loader(files):
    return DataLoader(Images(files), num_workers=4)
"""


@pytest.mark.parametrize(
    ("put", "taken"),
    [
        ("self.images[index], self.shapes[index] = image, image.shape[:2]", "self.images[old] = None"),
        (
            "self.images[index], self.shapes[index] = image, image.shape[:2]",
            "self.images[old], self.shapes[old] = None, None",
        ),
        ("self.images[index] = image", "self.images[old] = None"),
        ("self.images[index] = image  # TML404", "self.shapes[old] = None"),
        ("self.images[index], self.shapes[index] = image, image.shape[:2]  # TML404", "self.shapes[old] = None"),
        ("self.shapes[index] = image.shape[:2]", "pass"),
    ],
)  # fmt: skip
def test_slots_that_are_emptied_again(put: str, taken: str) -> None:
    _check(SLOTS % (put, taken))


SHUFFLED = """
import random
from torch.utils.data import IterableDataset

class Shuffled(IterableDataset):
    def __init__(self, paths, size):
        self.paths, self.size, self.buffer = paths, size, []

    def __iter__(self):
        for path in self.paths:
            self.buffer.append(torch.from_numpy(np.load(path)))%s
            if len(self.buffer) >= self.size:
                yield %s

def loader(paths):
    return DataLoader(Shuffled(paths, 100), num_workers=4)
"""
GIVEN_OUT = [
    ("random.choice(self.buffer)", "  # TML404"),
    ("self.buffer[random.randrange(len(self.buffer))]", "  # TML404"),
    ("self.buffer.pop(random.randrange(len(self.buffer)))", ""),
    ("take_one(self.buffer)", ""),
    ("self.any()", ""),
]


@pytest.mark.parametrize(("given", "mark"), GIVEN_OUT)
def test_buffers_that_only_show_what_they_have(given: str, mark: str) -> None:
    _check(SHUFFLED % (mark, given))


OF_ITEMS = """
import functools
import numpy as np
import torch

class Volume:
    def __init__(self, path):
        self.path = path

    {kept}
    def voxels(self):{told}
        return torch.from_numpy(np.load(self.path))

    @functools.cached_property
    def stem(self):
        return self.path.rsplit("/", 1)[-1]

class Scans(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.volumes = [Volume(path) for path in paths]  # TML405

    def __len__(self):
        return len(self.volumes)

    def __getitem__(self, index):
        volume = self.volumes[index]
        return volume.voxels[..., :8].clone(), volume.stem

def main(paths):
    for x, name in torch.utils.data.DataLoader(Scans(paths), num_workers=2):
        print(name, x.mean())
"""


@pytest.mark.parametrize(
    ("kept", "told"), [("@functools.cached_property", "  # TML404"), ("@property", "")], ids=["kept", "loaded anew"]
)
def test_what_each_item_keeps_of_itself(kept: str, told: str) -> None:
    check(OF_ITEMS.format(kept=kept, told=told), "")


SHARDS = """
import torch

class Shards(torch.utils.data.IterableDataset):
    def __init__(self, paths):
        self.paths, self.seen = paths, {{}}

    def __iter__(self):
        for path in self.paths:
            rows = torch.load(path)
            self.seen[path] = {kept}
            {hands}

def main(paths):
    for batch in torch.utils.data.DataLoader(Shards(paths), num_workers=4):
        print(batch.mean())
"""


@pytest.mark.parametrize("hands", ["yield from rows", "for row in rows: yield row.float()"])
def test_shards_that_are_handed_out_row_by_row(hands: str) -> None:
    check(SHARDS.format(kept="rows  # TML404", hands=hands), "")
    check(SHARDS.format(kept="len(rows)", hands=hands), "")
