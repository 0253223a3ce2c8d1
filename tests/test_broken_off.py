"""Tables whose entries go when they come to their end, and that nobody tells of what is broken off."""

from __future__ import annotations

import pytest
from snippets import check

ENGINE = """
class Track:
    def __init__(self):
        self.parts = []

class Collector:
    def __init__(self):
        self.tracks = {{}}

    def add(self, request_id):
        self.tracks[request_id] = Track(){mark}

    def cancel(self, request_id):
        self.tracks.pop(request_id, None)

    def collect(self, outputs):
        for request_id, part, finished in outputs:
            self.tracks[request_id].parts.append(part)
            if {test}:
                self.tracks.pop(request_id)

class Decoder:
    def __init__(self):
        self.left = {{}}
        self.layer = nn.Linear(64, 64)

    def cancel(self, request_id):
        self.left.pop(request_id, None)

    def step(self):
        found = []
        for request_id in list(self.left):
            self.left[request_id] -= 1
            found.append((request_id, self.layer(torch.randn(1, 64)).detach(), self.left[request_id] == 0))
        return found

class Engine:
    def __init__(self):
        self.decoder, self.collector = Decoder(), Collector()

    def submit(self, request_id):
        self.collector.add(request_id)
        self.decoder.left[request_id] = 4

    def stop(self, request_id):
        self.decoder.cancel(request_id)
        {tells}

    def step(self):
        self.collector.collect(self.decoder.step())

def main():
    engine = Engine()
    for request_id in range(1000):
        engine.submit(request_id)
        engine.step()
        if request_id % 2:
            engine.stop(request_id)
"""
MARK = "  # TML311"


def test_a_table_that_is_not_told() -> None:
    check(ENGINE.format(mark=MARK, test="finished", tells="print(request_id)"))


@pytest.mark.parametrize(
    ("test", "tells"),
    [
        ("finished", "self.collector.cancel(request_id)"),
        ("part.sum() > 3", "print(request_id)"),  # nothing says that the others never go
    ],
)
def test_tables_that_are_told(test: str, tells: str) -> None:
    check(ENGINE.format(mark="", test=test, tells=tells))


def test_a_table_that_somebody_else_may_tell() -> None:
    text = ENGINE.format(mark="", test="finished", tells="print(request_id)")
    check("from server import serve\n" + text.replace("engine = Engine()\n", "engine = Engine()\n    serve(engine)\n"))
