"""Functions in a list of the process that refer to a part of the object whose method has made them."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

STORE = """
import weakref

EVICTED = []

def on_evicted(callback):
    EVICTED.append(callback)
    return callback

def forget(callback):
    if callback in EVICTED:
        EVICTED.remove(callback)

def evict(name):
    for one in list(EVICTED):
        one(name)

class Outputs:
    def __init__(self):
        self.values = {}

    def put(self, name, value):
        self.values[name] = value

    def drop(self, name):
        self.values.pop(name, None)

class Session:
    def __init__(self, number, net):
        self.number, self.net = number, net
        %s

    @torch.no_grad()
    def run(self, x):
        y = self.net(x)
        self.outputs.%s
        return y.mean().item()

    def close(self):
        %s

def main(steps):
    net = nn.Linear(512, 512)
    for step in range(steps):
        session = Session(step, net)
        print(session.run(torch.randn(64, 512)))
        session.close()
"""
PUT, PUT_IN = "put(str(self.number), y)", "setdefault(str(self.number), y)"


@pytest.mark.parametrize(
    ("init", "run"),
    [
        ("outputs = self.outputs = Outputs(); on_evicted(lambda name: outputs.drop(name))", PUT),
        ("self.outputs = outputs = Outputs(); on_evicted(lambda name: outputs.drop(name))", PUT),
        ("self.outputs = Outputs(); on_evicted(self.outputs.drop)", PUT),
        ("self.outputs = outputs = {}; on_evicted(lambda name: outputs.pop(name, None))", PUT_IN),
        ("outputs = self.outputs = {}; on_evicted(lambda name: outputs.pop(name, None))", PUT_IN),
        ("outputs = self.outputs = []; on_evicted(lambda name: outputs.clear())", "append(y)"),
    ],
)
def test_the_list_keeps_the_part(init: str, run: str) -> None:
    check(STORE % (f"{init}  # TML314", run, "self.number = None"))


@pytest.mark.parametrize(
    ("init", "close"),
    [
        (
            "outputs = self.outputs = Outputs(); self.told = on_evicted(lambda name: outputs.drop(name))",
            "forget(self.told)",
        ),
        ("outputs = self.outputs = Outputs(); on_evicted(lambda name: outputs.drop(name))", "EVICTED.clear()"),
        (
            "outputs = self.outputs = Outputs(); on_evicted(lambda name: outputs.drop(name))",
            "self.outputs.values.clear()",
        ),
        ("self.outputs, names = Outputs(), set(); on_evicted(lambda name: names.discard(name))", "pass"),
        (
            "outputs = self.outputs = Outputs(); ref = weakref.ref(outputs); on_evicted(lambda name: ref().drop(name))",
            "pass",
        ),
    ],
)
def test_the_part_goes(init: str, close: str) -> None:
    check_innocent(STORE % (init, PUT, close))


def test_a_part_of_numbers() -> None:
    init = "outputs = self.outputs = Outputs(); on_evicted(lambda name: outputs.drop(name))"
    check_innocent(STORE % (init, "put(str(self.number), y.mean().item())", "pass"))
