"""Tables that are not told of what is broken off, where another object is, by a method of a like name."""

from __future__ import annotations

import pytest
from snippets import check

SERVER = """
class State:
    def __init__(self):
        self.chunks = []

class Outputs:
    def __init__(self):
        self.states = {{}}

    def add(self, rid):
        self.states[rid] = State(){mark}

    def abort_requests(self, rids):
        for rid in rids:
            self.states.pop(rid, None)

    def process(self, rid, chunk, finished):
        state = self.states.get(rid)
        if state is None:
            return None
        state.chunks.append(chunk)
        {test}
            return None
        self.states.pop(rid)
        return torch.cat(state.chunks)

class Engine:
    def __init__(self):
        self.model, self.running = Net().eval(), {{}}

    def abort(self, rids):
        for rid in rids:
            self.running.pop(rid, None)

    def cancel(self):
        self.running = {{}}

    @torch.inference_mode()
    def step(self, rid):
        return self.model(torch.randn(64, 8)).clone()

class Server:
    def __init__(self):
        self.engine, self.outputs = Engine(), Outputs()

    def answer(self, rid, gone):
        self.outputs.add(rid)
        self.engine.running[rid] = True
        for count in range(4):
            done = self.outputs.process(rid, self.engine.step(rid), count == 3)
            if gone:
                {tells}
                return None
        return done

def main():
    server = Server()
    for number in range(1000):
        server.answer(f"request {{number}}", number % 2)
"""
MARK = "  # TML311"
TELLS = "self.engine.abort([rid])"
UNFINISHED = ("if not finished:", "if rid is None or not finished:", "if not (finished and rid):")


@pytest.mark.parametrize("test", UNFINISHED)
def test_a_table_that_is_not_told(test: str) -> None:
    check(SERVER.format(mark=MARK, test=test, tells=TELLS))


@pytest.mark.parametrize(
    ("test", "tells"),
    [
        (UNFINISHED[0], TELLS + "; self.outputs.abort_requests([rid])"),
        (UNFINISHED[0], "self.engine.cancel()"),  # of all, or of something else
        (UNFINISHED[0], "print(rid)"),
        ("if chunk.sum() > 3:", TELLS),  # nothing says that the others never go
    ],
)
def test_tables_that_are_told(test: str, tells: str) -> None:
    check(SERVER.format(mark="", test=test, tells=tells))
