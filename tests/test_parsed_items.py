"""Items of a data set that are a part of a file which was parsed: `# TML405` where forked workers read them."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

_DATASET = """
import json
from torch.utils.data import DataLoader, Dataset

class Captions(Dataset):
    def __init__(self, path):
        with open(path) as file:
            data = json.load(file)
        self.{rows}{mark}

    def __len__(self):
        return {length}

    def __getitem__(self, index):
        return {item}

def main(path):
    for batch in DataLoader(Captions(path), num_workers={workers}):
        print(batch)
"""
_GIVEN = {"length": "len(self.rows)", "item": 'self.rows[index]["text"]', "workers": 4, "mark": "  # TML405"}


@pytest.mark.parametrize(
    "value", ['data["annotations"]', 'data["train"]["rows"]', "[one for one in data if one['box']]"]
)
def test_part_of_a_parsed_file(value: str) -> None:
    check(_DATASET.format(**_GIVEN, rows=f"rows = {value}"))


@pytest.mark.parametrize(
    "change",
    [
        {"workers": 0},
        {"length": "100", "item": 'self.rows["mean"] * index'},
        {"rows": 'rows = torch.tensor([one["id"] for one in data["annotations"]])', "item": "self.rows[index]"},
        {"rows": 'count = data["count"]', "length": "self.count", "item": "index"},
    ],
    ids=["no workers", "settings", "tensor", "number"],
)
def test_what_is_no_list_of_items(change: dict[str, object]) -> None:
    given = {**_GIVEN, "rows": 'rows = data["annotations"]', "mark": "", **change}
    check_innocent(_DATASET.format(**given))


_FILLED = """
import csv
import json

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Captions(Dataset):
    def __init__(self, paths):
        self.rows = []
        self.boxes = {{}}
{lines}

    def read(self, path):
        with open(path) as file:
            return {read}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]["text"], self.boxes

def main(paths):
    for batch in DataLoader(Captions(paths), num_workers=4):
        print(batch)
"""
_OBJECTS = "[json.loads(line) for line in file]"


@pytest.mark.parametrize(
    "lines",
    [
        "for path in paths:\n    self.rows.extend(self.read(path))  # TML405",
        "for path in paths:\n    self.rows += self.read(path)  # TML405",
        "with open(paths[0]) as file:\n    reader = csv.DictReader(file)\n    self.rows = list(reader)  # TML405",
        "with open(paths[0]) as file:\n    found = json.load(file)['rows']\n"
        "for row in found:\n    self.boxes.setdefault(row['id'], []).append(row)  # TML405",
        "for line in open(paths[0]):\n    row = {}\n    row['text'] = line\n    row['words'] = line.split()\n"
        "    self.rows.append(row)  # TML405",
    ],
    ids=["extend", "plus", "reader", "grouped", "filled record"],
)
def test_ways_to_fill_a_table_of_records(lines: str) -> None:
    check(_FILLED.format(lines=textwrap.indent(lines, " " * 8), read=_OBJECTS))


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        ("for path in paths:\n    self.rows.extend(self.read(path))", "np.loadtxt(file)"),
        ("with open(paths[0]) as file:\n    self.rows = list(file)", _OBJECTS),
        ("for row in np.load(paths[0]):\n    self.rows.append(row)", _OBJECTS),
        ("row = {}\nrow['ids'] = torch.arange(9)\nrow['mask'] = torch.ones(9)\nself.rows.append(row)", _OBJECTS),
    ],
    ids=["array", "lines", "rows of an array", "tensors"],
)
def test_what_fills_a_table_with_no_records(lines: str, read: str) -> None:
    check_innocent(_FILLED.format(lines=textwrap.indent(lines, " " * 8), read=read))
