"""Threads that bind what they have taken from a queue again, to what they make of it: `batch = pin(batch)`."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

LOADER = """
import threading
import numpy as np

def pin(data):
    if isinstance(data, dict):
        return {{key: pin(value) for key, value in data.items()}}
    return data.clone() if isinstance(data, torch.Tensor) else data

class Loader:
    def __init__(self):
        self.fetched, self.staged = queue.Queue(maxsize=2), queue.Queue(maxsize=2)
        threading.Thread(target=self.stage, daemon=True).start()

    def stage(self):
        while True:
            batch = self.fetched.get(){mark}
{works}

    def read(self, number):
        self.fetched.put({item})
        return self.staged.get()

loader = Loader()
for number in range(100):
    print(loader.read(number))
"""
DICT, TENSOR, ARRAY = '{"x": torch.rand(64, 64)}', "torch.rand(64, 64)", "np.random.rand(64, 64)"
GUILTY = {
    "a helper for records": ("batch = pin(batch)\nself.staged.put(batch)", DICT),
    "a method": ("batch = batch.contiguous() * 2\nself.staged.put(batch)", TENSOR),
    "an array": ("batch = torch.as_tensor(batch).float() + 1\nself.staged.put(batch)", ARRAY),
    "unless it is the last": ("if batch is not None:\n    batch = pin(batch)\nself.staged.put(batch)", DICT),
    "in a pair, which goes": ("batch = pin(batch)\npair = (1, batch)\nself.staged.put(pair)\ndel pair", DICT),
}
INNOCENT = {
    "and lets go": ("batch = pin(batch)\nself.staged.put(batch)\nbatch = None", DICT),
    "deletes it": ("batch = batch + 1\nself.staged.put(batch)\ndel batch", TENSOR),
    "a number": ("batch = batch.sum().item()\nself.staged.put(batch)", TENSOR),
    "nothing heavy": ("batch = pin(batch)\nself.staged.put(batch)", '{"x": number}'),
}


@pytest.mark.parametrize(("works", "item"), GUILTY.values(), ids=GUILTY)
def test_what_stays_while_the_thread_waits(works: str, item: str) -> None:
    check(LOADER.format(works=textwrap.indent(works, 12 * " "), item=item, mark="  # TML502"))


@pytest.mark.parametrize(("works", "item"), INNOCENT.values(), ids=INNOCENT)
def test_what_goes_before_the_thread_waits(works: str, item: str) -> None:
    check(LOADER.format(works=textwrap.indent(works, 12 * " "), item=item, mark=""))
