"""Releases that a method makes only if it is told to, where nobody tells it."""

from __future__ import annotations

import pytest
from snippets import check

LOG = """
class Log:
    def __init__(self):
        self.rows, self.count = [], 0

    def add(self, row):
        self.count += 1
        self.rows.append(row){mark}

    def reset(self, {param}):
        self.count = 0
{body}

def main():
    log = Log()
    for epoch in range(100):
        for step in range(10):
            log.add(torch.randn(64, 64))
        log.reset({given})
    print(len(log.rows))
"""
IF_EVERYTHING = "        if everything:\n            self.rows.clear()"
UNLESS = "        if not brief:\n            self.rows = []"
WORDS = "        if what in ('rows', 'both'):\n            self.rows.clear()"
WORD = "        if what == 'rows':\n            del self.rows[:]"
LEFT = "        if what != 'rows':\n            return\n        self.rows.clear()"
NEVER = {
    "by default": ("everything=False", IF_EVERYTHING, ""),
    "by a place": ("everything", IF_EVERYTHING, "False"),
    "by name": ("everything=True", IF_EVERYTHING, "everything=False"),
    "turned round": ("brief=True", UNLESS, ""),
    "among words": ("what='count'", WORDS, ""),
    "another word": ("what='rows'", WORD, "'count'"),
    "after it has left": ("what='count'", LEFT, ""),
}
ASKED = {
    "by default": ("everything=True", IF_EVERYTHING, ""),
    "by name": ("everything=False", IF_EVERYTHING, "everything=True"),
    "among words": ("what='both'", WORDS, ""),
    "by a value": ("everything=False", IF_EVERYTHING, "epoch % 10 == 0"),
    "by several": ("everything=False", IF_EVERYTHING, "**{'everything': True}"),
    "in any case": ("everything=False", "        self.rows.clear()", ""),
    "on another way": ("everything=False", IF_EVERYTHING + "\n        self.rows = self.rows[-5:]", ""),
    "by itself": ("everything=False", "        everything = self.count == 0\n" + IF_EVERYTHING, ""),
}


@pytest.mark.parametrize("name", NEVER)
def test_never_asked_for(name: str) -> None:
    param, body, given = NEVER[name]
    check(LOG.format(param=param, body=body, given=given, mark="  # TML303"))


@pytest.mark.parametrize("name", ASKED)
def test_asked_for(name: str) -> None:
    param, body, given = ASKED[name]
    check(LOG.format(param=param, body=body, given=given, mark=""))


def test_called_by_others() -> None:
    """Of a method that is handed over it is not known how it is called."""
    param, body, given = NEVER["by default"]
    text = LOG.format(param=param, body=body, given=given, mark="")
    check(text.replace("    for epoch", "    listen(log.reset)\n    for epoch"))


def test_nobody_in_sight_calls_it() -> None:
    param, body, _ = NEVER["by default"]
    text = LOG.format(param=param, body=body, given="", mark="")
    check(text.split("def main")[0])
