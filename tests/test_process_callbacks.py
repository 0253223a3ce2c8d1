"""Callbacks that the process keeps: at a fork, at each collection, as audit hooks, at the end of threads."""

from __future__ import annotations

import pytest
from snippets import check

MONITOR = """
import gc
import os
import sys
import threading
import weakref
from multiprocessing import util

def say(*args):
    print("said", *args)

class Monitor:
    def __init__(self, width):
        self.net = nn.Linear(width, width)
        self.rounds = 0
        {register}

    def note(self, *args):
        self.rounds += 1

    def close(self):
        {close}

def main(steps):
    for step in range(steps):
        monitor = Monitor(64)
        print(monitor.net(torch.rand(2, 64)).sum().item())
        monitor.close()
"""
KEEPERS = [
    "os.register_at_fork(after_in_child={})",
    "os.register_at_fork(before={0}, after_in_parent={0})",
    "gc.callbacks.append({})",
    "sys.addaudithook({})",
    "threading._register_atexit({})",
]


@pytest.mark.parametrize("keeper", KEEPERS)
@pytest.mark.parametrize("callback", ["self.note", "lambda *args: self.note(*args)"])
def test_a_callback_that_knows_the_object(keeper: str, callback: str) -> None:
    check(MONITOR.format(register=keeper.format(callback) + "  # TML314", close="self.net = None"))


@pytest.mark.parametrize("keeper", KEEPERS)
@pytest.mark.parametrize("callback", ["say", "lambda *args: print(args)"])
def test_a_callback_that_knows_nothing_of_it(keeper: str, callback: str) -> None:
    check(MONITOR.format(register=keeper.format(callback), close="pass"))


@pytest.mark.parametrize("keeper", KEEPERS)
def test_a_weak_method(keeper: str) -> None:
    weak = "note = weakref.WeakMethod(self.note); "
    check(MONITOR.format(register=weak + keeper.format("lambda *args: note()()"), close="pass"))


def test_what_is_taken_out_again() -> None:
    check(MONITOR.format(register="gc.callbacks.append(self.note)", close="gc.callbacks.remove(self.note)"))
    check(MONITOR.format(register="os.register_at_fork(before=self.note)  # TML314", close="gc.callbacks.clear()"))
    check(MONITOR.format(register="gc.callbacks.append(self.note)  # TML314", close="[].remove(self.note)"))


def test_one_monitor_of_the_program() -> None:
    text = MONITOR.format(register="os.register_at_fork(before=self.note)", close="pass")
    once = text.replace("    for step in range(steps):\n        monitor", "    for step in range(1):\n        monitor")
    assert once != text
    check(once.replace("for step in range(1):", "if steps:"))


def test_a_finalizer_of_multiprocessing() -> None:
    check(MONITOR.format(register="util.Finalize(self, self.note, exitpriority=10)  # TML314", close="pass"))
    check(MONITOR.format(register="util.Finalize(self, say, args=(self.rounds,))", close="pass"))
