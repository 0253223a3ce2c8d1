"""Two attributes that begin together: where one was found to be missing, the other one has held nothing either."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PROGRAM = """
class Bank:
    def __init__(self):
        self.keys, self.values = None, None

    def read(self, query):
        return self.values @ (self.keys.T @ query).softmax(0)

    def add(self, key, value):
        if {test}:
            {first}
        else:
            {more}

    def start(self):
        {start}

class Core:
    def __init__(self):
        self.encoder, self.decoder, self.bank = nn.Linear(8, 8), nn.Linear(8, 8), Bank()

    def step(self, x):
        key = self.encoder(x)
        mask = self.decoder(self.bank.read(key)).sigmoid()
        self.bank.add(key, mask * key)
        return (mask > 0.5).float().mean().item()

def main(steps):
    core = Core()
    core.bank.add(torch.rand(8, 8), torch.rand(8, 8))
    for i in range(steps):
        print(core.step(torch.rand(8, 8)))
        if i % 10 == 0:
            core.bank.start()
"""
CAT = "self.keys, self.values = torch.cat([self.keys, key]), torch.cat([self.values, value])"
ONE = "self.keys = torch.cat([self.keys.detach(), key.detach()])"
AGAIN = "self.keys = None"
BOTH = "self.keys = self.values = None"
KEPT = "pass"

FIRST = {
    "in one statement": ("self.keys is None", "self.keys, self.values = key, value"),
    "in two": ("self.keys is None", "self.keys = key; self.values = value"),
    "by its truth": ("not len(self.keys or ()) and self.keys is None", "self.keys = key; self.values = value"),
}


@pytest.mark.parametrize("test, first", FIRST.values(), ids=FIRST)
def test_only_what_follows_adds_up(test: str, first: str) -> None:
    more = "self.keys = torch.cat([self.keys, key])  # TML101\n            self.values = value.detach()"
    check(PROGRAM.format(test=test, first=first, more=more, start=KEPT))


@pytest.mark.parametrize("start", [KEPT, BOTH], ids=["for good", "both again"])
def test_what_begins_is_no_next_round(start: str) -> None:
    first = "self.keys, self.values = key, value"
    more = "self.keys, self.values = key.detach(), value.detach()"
    check_innocent(PROGRAM.format(test="self.keys is None", first=first, more=more, start=start))


def test_what_another_attribute_says_nothing_of() -> None:
    more = "self.keys = key.detach()"
    first = "self.values = value  # TML105"
    check(
        PROGRAM.format(test="self.limit is None", first=first, more=more, start=KEPT).replace("None, None", "None, 0")
    )
