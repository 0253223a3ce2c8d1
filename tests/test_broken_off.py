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


SENDER = """
class Sender:
    def __init__(self):
        self.net = Net().eval()
        self.frames, self.waiting, self.later = defaultdict(list), set(), []

    def save(self, request, x):
        with torch.no_grad():
            frame = self.net(x)
        self.frames[request.rid].append(frame){mark}
        if {test}:
            {end}

    def clean(self, rid):
        self.frames.pop(rid, None)

    def {name}(self, requests):
        {early}
        for request in requests:
            self.waiting.discard(request.rid)
            {more}

def main(queue):
    sender = Sender()
    while True:
        requests = queue.get()
        sender.{call}([one for one in requests if one.gone])
        for request in requests:
            sender.save(request, torch.rand(4, 8))
"""
FORGOTTEN = {
    "at the last chunk": {},
    "by a flag": {"test": "request.finished"},
    "by a name for it": {"test": "is_last_chunk(request)"},
    "where it leaves early": {"early": "if not self.waiting: return"},
}
SEEN_TO = {
    "the break tells": {"more": "self.clean(request.rid)"},
    "by another method": {"more": "self.end(request)\n\n    def end(self, request):\n        self.clean(request.rid)"},
    "not at the end": {"test": "request.size > 4"},
    "always": {"test": "True"},
    "no break": {"name": "done", "call": "done"},
    "a break that nobody calls": {"call": "save_all"},
    "a break for later": {"more": "self.later.append(request)"},
}


@pytest.mark.parametrize("case", [*FORGOTTEN, *SEEN_TO])
def test_tables_that_a_break_leaves_out(case: str) -> None:
    parts = {"test": "request.sent == request.length", "end": "self.clean(request.rid)", "name": "abort"}
    parts |= {"call": "abort", "early": "pass", "more": "pass", "mark": "  # TML303" if case in FORGOTTEN else ""}
    check(SENDER.format(**(parts | FORGOTTEN.get(case, {}) | SEEN_TO.get(case, {}))))
