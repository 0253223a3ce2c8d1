"""Search trees whose root becomes a node below it: what is above goes only if the link to it is cut."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEARCH = """
import weakref

class Position:
    def __init__(self, board, above=None):
        self.board = board
        self.above = {link}
        self.below = {{}}
        self.count = 0

    def grow(self):
        for move in range(3):
            self.below[move] = Position(self.board.roll(move), self)

def raise_counts(position):
    while position is not None:
        position.count += 1
        position = position.above

class Engine:
    def __init__(self, net):
        self.net = net
        self.top = Position(torch.zeros(8, 8))

    def think(self):
        position = self.top
        while position.below:
            position = min(position.below.values(), key=lambda one: one.count)
        position.grow()
        raise_counts(position)

    def play(self, move):
        {play}
{more}
def main(n):
    engine = Engine(Net())
    for _ in range(n):
        engine.think()
        engine.play(1)
"""
PLAIN = "self.top = self.top.below[move]"


def searched(play: str = PLAIN, link: str = "above", more: str = "") -> str:
    return SEARCH.format(play=play, link=link, more=more)


KEPT = {
    "the node itself": "self.top = self.top.below[move]  # TML303",
    "by a name": """position = self.top.below[move]
        self.top = position  # TML303""",
    "or another tree": """if move in self.top.below:
            self.top = self.top.below[move]  # TML303
        else:
            self.top = Position(torch.zeros(8, 8))""",
    "... after it": """if move in self.top.below:
            self.top = self.top.below[move]  # TML303
            return
        self.top = Position(torch.zeros(8, 8))""",
    "... if there is none": """try:
            self.top = self.top.below[move]  # TML303
        except KeyError:
            self.top = Position(torch.zeros(8, 8))""",
}


@pytest.mark.parametrize("play", KEPT.values(), ids=KEPT)
def test_a_node_that_still_refers_to_the_former_root(play: str) -> None:
    check(searched(play))


CUT = {
    "the link is cut": f"{PLAIN}\n        self.top.above = None",
    "... before": """position = self.top.below[move]
        position.above = None
        self.top = position""",
    "... taken off": f"{PLAIN}\n        del self.top.above",
    "... by name": f'{PLAIN}\n        setattr(self.top, "above", None)',
    "a node of its own": "self.top = Position(self.top.below[move].board)",
    "a tree for each move": f"{PLAIN}\n        self.top = Position(self.top.board)",
}


@pytest.mark.parametrize("play", CUT.values(), ids=CUT)
def test_what_lets_the_rest_of_the_tree_go(play: str) -> None:
    check_innocent(searched(play))


@pytest.mark.parametrize("link", ["weakref.ref(above) if above is not None else None", "None"])
def test_a_node_that_does_not_refer_to_it(link: str) -> None:
    check_innocent(searched(link=link))


WANTED = {
    "moves are taken back": """
    def undo(self):
        self.top = self.top.above
""",
    "they are listed": """
    def line(self):
        found, position = [], self.top
        while position is not None:
            found.append(position.count)
            position = position.above
        return found
""",
}


@pytest.mark.parametrize("more", WANTED.values(), ids=WANTED)
def test_links_that_are_gone_back_by(more: str) -> None:
    check_innocent(searched(more=more))


def test_a_cursor_in_a_tree_that_is_there() -> None:
    begun = "self.top = Position(torch.zeros(8, 8))"
    assert begun in searched()
    check_innocent(searched().replace(begun, f"self.all = {begun}"))


def test_nodes_without_tensors() -> None:
    code = searched().replace("torch.zeros(8, 8)", "()").replace("self.board.roll(move)", "(*self.board, move)")
    check_innocent(code)
