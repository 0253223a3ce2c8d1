"""Callbacks whose registry gives an id back, and callers that drop it."""

from __future__ import annotations

import pytest
from snippets import check

BOARD = """
import itertools

class Board:
    def __init__(self):
        self.numbers = itertools.count()
        self.listeners = {{}}

    def on_click(self, listener):
        number = next(self.numbers)
        self.listeners[number] = listener
        return number

    def forget(self, number):
        self.listeners.pop(number, None)
{more}
class View:
    def __init__(self):
        self.board = Board()
        self.number = None

def draw(view, image):
    edges = image.abs()

    def pick(row):
        return edges[row].sum().item()

    {listen}

def main(images):
    view = View()
    for image in images:
        draw(view, image)
"""
DROPPED = {
    "a lambda": "view.board.on_click(lambda row: edges[row].sum().item())  # TML314",
    "a function": "view.board.on_click(pick)  # TML314",
    "a lambda around a function": "view.board.on_click(lambda row: pick(row + 1))  # TML314",
}
TAKEN_OUT = {
    "the last one is taken out": (
        "if view.number is not None:\n        view.board.forget(view.number)\n"
        "    view.number = view.board.on_click(pick)"
    ),
    "all that there is": (
        "for number in list(view.board.listeners):\n        view.board.forget(number)\n    view.board.on_click(pick)"
    ),
    "no tensor": "view.board.on_click(lambda row: print(row))",
    "of its own": "board = Board()\n    board.on_click(pick)",
    "emptied": "view.board.listeners.clear()\n    view.board.on_click(pick)",
}


@pytest.mark.parametrize("listen", DROPPED.values(), ids=DROPPED)
def test_dropped(listen: str) -> None:
    check(BOARD.format(listen=listen, more=""))


@pytest.mark.parametrize("listen", TAKEN_OUT.values(), ids=TAKEN_OUT)
def test_taken_out(listen: str) -> None:
    check(BOARD.format(listen=listen, more=""))


def test_others_that_can() -> None:
    check(
        BOARD.format(listen="view.board.on_click(pick)", more="\n    def close(self):\n        self.listeners = {}\n")
    )
    once = BOARD.replace("def draw(", "def install(").replace(
        "    for image in images:\n        draw(view, image)", "    install(view, images[0])"
    )
    check(once.format(listen="view.board.on_click(pick)", more=""))
    anew = BOARD.replace("        draw(view,", "        draw(View(),")
    check(anew.format(listen="view.board.on_click(pick)", more=""))
