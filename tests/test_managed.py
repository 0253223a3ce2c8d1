"""Containers of a manager's process: held once, and reported where a limit was given that nobody asks."""

from __future__ import annotations

import pytest
from snippets import check

SHARED = """
import multiprocessing as mp
import numpy as np
from torch.utils.data import DataLoader, Dataset

def decode(index):
    return np.zeros((3, 64, 64)) + index

class Photos(Dataset):
    def __init__(self, manager{param}):
        self.cache = {cache}
        {limit}

    def __len__(self):
        return 10 ** 6

    def __getitem__(self, index):
        if index in self.cache:
            return self.cache[index]
        image = decode(index)
        {put}
        return image

def work(index, results):
    results[index] = decode(index)

def main():
    manager = mp.Manager()
    for images in DataLoader(Photos(manager{given}), num_workers=2):
        print(images.mean())
    results = manager.dict()
    workers = [mp.Process(target=work, args=(index, results)) for index in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {{index: image.mean() for index, image in results.items()}}
"""
PUT = "self.cache[index] = image"
LIMITED = ", max_bytes=1 << 20", "self.max_bytes = max_bytes"


def program(put: str, limited: bool, cache: str = "manager.dict()") -> str:
    param, limit = LIMITED if limited else ("", "pass")
    return SHARED.format(param=param, limit=limit, put=put, cache=cache, given=", 1 << 22" if limited else "")


@pytest.mark.parametrize("cache", ["manager.dict()", "mp.Manager().dict()", "mp.get_context('spawn').Manager().dict()"])
def test_limits_that_nobody_asks(cache: str) -> None:
    check(program(PUT + "  # TML404", True, cache))


def test_limits_that_are_asked() -> None:
    check(program(f"if len(self.cache) < 99: {PUT}", True))
    check(program(f"if image.nbytes * index < self.max_bytes: {PUT}", True))
    check(program(PUT, False))


def test_budgets_of_a_copy_in_each_worker() -> None:
    check(program(PUT + "  # TML404", False, "{}"))
    check(program(f"if image.nbytes * index < self.max_bytes: {PUT}", True, "{}"))
