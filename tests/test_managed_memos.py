"""Memos that the tasks of a pool share by a manager; `# TML409` where each file adds an entry and none leaves."""

from __future__ import annotations

import pytest
from snippets import check

PROGRAM = """
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor
from functools import partial
import numpy as np

CACHE = None

def decode(path):
    return np.fromfile(path, dtype=np.float32).reshape(-1, 80)

def begin(cache):
    global CACHE
    CACHE = cache

class Cutter:
    def __init__(self, cache):
        self.cache = cache

    def spectra(self, path):
        {method}

    def __call__(self, task):
        path, first, last = task
        return float(self.spectra(path)[first:last].mean())

def cut(task):
    path, first, last = task
    {function}
    return float(rows[first:last].mean())

def cut_with(task, cache):
    path, first, last = task
    if path not in cache:
        cache[path] = decode(path)  # {given}
    return float(cache[path][first:last].mean())

def tasks(paths):
    for path in paths:
        for first in range(0, 300, 100):
            yield path, first, first + 100

def main(paths, epochs):
    with mp.Manager() as manager:
        cache, total = manager.dict(), 0.0
        {run}
        print(total)
"""
BY_METHOD = """with mp.Pool(4) as pool:
            for mean in pool.imap_unordered(Cutter(cache), tasks(paths)):
                total += mean"""
BY_FUNCTION = """with mp.Pool(4, initializer=begin, initargs=(cache,)) as pool:
            total = sum(pool.imap(cut, tasks(paths), chunksize=8))"""
BY_EXECUTOR = """with ProcessPoolExecutor(4, initializer=begin, initargs=(cache,)) as pool:
            total = sum(pool.map(cut, tasks(paths)))"""
BY_PARTIAL = """with mp.Pool(4) as pool:
            total = sum(pool.map(partial(cut_with, cache=cache), tasks(paths)))"""
IN_EPOCHS = """with mp.Pool(4, initializer=begin, initargs=(cache,)) as pool:
            for epoch in range(epochs):
                total += sum(pool.imap(cut, tasks(paths)))"""
CLEARED = """with mp.Pool(4, initializer=begin, initargs=(cache,)) as pool:
            for start in range(0, len(paths), 64):
                total += sum(pool.imap(cut, tasks(paths[start : start + 64])))
                cache.clear()"""
PLAIN = "return decode(path)"
METHODS = {
    "asked by get": """rows = self.cache.get(path)
        if rows is None:
            rows = decode(path)
            self.cache[path] = rows  # TML409
        return rows""",
    "asked by in": """if path not in self.cache:
            self.cache[path] = decode(path)  # TML409
        return self.cache[path]""",
    "asked and caught": """try:
            return self.cache[path]
        except KeyError:
            rows = self.cache[path] = decode(path)  # TML409
            return rows""",
}
LIMITED = {
    "by its length": """rows = self.cache.get(path)
        if rows is None:
            rows = decode(path)
            if len(self.cache) < 100:
                self.cache[path] = rows
        return rows""",
    "by taking out": """rows = self.cache.get(path)
        if rows is None:
            for old in self.cache.keys()[:-8]:
                self.cache.pop(old, None)
            rows = self.cache[path] = decode(path)
        return rows""",
    "by few keys": """rate = path.rsplit("_", 1)[1]
        if rate not in self.cache:
            self.cache[rate] = np.hanning(4096) * len(rate)
        return decode(path) * self.cache[rate][:80]""",
    "by what it keeps": """mean = self.cache.get(path)
        if mean is None:
            mean = self.cache[path] = float(decode(path).mean())
        return decode(path) - mean""",
    "as the answer": """rows = decode(path)
        self.cache[path] = rows
        return rows""",
}
ASKED = """rows = CACHE.get(path)
    if rows is None:
        rows = CACHE[path] = decode(path)  # {}"""


def program(run: str, method: str = PLAIN, function: str = "rows = decode(path)", given: str = "") -> str:
    return PROGRAM.format(run=run, method=method, function=function, given=given)


@pytest.mark.parametrize("case", METHODS)
def test_an_entry_for_each_file(case: str) -> None:
    check(program(BY_METHOD, METHODS[case]))


@pytest.mark.parametrize("run", [BY_FUNCTION, BY_EXECUTOR])
def test_a_memo_that_an_initializer_hands_out(run: str) -> None:
    check(program(run, function=ASKED.format("TML409")))


def test_a_memo_that_a_partial_hands_out() -> None:
    check(program(BY_PARTIAL, given="TML409"))


@pytest.mark.parametrize("case", LIMITED)
def test_memos_that_stay_small(case: str) -> None:
    check(program(BY_METHOD, LIMITED[case]))


@pytest.mark.parametrize("run", [IN_EPOCHS, CLEARED])
def test_what_is_wanted_again_or_cleared(run: str) -> None:
    check(program(run, function=ASKED.format("")))
