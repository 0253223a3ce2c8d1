"""Limits that the test of a `while` asks for: nobody sets one, and the loop never runs."""

from __future__ import annotations

import pytest
from snippets import check

READER = """
from collections import OrderedDict
from torch.utils.data import DataLoader, Dataset

class Readers:
    def __init__(self, most=None):
        self.opened, self.most = OrderedDict(), most

    def reader(self, path):
        if path not in self.opened:
            self.opened[path] = open(path, "rb"){mark}
        self.opened.move_to_end(path)
        while {test}:
            self.opened.popitem(last=False)[1].close()
        return self.opened[path]

class Pages(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.readers = Readers({most})

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.frombuffer(bytearray(self.readers.reader(self.paths[index]).read(64)), dtype=torch.uint8)

def main(paths):
    for page in DataLoader(Pages(paths), num_workers=2):
        print(page.float().mean())
"""
SET = "self.most is not None and len(self.opened) > self.most"


@pytest.mark.parametrize(
    ("test", "most", "guilty"),
    [
        (SET, "", True),
        ("self.most and len(self.opened) > self.most", "most=None", True),
        (SET, "most=4", False),
        ("len(self.opened) > 4", "", False),
    ],
)
def test_a_loop_that_a_limit_switches_on(test: str, most: str, guilty: bool) -> None:
    check(READER.format(test=test, most=most, mark="  # TML406" if guilty else ""))
