"""Tables keyed by objects: an entry keeps its key, and what hangs from it, whatever the value beside it is."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PROGRAM = """
    import time
    import weakref
    from dataclasses import dataclass
    from typing import NamedTuple

    {decorator}
    class Task{base}:
        {fields}

    class Monitor:
        def __init__(self):
            self.started = {table}
            self.seconds = 0.0

        def begin(self, task):
            self.started[task] = {value}{mark}

        def end(self, task):
            {end}

    def main(steps):
        monitor = Monitor()
        for _ in range(steps):
            task = Task(torch.rand(3, 64, 64))
            monitor.begin(task)
            monitor.end(task)
    """
PLAIN = """def __init__(self, pixels):
            self.pixels = pixels"""
GIVEN = {
    "decorator": "",
    "base": "",
    "fields": PLAIN,
    "table": "{}",
    "value": "time.time()",
    "end": "self.seconds += time.time() - self.started[task]",
    "mark": "",
}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"end": "self.started[task] = None"},
        {"value": "None", "end": "self.seconds += 1.0"},
        {"base": "(object)"},
    ],
    ids=lambda given: ", ".join(given) or "plain",
)
def test_a_key_with_a_tensor(given: dict[str, str]) -> None:
    check(PROGRAM.format(**GIVEN | {"mark": "  # TML311"} | given))


@pytest.mark.parametrize(
    "given",
    [
        {"end": "self.seconds += time.time() - self.started.pop(task)"},
        {"end": "del self.started[task]"},
        {"table": "weakref.WeakKeyDictionary()"},
        {"fields": PLAIN.replace("= pixels", "= pixels.shape")},
        {"decorator": "@dataclass(frozen=True)", "fields": "pixels: object"},
        {"base": "(NamedTuple)", "fields": "pixels: object"},
        {
            "fields": PLAIN
            + """
        def __hash__(self):
            return 1
        def __eq__(self, other):
            return True"""
        },
    ],
    ids=lambda given: ", ".join(given.values())[:60],
)
def test_a_key_that_goes_or_keeps_nothing(given: dict[str, str]) -> None:
    check_innocent(PROGRAM.format(**GIVEN | given))


def test_keys_that_are_there_anyhow() -> None:
    check_innocent(
        """
    import time

    class Client:
        def __init__(self):
            self.buffer = torch.zeros(64, 64)

    class Hub:
        def __init__(self, count):
            self.clients = [Client() for _ in range(count)]
            self.seen = {}

        def tick(self):
            for client in self.clients:
                self.seen[client] = time.time()

    def main(steps):
        hub = Hub(4)
        for _ in range(steps):
            hub.tick()
    """
    )
