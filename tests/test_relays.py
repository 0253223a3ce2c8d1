"""Readers of readers: who leaves a loader early leaves the generators that it reads from, and their threads."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

AHEAD = """
import itertools, threading
from queue import Full, Queue

def numbers(n):
    for _ in range(n):
        yield torch.rand(8, 8)

def ahead(source):
    items = Queue(4)

    def fill():
        for item in source:
            items.put(item)
        items.put(None)

    threading.Thread(target=fill, daemon=True).start(){mark}
    while (item := items.get()) is not None:
        yield item

def turns(*readers):
    waiting = [iter(reader) for reader in readers]
    while waiting:
        for reader in list(waiting):
            try:
                yield next(reader)
            except StopIteration:
                waiting.remove(reader)

{reader}

def learn(model, loader, rounds):
    for _ in range(rounds):
        for number, batch in enumerate(loader):
            if number > 3:
                break
            print(model(batch))

def main(rounds):
    learn(nn.Linear(8, 8), Loader(), rounds)
"""
LOADER = """
class Loader:
{}
"""


def program(reader: str, *, guilty: bool) -> str:
    """A loader that the training leaves in the middle of each round."""
    inside = textwrap.indent(textwrap.dedent(reader).strip("\n"), "    ")
    return AHEAD.replace("{mark}", "  # TML505" if guilty else "").replace("{reader}", LOADER.format(inside))


READERS = {
    "gives on each item": """
        def __iter__(self):
            for item in ahead(numbers(99)):
                yield item * 2
        """,
    "gives on all": """
        def __iter__(self):
            yield from ahead(numbers(99))
        """,
    "hands the reader back": """
        def __iter__(self):
            return map(torch.sqrt, ahead(numbers(99)))
        """,
    "takes turns between several": """
        def rows(self):
            readers = []
            for _ in range(2):
                readers.append(ahead(numbers(99)))
            return turns(*readers)

        def __iter__(self):
            rows = self.rows()
            while batch := list(itertools.islice(rows, 4)):
                yield torch.stack(batch)
        """,
    "takes turns between a list of them": """
        def __iter__(self):
            readers = [ahead(numbers(99)) for _ in range(2)]
            return turns(*readers)
        """,
    "lazily": """
        def rows(self):
            return (item + 1 for item in ahead(numbers(99)))

        def __iter__(self):
            for row in self.rows():
                yield row
        """,
}
INNOCENT = {
    "all that there is, before the first": """
        def __iter__(self):
            every = list(ahead(numbers(9)))
            for item in every:
                yield item
        """,
    "gone through before the first": """
        def __iter__(self):
            total = 0
            for item in ahead(numbers(9)):
                total = total + item.mean()
            for _ in range(9):
                yield total
        """,
    "one of somebody else": """
        def rows(self):
            return numbers(9)

        def __iter__(self):
            if self.warm:
                print(sum(item.mean() for item in ahead(numbers(9))))
            for row in self.rows():
                yield row
        """,
}


@pytest.mark.parametrize("name", READERS)
def test_reader(name: str) -> None:
    check(program(READERS[name], guilty=True))


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent_reader(name: str) -> None:
    check(program(INNOCENT[name], guilty=False))


@pytest.mark.parametrize("name", READERS)
def test_reader_that_is_read_to_its_end(name: str) -> None:
    check(program(READERS[name], guilty=False).replace("            if number > 3:\n                break\n", ""))


@pytest.mark.parametrize("name", READERS)
def test_thread_that_ends_with_its_reader(name: str) -> None:
    text = program(READERS[name], guilty=False)
    start = text.index("    while (item := items.get())")
    end = text.index("def turns")
    loop = textwrap.indent(text[start:end].rstrip("\n"), "    ")
    text = f"{text[:start]}    try:\n{loop}\n    finally:\n        left.set()\n\n{text[end:]}"
    text = text.replace("    items = Queue(4)\n", "    items, left = Queue(4), threading.Event()\n")
    put = (
        "            while not left.is_set():\n                try:\n                    items.put(item, timeout=0.1)\n"
    )
    put += "                    break\n                except Full:\n                    pass\n"
    check(text.replace("            items.put(item)\n", put))


def test_reader_through_a_function() -> None:
    text = program(READERS["gives on all"], guilty=True)
    text = text.replace("class Loader:\n    def __iter__(self):\n        yield from", "def rows():\n    yield from")
    check(text.replace("enumerate(loader)", "enumerate(rows())").replace("Loader()", "None"))
