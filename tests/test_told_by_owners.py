"""Threads that only their owner can tell to end, and owners that are handed to somebody who never asks for it."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_SAVED = """
import threading
import time

class Writer(threading.Thread):
    def __init__(self, inbox):
        super().__init__(daemon=True)
        self.inbox, self.done = inbox, False

    def run(self):
        while {test}:
            while not self.inbox.empty():
                torch.save(*self.inbox.get())
            time.sleep(0.1)

class Saver:
    def __init__(self):
        self.inbox = queue.Queue(4)
        self.writer = Writer(self.inbox)
        self.writer.start()

    def save(self, state, path):
        self.inbox.put((state, path))

    def {end}(self):
        self.writer.done = True
        self.writer.join()

class Trainer:
    def __init__(self, model, plugins=()):
        self.model, self.plugins = model, plugins

    def fit(self, name):
        for plugin in self.plugins:
            plugin.save(self.model.state_dict(), name)
        {after}

def main(steps):
    for fold in range(steps):
        {made}
"""
_OR = "not self.done or not self.inbox.empty()"
_GIVEN = 'Trainer(Net(), plugins=[Saver()]).fit(f"{fold}.pt")'


def program(test: str = _OR, end: str = "teardown", after: str = "pass", made: str = _GIVEN + "  # TML505") -> str:
    return _SAVED.format(test=test, end=end, after=after, made=made)


@pytest.mark.parametrize("test", [_OR, "not self.done"])
@pytest.mark.parametrize("end", ["teardown", "close", "destroy"])
def test_nobody_tells_the_owner(test: str, end: str) -> None:
    check(program(test, end))
    check(program(test, end, made='saver = Saver(); saver.save({}, "0.pt")  # TML505'))


@pytest.mark.parametrize("test", [_OR, "not self.done"])
@pytest.mark.parametrize("end", ["teardown", "close"])
def test_somebody_does(test: str, end: str) -> None:
    after = f"for plugin in self.plugins: plugin.{end}()"
    check_innocent(program(test, end, after, _GIVEN))
    check_innocent(program(test, end, made=f'saver = Saver(); saver.save({{}}, "0.pt"); saver.{end}()'))


def test_thread_that_ends_when_there_is_no_more_to_do() -> None:
    check_innocent(program("not self.done and not self.inbox.empty()", made=_GIVEN))


def test_owner_that_another_file_gets() -> None:
    made = "from trainers import Fitter; Fitter(plugins=[Saver()]).fit(Net())"
    check_innocent(program(made=made))
