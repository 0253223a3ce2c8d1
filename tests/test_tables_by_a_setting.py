"""Tables of a data set by a size, or a place in a ring: as many entries as there are of these; notes of what failed."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CROPS = """
from torch.utils.data import DataLoader

class Crops(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.paths, self.kept, self.failed = paths, {{}}, []

    def __len__(self):
        return len(self.paths)

    def window(self, size):
        if size not in self.kept:
            self.kept[size] = torch.hann_window(size)
        return self.kept[size]

    def __getitem__(self, i):
        path, name = self.paths[i], self.paths[i].name
        image = torch.load(path)
        height, width = image.shape[-2:]
        {}
        return image * self.window(width)

def main(paths):
    for batch in DataLoader(Crops(paths), batch_size=8, num_workers=2):
        print(batch.mean())
"""


@pytest.mark.parametrize(
    "keeps",
    [
        "self.kept[height, width] = torch.ones(height, width)",
        "self.kept[image.shape] = torch.ones_like(image)",
        "self.kept[i % 8] = image",
        "self.failed.append(path)",
    ],
)
def test_few_entries(keeps: str) -> None:
    check_innocent(CROPS.format(keeps))


@pytest.mark.parametrize(
    "keeps",
    [
        "self.kept[name] = image  # TML404",
        "self.kept['%s.png' % name] = image  # TML404",
        "self.kept[name, width] = image  # TML404",
        "self.failed.append(image)  # TML404",
    ],
)
def test_an_entry_for_each_item(keeps: str) -> None:
    check(CROPS.format(keeps))


SERVED = """
import torch.multiprocessing as mp

class Answers:
    def __init__(self):
        self.by_key = {}

    def put(self, k, answer):
        self.by_key[k] = answer  # TML401

ANSWERS = Answers()

def serve(requests, replies):
    while True:
        request = requests.get()
        if request is None:
            return
        key, rows = request
        ANSWERS.put(key, torch.rand(rows, 64))
        replies.put(key)

def main(steps):
    requests, replies = mp.Queue(8), mp.Queue(8)
    worker = mp.Process(target=serve, args=(requests, replies))
    worker.start()
    for step in range(steps):
        requests.put((f"request {step}", 16))
        print(replies.get())
    requests.put(None)
    worker.join()
"""


def test_a_key_of_whoever_asks() -> None:
    check(SERVED)
