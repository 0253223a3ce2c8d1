"""Entries of a table that stay, while what weighs in them is taken out."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SERVICE = """
class Request:
    def __init__(self, frames):
        self.frames, self.number = frames, 0

class Service:
    def __init__(self):
        self.net = Net()
        self.states = {}

    @torch.no_grad()
    def start(self, session, x):
        self.states[session] = {"frames": self.net(x), "number": 0}%s

    def finish(self, session):
        state = self.states[session]
        state["number"] += 1
        %s

def main(steps):
    service = Service()
    for number in range(steps):
        service.start(f"video{number}", torch.rand(8, 8))
        %s
"""
FINISH = 'service.finish(f"video{number}")'


@pytest.mark.parametrize("release", ['state.pop("frames")', 'state["frames"] = None', 'del state["frames"]'])
def test_the_heavy_part_goes(release: str) -> None:
    check(textwrap.dedent(SERVICE) % ("", release, FINISH))
    check(textwrap.dedent(SERVICE) % ("  # TML311", release, "print(number)"))


@pytest.mark.parametrize("release", ['state.pop("number")', 'state["number"] = None', "print(state)"])
def test_something_else_goes(release: str) -> None:
    check(textwrap.dedent(SERVICE) % ("  # TML311", release, FINISH))


def test_an_attribute_of_an_object_that_stays() -> None:
    made = textwrap.dedent(SERVICE).replace('{"frames": self.net(x), "number": 0}', "Request(self.net(x))")
    made = made.replace('state["number"] += 1', "state.number += 1")
    check(made % ("", "state.frames = None", FINISH))
    check(made % ("  # TML311", "state.number = 0", FINISH))
