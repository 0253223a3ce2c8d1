"""Generators that are closed before they have taken out their entries: `# TML303` says what is due."""

from __future__ import annotations

import pytest
from snippets import check

STREAM = """
import uuid

class Speech:
    def __init__(self, net):
        self.net, self.tokens, self.begun = net, {{}}, {{}}

    def stream(self, x, {given}):
        {key}
        self.tokens[key], self.begun[key] = [], True
        {loop}

    {other}

def listen(net, xs):
    for x in xs:
        for wav in Speech(net).stream(x, 3):
            {heard}

with torch.no_grad():
    listen(Net(), torch.rand(4, 8))
"""
PLAIN = """for step in range(9):
            self.tokens[key].append(step)
            yield self.net(x).sum(){mark}
        self.tokens.pop(key)
        del self.begun[key]"""
GUARDED = """try:
            for step in range(9):
                yield self.net(x).sum()
        finally:
            {last}"""
NEW = "key = str(uuid.uuid4())"
LEFT = {
    "a key of its own": {},
    "the key of a request": {"given": "request_id", "key": "pass"},
    "an entry that a helper takes out": {"loop": GUARDED.format(last="self.forget(key)"), "mark": ""},
    "an entry that goes in the end": {"loop": GUARDED.format(last="self.tokens.pop(key)"), "mark": ""},
    "a listener who hears it all": {"heard": "print(wav)", "mark": ""},
    "a key that comes again": {"key": "key = n", "mark": ""},
    "a table that others empty": {"other": "def sweep(self): self.tokens.clear()", "mark": ""},
}


@pytest.mark.parametrize("case", LEFT)
def test_entries_of_an_iteration_that_is_given_up(case: str) -> None:
    parts = {"given": "n", "key": NEW, "loop": PLAIN, "other": "pass", "heard": "break", "mark": "  # TML303"}
    parts |= LEFT[case]
    parts["loop"] = parts["loop"].replace("{mark}", parts["mark"])
    text = STREAM.format(**parts)
    if parts["key"] == "pass":
        text = text.replace("[key]", "[request_id]").replace("(key)", "(request_id)")
    check(text)
