"""Records that a data set has in a part of one of its parts, of a class that an attribute stands for."""

from __future__ import annotations

import pytest
from snippets import check

SPEECH = """
import collections
import json
from torch.utils.data import DataLoader, Dataset

class Entries(collections.UserList):
    ENTRY = collections.namedtuple("Entry", "path seconds tokens text")

    def __init__(self, path, parser):
        {kind}
        rows = []
        for line in open(path):
            row = json.loads(line)
            {adds}
        super().__init__({given})

class Manifest:
    def __init__(self, path, parser):
        self.entries = Entries(path, parser)
        self.parser = parser

    def tokens(self, index):
        return torch.tensor(self.entries[index].tokens)

class Speech(Dataset):
    def __init__(self, path, parser):
        self.manifest = Manifest(path, parser)

    def __len__(self):
        return len(self.manifest.entries)

    def __getitem__(self, index):
        return self.manifest.tokens(index)

def main(path, parser):
    for tokens in DataLoader(Speech(path, parser), num_workers={workers}):
        print(tokens.shape)
"""
PARTS = "row['path'], row['seconds'], parser(row['text']), row['text']"
MARK = "  # TML405"


def speech(*, kind: str = "pass", adds: str = "pass", given: str = "rows", workers: int = 4) -> str:
    return SPEECH.format(kind=kind, adds=adds, given=given, workers=workers)


@pytest.mark.parametrize(
    ("kind", "adds"),
    [
        ("entry = self.ENTRY", f"rows.append(entry({PARTS})){MARK}"),
        ("pass", f"rows.append(self.ENTRY({PARTS})){MARK}"),
        ("pass", f"entry = self.ENTRY({PARTS})\n            rows.append(entry){MARK}"),
    ],
)
def test_records_in_a_part_of_a_part(kind: str, adds: str) -> None:
    check(speech(kind=kind, adds=adds))


INNOCENT = {
    "no workers": {"adds": f"rows.append(self.ENTRY({PARTS}))", "workers": 0},
    "tensors": {"adds": "rows.append(self.ENTRY(torch.tensor(row['codes']), torch.tensor(row['times'])))"},
    "a method": {"adds": f"rows.append(self.pack({PARTS}))"},
    "one number each": {"adds": "rows.append(float(row['seconds']))"},
    "packed": {"adds": f"rows.append(self.ENTRY({PARTS}))", "given": "[pack(rows)]"},
}


@pytest.mark.parametrize("name", INNOCENT)
def test_parts_without_many_objects(name: str) -> None:
    check(speech(**INNOCENT[name]))  # type: ignore[arg-type]


GROUPED = """
from collections import defaultdict
from torch.utils.data import DataLoader, Dataset

class Boxes(Dataset):
    def __init__(self, annotations):
        self.of_image = {table}
        for one in annotations:
            {add}

    def __len__(self):
        return len(self.of_image)

    def __getitem__(self, index):
        return torch.tensor([box for _, box in self.of_image[index]])

for boxes in DataLoader(Boxes(json.load(open("boxes.json"))), num_workers=2):
    print(boxes)
"""


@pytest.mark.parametrize(
    ("table", "add", "mark"),
    [
        ("defaultdict(list)", 'self.of_image[one["image"]].append((one["label"], one["box"]))', "  # TML405"),
        ("{}", 'self.of_image.setdefault(one["image"], []).append((one["label"], one["box"]))', "  # TML405"),
        ("defaultdict(list)", 'self.of_image[one["image"]].append(one["label"])', ""),
        ("[]", 'self.of_image.append((one["label"], 1))', ""),
    ],
)
def test_pairs_that_are_grouped(table: str, add: str, mark: str) -> None:
    check("import json\n" + GROUPED.format(table=table, add=add + mark))
