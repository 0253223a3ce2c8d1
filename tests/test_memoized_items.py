"""Caches around the method that reads an item: what it returns is not known, and is the whole item."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

DATA = """
import functools
from torch.utils.data import DataLoader, Dataset

def remembered(method):
    def wrapper(self, *args):
        if not hasattr(self, "_known"):
            self._known = {{}}
        if args not in self._known:
            self._known[args] = method(self, *args)
        return self._known[args]
    return wrapper

def recent(method):
    def wrapper(self, *args):
        if not hasattr(self, "_known") or len(self._known) > 64:
            self._known = {{}}
        if args not in self._known:
            self._known[args] = method(self, *args)
        return self._known[args]
    return wrapper

def once(method):
    def wrapper(self, *args):
        self._known = {{}}
        self._known[args] = method(self, *args)
        return self._known[args]
    return wrapper

class remembers:
    def __init__(self, method):
        self.method = method

    def __call__(self, owner, *args):
        try:
            known = owner.known
        except AttributeError:
            known = owner.known = {{}}
        if args not in known:
            known[args] = self.method(owner, *args)
        return known[args]

    def __get__(self, owner, cls=None):
        return functools.partial(self, owner)

class Tolerant(Dataset):
    def __init__(self, source):
        self.source = source

    def __len__(self):
        return len(self.source)

    {decorator}
    def {signature}:
        try:
            return self.source[index]
        except OSError:
            return None

    def __getitem__(self, index):
        {gives}

def loader(source):
    return DataLoader(Tolerant(source), num_workers={workers})
"""
WHOLE = "sample = self.read(index)\n        return sample"
SIGNATURE = "read(self, index)"
DUE = "  # TML305"
CASES = {
    "lru_cache": ("@functools.lru_cache(maxsize=None)" + DUE, SIGNATURE, WHOLE, 2),
    "a decorator": ("@remembered" + DUE, SIGNATURE, "return self.read(index)", 2),
    "a class": ("@remembers" + DUE, SIGNATURE, WHOLE, 2),
    "a bound": ("@functools.lru_cache(maxsize=16)", SIGNATURE, WHOLE, 2),
    "emptied when it is full": ("@recent", SIGNATURE, WHOLE, 2),
    "a table for each call": ("@once", SIGNATURE, WHOLE, 2),
    "no workers": ("@functools.lru_cache(maxsize=None)", SIGNATURE, WHOLE, 0),
    "a number": ("@functools.lru_cache(maxsize=None)", "read(self, index) -> int", WHOLE, 2),
    "a part of the item": ("@functools.lru_cache(maxsize=None)", SIGNATURE, "return index, self.read(index)", 2),
}


@pytest.mark.parametrize("case", CASES)
def test_memoized_items(case: str) -> None:
    decorator, signature, gives, workers = CASES[case]
    check(textwrap.dedent(DATA).format(decorator=decorator, signature=signature, gives=gives, workers=workers))
