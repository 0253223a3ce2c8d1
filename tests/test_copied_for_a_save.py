"""Copies of all states that an object makes for a file, and keeps when it is written."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CODE = """
import copy

class Saver:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.states = None

    def collect(self):
        {takes}

    def save(self, path):
        {writes}
{more}
"""
TRAIN = """
def train(net, optimizer, data):
    saver = Saver(net, optimizer)
    for x in data:
        net(x).sum().backward()
        optimizer.step()
        saver.save("last.pt")
"""
TAKES = "self.states = copy.deepcopy(self.net.state_dict())"
WRITES = "self.collect()\n        torch.save(self.states, path)"
CLONES = "self.states = {k: v.detach().cpu().clone() for k, v in self.net.state_dict().items()}"
IN_A_DICT = "self.collect()\n        torch.save({'net': self.states, 'path': path}, path)"
UNDER_A_NAME = "self.collect()\n        todo = {'net': self.states}\n        torch.save(todo, path)"
IN_PLACE = TAKES + "  # TML313\n        torch.save(self.states, path)"
DROPPED = WRITES + "\n        self.states = None"
STEP = "    def step(self):\n        "
GUILTY = {
    "at once": (TAKES, WRITES, ""),
    "of an optimizer": ("self.states = copy.deepcopy(self.optimizer.state_dict())", WRITES, ""),
    "one by one": (CLONES, IN_A_DICT, ""),
    "under a name": (TAKES, UNDER_A_NAME, ""),
    "in the method that writes": ("pass", IN_PLACE, ""),
}
INNOCENT = {
    "dropped": (TAKES, DROPPED, ""),
    "deleted": (TAKES, WRITES + "\n        del self.states", ""),
    "dropped by another method": (TAKES, WRITES, STEP + "self.states = None"),
    "put back later": (TAKES, WRITES, STEP + "self.net.load_state_dict(self.states)"),
    "put back by the same": (TAKES, WRITES + "\n        self.net.load_state_dict(self.states)", ""),
    "given back": (TAKES, WRITES + "\n        return self.states", ""),
    "read from outside": (TAKES, WRITES, "def best(saver):\n    return saver.states"),
    "made by others, earlier": (TAKES, "torch.save(self.states, path)", STEP + "self.collect()"),
    "no copy": ("self.states = self.net.state_dict()", WRITES, ""),
    "the best one": (
        TAKES,
        "if self.better():\n            self.collect()\n        self.net.load_state_dict(self.states)\n"
        "        torch.save(self.states, path)",
        "",
    ),
}


def _code(takes: str, writes: str, more: str) -> str:
    return CODE.format(takes=takes, writes=writes, more=more) + TRAIN


@pytest.mark.parametrize("name", GUILTY)
def test_copies_that_stay_when_they_are_written(name: str) -> None:
    takes, writes, more = GUILTY[name]
    check(_code(takes if takes == "pass" else takes + "  # TML313", writes, more))


@pytest.mark.parametrize("name", INNOCENT)
def test_copies_that_do_not_or_are_wanted(name: str) -> None:
    check_innocent(_code(*INNOCENT[name]))


def test_a_public_copy_of_a_class_that_other_files_use() -> None:
    check_innocent(_code(TAKES, WRITES, "").replace("Saver(net, optimizer)", "made(net)"))


def test_a_script_that_exports() -> None:
    check_innocent(_code(TAKES, WRITES, "").replace(".backward()", ""))
