"""Properties that keep their value on the object: of the records of a data set, one for each item that was loaded."""

from __future__ import annotations

import pytest
from snippets import check

RECORDS = """
import functools
from functools import cached_property
from torch.utils.data import DataLoader, Dataset

class Record:
    def __init__(self, path, side):
        self.path, self.side = path, side

    {decorator}
    def pixels(self):{mark}
        {value}

class Photos(Dataset):
    def __init__(self, paths):
        self.records = []
        for path in paths:
            self.records.append(Record(path, len(path))){listed}

    def __getitem__(self, index):
        record = {record}
        return record.pixels * 2

def main(paths):
    return DataLoader(Photos(paths), num_workers={workers})
"""
IMAGE = "return torch.rand(3, self.side, self.side)"
LISTED = "  # TML405"
MARK = "  # TML404"


def program(
    decorator: str, mark: str, value: str = IMAGE, record: str = "self.records[index]", workers: int = 2
) -> str:
    listed = LISTED if workers else ""
    return RECORDS.format(decorator=decorator, mark=mark, value=value, record=record, workers=workers, listed=listed)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("decorator", ["@cached_property", "@functools.cached_property"])
def test_records_that_keep_what_they_have_loaded(decorator: str, workers: int) -> None:
    check(program(decorator, MARK, workers=workers))


@pytest.mark.parametrize("workers", [0, 2])
def test_records_that_load_it_each_time(workers: int) -> None:
    check(program("@property", "", workers=workers))


@pytest.mark.parametrize("value", ["return self.side ** 2", "return torch.tensor([self.side, self.side])"])
def test_records_that_keep_a_number_or_two(value: str) -> None:
    check(program("@cached_property", "", value))


def test_records_that_are_made_each_time() -> None:
    check(program("@cached_property", "", record="Record(self.records[index].path, 4)"))
