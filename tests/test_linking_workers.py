"""Workers of one file that read, or fill, what another file has: reported in the file that starts or runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

DATA = """
import json
from torch.utils.data import Dataset

class Captions(Dataset):
    def __init__(self, path):
        self.items = [json.loads(line) for line in open(path)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]["caption"]
"""
TABLE = """
SEEN = {}

def remember(key, value):
    SEEN[key] = value

def forget(key):
    SEEN.pop(key)
"""
STORE = """
import torch

class Features:
    def __init__(self, encoder):
        self.encoder = encoder
        self.table = {}

    @torch.no_grad()
    def get(self, uid, image):
        if uid not in self.table:
            self.table[uid] = self.encoder(image)
        return self.table[uid]
"""


@pytest.mark.parametrize("workers", [8, 0])
def test_loader_of_a_data_set_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    mark = "  # TML405" if workers else ""
    train = f"""
from torch.utils.data import DataLoader
from data import Captions

def main(path):
    loader = DataLoader(Captions(path), batch_size=64, num_workers={workers}){mark}
    for batch in loader:
        print(len(batch))
"""
    check_project({"data.py": DATA, "train.py": train}, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("made", "after", "mark"),
    [
        ('torch.load(path, map_location="cpu")', "pass", "  # TML401"),
        ('torch.load(path, map_location="cpu")', "forget(path)", ""),
        ("len(path)", "pass", ""),
    ],
    ids=["loaded", "forgotten", "number"],
)
def test_helper_of_another_file_keeps_what_a_worker_has_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, after: str, mark: str
) -> None:
    work = f"""
import multiprocessing as mp
import torch
from table import forget, remember

def work(path):
    value = {made}
    remember(path, value){mark}
    {after}
    return float(torch.as_tensor(value).sum())

def main(paths):
    with mp.Pool(8) as pool:
        return pool.map(work, paths)
"""
    check_project({"table.py": TABLE, "work.py": work}, tmp_path, monkeypatch)


@pytest.mark.parametrize("declared", ["global STORE", "pass"])
def test_object_that_goes_with_the_function_unless_it_is_a_global(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str
) -> None:
    stays = declared != "pass"
    serve = f"""
from features import Features

STORE = None

def setup(encoder, request):
    {declared}
    STORE = Features(encoder)
    return STORE.get(request.uid, request.image).mean().item()
"""
    store = STORE.replace("self.encoder(image)", "self.encoder(image)  # TML311") if stays else STORE
    check_project({"features.py": store, "serve.py": serve}, tmp_path, monkeypatch)
