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


WRAPPERS = """
import functools
from torch.utils.data import DataLoader, Dataset

def memoize(method):
    slot = "_memo_" + method.__name__

    def wrapper(self, *args):
        table = self.__dict__.setdefault(slot, {{}})
        if args not in table:
            table[args] = method(self, *args)
        return table[args]

    return wrapper

def once(method):
    def wrapper(self):
        if not hasattr(self, "_once"):
            self._once = method(self)
        return self._once
    return wrapper

class Tolerant(BASE):
    def __init__(self, source, transform=None):
        self.source, self.transform = source, transform
        self.lengths = [len(one) for one in source]

    @memoize
    def n_groups(self):
        return max(1, len(self.source) // 64)

    @once
    def __len__(self):
        return len(self.source)

    def _read(self, index):
        try:
            return self.source[index]
        except OSError:
            return None

    {decorator}
    def __getitem__(self, index{hint}:
        {body}

def main(source):
    for batch in DataLoader(Tolerant(source), batch_size=8):
        print(len(batch))
"""
SKIPS = (
    "for k in range(len(self.source)):\n            sample = self._read((index + k) % len(self.source))\n"
    "            if sample is not None:\n                return sample\n        raise IndexError(index)"
)
ITEMS = {
    "skips what cannot be read": ("@memoize", ")", SKIPS),
    "transforms": ("@functools.lru_cache(maxsize=None)", ")", "return self.transform(self.source[index])"),
    "with its label": ("@functools.cache", ")", "return self.transform(self.source[index]), index % 5"),
    "a table of parts": ("@memoize", ")", "return {'image': self._read(index), 'index': index}"),
}
NO_ITEMS = {
    "a few": ("@functools.lru_cache(maxsize=32)", ")", SKIPS),
    "not kept": ("", ")", SKIPS),
    "numbers": ("@memoize", ")", "return self.lengths[index] + 1, index % 5"),
    "a number, as is said": ("@memoize", ") -> int", "return self._read(index)"),
    "texts": ("@functools.cache", ")", "return f'item {index}'"),
}


def _wrapped(decorator: str, hint: str, body: str, due: str, base: str = "Dataset") -> str:
    text = WRAPPERS.replace("BASE", base)
    return text.format(decorator=decorator + due, hint=hint, body=body)


@pytest.mark.parametrize("case", ITEMS)
def test_items_that_their_data_set_keeps(case: str) -> None:
    check(_wrapped(*ITEMS[case], DUE))
    check(_wrapped(*ITEMS[case], DUE, "torch.utils.data.IterableDataset"))


@pytest.mark.parametrize("case", ITEMS)
def test_entries_of_what_is_no_data_set(case: str) -> None:
    check(
        _wrapped(*ITEMS[case], "", "object").replace("DataLoader(Tolerant(source), batch_size=8)", "Tolerant(source)")
    )


@pytest.mark.parametrize("case", NO_ITEMS)
def test_items_that_nobody_keeps(case: str) -> None:
    check(_wrapped(*NO_ITEMS[case], ""))
