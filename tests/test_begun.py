"""Requests that a generator begins and ends by methods of another object, where it may be left in between."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SERVER = """
class Decoder:
    def __init__(self, net):
        self.net, self.states, self.times = net, {}, {}

    def begin(self, rid, first):
        self.states[rid] = [first]
        self.times[rid] = 0.0

    def step(self, rid, code):
        self.states[rid].append(code)
        return len(self.states[rid])

    def finish(self, rid):
        self.states.pop(rid)
        self.times.pop(rid)

class Server:
    def __init__(self, decoder):
        self.decoder = decoder

    def abort(self, rid):
{abort}

    def stream(self, rid, codes):
{stream}

def listen(server, rid):
    for number, sound in enumerate(server.stream(rid, torch.rand(9, 8))):
        if number > 3:
            {leaves}
        print(sound)
"""
LEFT = """
self.decoder.begin(rid, codes[0])  # TML303
for code in codes:
    yield self.decoder.step(rid, code)
self.decoder.finish(rid)
"""


def server(stream: str, *, abort: str = "print(rid)", leaves: str = "break") -> str:
    text = SERVER.replace("{stream}", textwrap.indent(stream.strip("\n"), 8 * " "))
    return text.replace("{abort}", 8 * " " + abort).replace("{leaves}", leaves)


GUILTY = {
    "left": server(LEFT),
    "by a name for the decoder": server("decoder = self.decoder\n" + LEFT.replace("self.decoder", "decoder")),
    "a clause for errors that only tells": server(
        """
self.decoder.begin(rid, codes[0])  # TML303
try:
    for code in codes:
        yield self.decoder.step(rid, code)
except ValueError as error:
    print(error)
self.decoder.finish(rid)
"""
    ),
}
INNOCENT = {
    "in a finally": server(
        """
self.decoder.begin(rid, codes[0])
try:
    for code in codes:
        yield self.decoder.step(rid, code)
finally:
    self.decoder.finish(rid)
"""
    ),
    "somebody else ends it as well": server(LEFT.replace("  # TML303", ""), abort="self.decoder.finish(rid)"),
    "nobody leaves": server(LEFT.replace("  # TML303", ""), leaves="print(number)"),
    "all is over before the first": server(
        """
self.decoder.begin(rid, codes[0])
sounds = [self.decoder.step(rid, code) for code in codes]
self.decoder.finish(rid)
yield from sounds
"""
    ),
    "of another request": server(LEFT.replace("  # TML303", "").replace("finish(rid)", "finish(self.last)")),
}


@pytest.mark.parametrize("name", GUILTY)
def test_request_that_is_left(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_request_that_ends(name: str) -> None:
    check(INNOCENT[name])
