"""Items of a data set that are a part of a file which was parsed: `# TML405` where forked workers read them."""

from __future__ import annotations

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
