"""Threads that take items until one of them is a word, and the objects that start them and are dropped without it."""

from __future__ import annotations

import pytest
from snippets import check

BOARD = """
import queue
import threading
import torch

def drain(events):
    while True:
        event = events.get()
        if event is None:
            break
        print(event)

class Board:
    def __init__(self, size):
        self.levels = torch.zeros(size)
        self.events = queue.Queue()
        self.thread = threading.Thread(target={target}, daemon=True)
        self.thread.start()

    def _drain(self):
        while {loop}:
            print(event)

    def add(self, name, value):
        self.events.put((name, value))

    def {end}(self):
        self.events.put({word})
        self.thread.join()

def evaluate(model, batch):
    board = Board(8)  # here
    board.add("mean", model(batch).mean().item())
    {after}

def main(model, batches):
    for batch in batches:
        {call}
"""
FUNCTION = "drain, args=(self.events,)"
ENDLESS = "True"
USUAL = {"target": FUNCTION, "loop": ENDLESS, "end": "close", "word": "None", "after": "pass"}
USUAL["call"] = "evaluate(model, batch)"
WALRUS = "(event := self.events.get()) is not None"


def written(mark: str, parts: dict[str, str]) -> str:
    return BOARD.format(**{**USUAL, **parts}).replace("# here", mark)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"end": "finish_up"},
        {"word": "_STOP"},
        {"after": "print(board.levels.sum())"},
        {"target": "self._drain", "loop": WALRUS},
    ],
)
def test_dropped_without_its_word(parts: dict[str, str]) -> None:
    check(written("# TML505", parts))


@pytest.mark.parametrize(
    "parts",
    [
        {"after": "board.close()"},
        {"after": "board.events.put(None)"},
        {"after": "return board"},
        {"after": "finish(board)"},
        {"after": "board.thread.join()"},
        {"word": "'nothing'"},
        {"call": "pass", "after": "main(model, [])"},
    ],
)
def test_told_or_not_known(parts: dict[str, str]) -> None:
    check(written("", parts))
