"""Generators that wait for what they are sent: who keeps one keeps what its variables have."""

from __future__ import annotations

import pytest
from snippets import check

CALLS = """
def listen(net):
    heard = torch.zeros(0, 8)
    word = None
    {while_}:
        frames = yield word
        heard = torch.cat([heard, frames])
        word = int(net(heard).argmax())

def level():
    mean = 0.0
    while True:
        value = yield mean
        mean = 0.9 * mean + 0.1 * value

class Calls:
    def __init__(self, net):
        self.net = net
        self.listeners, self.names = {{}}, {{}}

    def open(self, call, name):
        self.names[call] = name
        listener = {made}
        next(listener)
        self.listeners[call] = listener{told}

    def feed(self, call, frames):
        return self.listeners[call].send(frames)

    def close(self, call):
        self.names.pop(call)
        {closes}

def main():
    calls = Calls(Net())
    for call in range(1000):
        calls.open(call, f"caller {{call}}")
        calls.feed(call, torch.randn(100, 8))
        calls.close(call)
"""


def calls(made: str = "listen(self.net)", while_: str = "while True", closes: str = "pass", told: str = "") -> str:
    return CALLS.format(made=made, while_=while_, closes=closes, told=told)


def test_a_generator_for_each_call() -> None:
    check(calls(told="  # TML311"))


@pytest.mark.parametrize("closes", ["self.listeners.pop(call).close()", "del self.listeners[call]"])
def test_it_goes_with_its_call(closes: str) -> None:
    check(calls(closes=closes))


def test_a_generator_of_numbers() -> None:
    check(calls(made="level()"))


def test_a_generator_that_comes_to_an_end() -> None:
    check(calls(while_="for _ in range(5)"))
