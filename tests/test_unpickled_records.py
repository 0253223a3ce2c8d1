"""Data sets whose records come from a pickle: `# TML405` where what reads them says that they are dicts."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

DATASET = """
import copy
import pickle
import mmengine
import numpy as np
from torch.utils.data import DataLoader, Dataset

class Scans(Dataset):
    def __init__(self, root, paths):
        self.root, self.paths = root, paths
        self.infos = []
        self.load(paths[0])

    def load(self, path):
{load}

    def read(self, path):
        data = mmengine.load(path)
        return sorted(data["infos"], key=lambda info: info["time"])

    def __len__(self):
        return {length}

    def __getitem__(self, index):
        return self.scan(index)

    def scan(self, index):
{item}

def main(root, paths, workers):
    for batch in DataLoader(Scans(root, paths), batch_size=4, num_workers={workers}):
        print(batch)
"""
LOAD = "with open(path, 'rb') as file:\n    self.infos = pickle.load(file)"
ITEM = "info = self.infos[index]\nreturn np.fromfile(self.root / info['path'], dtype=np.float32)"
LOADS = {
    "whole": LOAD + "  # TML405",
    "every other": "infos = pickle.load(open(path, 'rb'))\nself.infos = infos[::2]  # TML405",
    "some": "infos = pickle.load(open(path, 'rb'))\nself.infos = [i for i in infos if i['boxes']]  # TML405",
    "of several files": """\
infos = []
for path in self.paths:
    with open(path, "rb") as file:
        part = pickle.load(file)
        infos.extend(part)
self.infos.extend(infos)  # TML405""",
    "added": "infos = []\nfor path in self.paths:\n    infos += mmengine.load(path)\nself.infos = infos  # TML405",
    "by a method": "self.infos = self.read(path)  # TML405",
}
ITEMS = {
    "copied": "info = copy.deepcopy(self.infos[index])\nreturn self.root / info['path']",
    "asked": "return self.infos[index].get('path', self.root)",
    "at once": "return self.root / self.infos[index]['path']",
}
OTHERS = {
    "array": "return torch.as_tensor(self.infos[index])",
    "arrays": "info = self.infos[index]\nreturn torch.from_numpy(info['image']), info['label']",
    "shaped": "info = self.infos[index]\nreturn info['image'].astype(np.float32), info['label']",
    "settings": "return index * self.infos['scale'] + self.infos['shift']",
    "columns": "return self.infos['path'][index]",
}


def _check(load: str, item: str, length: str = "len(self.infos)", workers: int = 2) -> None:
    given = {"load": textwrap.indent(load, " " * 8), "item": textwrap.indent(item, " " * 8)}
    check(DATASET.format(**given, length=length, workers=workers))


@pytest.mark.parametrize("name", LOADS)
def test_ways_to_load_them(name: str) -> None:
    _check(LOADS[name], ITEM)


@pytest.mark.parametrize("name", ITEMS)
def test_ways_to_read_them(name: str) -> None:
    _check(LOADS["whole"], ITEMS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_list_of_dicts(name: str) -> None:
    _check(LOAD, OTHERS[name])


def test_what_is_not_read_item_by_item() -> None:
    _check(LOAD, ITEM, length="len(self.paths)")
    _check(LOAD, ITEM, workers=0)
    _check("self.infos = np.array([len(i) for i in pickle.load(open(path, 'rb'))])", ITEM)
