"""Loaders with a thread that are asked for a few batches: `batches = iter(loader)`, and `next(batches)` in a loop."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

LOADERS = """
import threading

def numbers(n):
    for _ in range(n):
        yield torch.rand(8, 8)

class Ahead(threading.Thread):
    def __init__(self, source):
        super().__init__(daemon=True)
        self.items = queue.Queue(4)
        self.source = source
        self.start()

    def run(self):
        for item in self.source:
            self.items.put(item)
        self.items.put(None)

    def __iter__(self):
        return self

    def __next__(self):
        item = self.items.get()
        if item is None:
            raise StopIteration
        return item

class Loader:
    def __init__(self, source):
        self.source, self.ahead = source, None

    def __iter__(self):
        self.ahead = Ahead(self.source){mark}
        return self

    def __next__(self):
        return next(self.ahead)

    def shutdown(self):
        for _ in self.ahead:
            pass

def stage(model, count):
{use}

def main(stages):
    for _ in range(stages):
        stage(nn.Linear(8, 8), 5)
"""
FEW = """
loader = Loader(numbers(99))
batches = iter(loader)
for _ in range(count):
    print(model(next(batches)))
"""
THREAD = """
loader = Ahead(numbers(99))  # TML505
batches = iter(loader)
for _ in range(count):
    print(model(next(batches)))
"""


def program(use: str, *, guilty: bool = False) -> str:
    text = LOADERS.replace("{use}", textwrap.indent(use.strip("\n"), 4 * " "))
    return text.replace("{mark}", "  # TML505" if guilty else "")


def test_loader_that_gives_itself() -> None:
    check(program(FEW, guilty=True))


def test_iterator_of_a_thread() -> None:
    check(program(THREAD))


INNOCENT = {
    "it is shut down": FEW + "loader.shutdown()\n",
    "as many as there are": FEW.replace("range(count)", "range(len(loader))"),
    "all of them": FEW.replace(
        "for _ in range(count):\n    print(model(next(batches)))", "for x in batches:\n    print(x)"
    ),
    "the iterator is handed on": FEW + "return batches\n",
}


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check(program(INNOCENT[name]))
