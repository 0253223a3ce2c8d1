"""Records that reach a data set through methods, readers and parts of it, and are read by forked workers."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import csv
import json
import numpy as np
from typing import NamedTuple
from torch.utils.data import DataLoader, Dataset

class Subject(NamedTuple):
    name: str
    codes: list
    times: list

class Reader:
    def __init__(self, paths):
        self.paths = paths

    def __iter__(self):
        for path in self.paths:
            for line in open(path):
                row = json.loads(line)
                yield Subject(row["name"], row["codes"], row["times"])
"""


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


SUBJECTS = """
class Subjects(Dataset):
    def __init__(self, paths):
        self.subjects = self._wanted(Reader(paths))%s

    @staticmethod
    def _wanted(reader):
        return [%s for subject in reader if len(subject.codes) > 1]

    def __len__(self):
        return len(self.subjects)

    def __getitem__(self, index):
        return len(self.subjects[index])

def loaders(paths):
    return DataLoader(Subjects(paths), num_workers=%d)
"""


@pytest.mark.parametrize(
    ("mark", "kept", "workers"),
    [("  # TML405", "subject", 4), ("", "subject", 0), ("", "torch.tensor(subject.codes)", 4)],
)
def test_named_tuples_that_a_reader_yields_and_a_method_filters(mark: str, kept: str, workers: int) -> None:
    _check(SUBJECTS % (mark, kept, workers))


def test_records_that_a_base_class_lists() -> None:
    _check("""
        class Listed(Dataset):
            def __init__(self, path):
                self.rows = list(self.rows_of(path))  # TML405

            def __getitem__(self, index):
                return self.item(self.rows[index])

        class Rows(Listed):
            def rows_of(self, path):
                for line in open(path):
                    row = json.loads(line)
                    yield {"name": row["name"], "text": row["text"], "label": row["label"]}

            def item(self, row):
                return row["label"]

        def loader(path):
            return DataLoader(Rows(path), num_workers=4)
    """)


def test_records_in_a_part_of_the_data_set() -> None:
    _check("""
        class Index:
            def __init__(self):
                self.entries = {}

            def add(self, key, entry):
                self.entries[key] = entry  # TML405

            def get(self, key):
                return self.entries[key]

        class Indexed(Dataset):
            def __init__(self, path):
                self.index = Index()
                for number, row in enumerate(csv.DictReader(open(path))):
                    self.index.add(number, Subject(row["name"], [], []))

            def __getitem__(self, index):
                return self.index.get(index).name

        def loader(path):
            return DataLoader(Indexed(path), num_workers=4)
    """)


def test_what_a_method_parses_and_what_it_lists_for_each_file() -> None:
    _check("""
        class Parsed(Dataset):
            def __init__(self, path):
                self.rows = self._read(path)  # TML405

            def _read(self, path):
                with open(path) as file:
                    return json.load(file)

            def __getitem__(self, index):
                return self.rows[index]["x"]

        class Files(Dataset):
            def __init__(self, paths):
                self.subjects, self.sizes = [], []
                for path in paths:
                    self.subjects.extend(self._of(path))  # TML405
                    self.sizes.append(len(path))

            def _of(self, path):
                return [Subject(line, [], []) for line in open(path)]

            def __getitem__(self, index):
                return self.subjects[index].name

        def loaders(path):
            return DataLoader(Parsed(path), num_workers=4), DataLoader(Files([path]), num_workers=4)
    """)


FILLED = """
def with_frames(row, root):
    for camera in ("top", "wrist"):
        row[f"image.{camera}"] = torch.rand(3, 96, 96)%s
    return row

class Table:
    def __init__(self, count):
        self.rows = [{"time": i / 30, "action": i %% 7} for i in range(count)]

    def row(self, index):
        return self.rows[index]

class Episodes(Dataset):
    def __init__(self, root, table):
        self.root, self.table = root, table

    def __getitem__(self, index):
        row = with_frames(%s, self.root)
        return row["image.top"], row["action"]

def loader(root, count):
    return DataLoader(Episodes(root, Table(count)), batch_size=4)
"""


def test_rows_of_a_table_that_are_filled_in_place() -> None:
    _check(FILLED % ("  # TML404", "self.table.row(index)"))
    _check(FILLED % ("", "dict(self.table.row(index))"))


def test_an_attribute_of_an_element_that_is_set() -> None:
    _check("""
        class Clip:
            def __init__(self, path):
                self.path, self.frames = path, None

        class Clips(Dataset):
            def __init__(self, paths):
                self.clips = [Clip(path) for path in paths]

            def __getitem__(self, index):
                clip = self.clips[index]
                if clip.frames is None:
                    clip.frames = np.load(clip.path)  # TML404
                return clip.frames

        class Read(Dataset):
            def __init__(self, paths):
                self.clips = [Clip(path) for path in paths]

            def __getitem__(self, index):
                clip = Clip(self.clips[index].path)
                clip.frames = np.load(clip.path)
                return clip.frames

        def loaders(paths):
            return DataLoader(Clips(paths)), DataLoader(Read(paths))
    """)
