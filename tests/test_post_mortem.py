"""What consoles and services keep of the last failure, in `sys` or on themselves."""

from __future__ import annotations

import pytest
from snippets import check

CONSOLE = """
import sys
import traceback

class Console:
    def __init__(self):
        self.model = Net()
        self.kind = self.error = self.trace = self.text = None

    def do_score(self, size):
        hidden = self.model(torch.randn(int(size), 8))
        if hidden.mean() > 0:
            raise ValueError("too high")
        return hidden.mean().item()

    def do_help(self):
        return "score"

    def tell(self):
        {tell}

    def run(self, line):
        verb, *words = line.split()
        try:
            return {work}
        except Exception:
            {clause}
            return None
"""
DISPATCH = 'getattr(self, "do_" + verb)(*words)'
SET = "sys.last_type, sys.last_value, sys.last_traceback = sys.exc_info()"
NOW = "self.text = traceback.format_exc()"


@pytest.mark.parametrize(
    ("tell", "work", "clause"),
    [
        (f"{SET}  # TML307", DISPATCH, "self.tell()"),
        (f"{SET}  # TML307", "self.do_score(words[0])", "self.tell()"),
        (
            "kind, error, trace = sys.exc_info()\n        sys.last_value = error  # TML307",
            'getattr(self, f"do_{verb}")(*words)',
            "self.tell()",
        ),
        ("pass", DISPATCH, f"{SET}  # TML307"),
        ("pass", "self.do_score(words[0])", "self.kind, self.error, self.trace = sys.exc_info()  # TML307"),
        (f"{SET}; sys.last_value.with_traceback(None)", DISPATCH, "self.tell()"),
        (NOW, DISPATCH, "self.tell()"),
        ("self.kind, _, _ = sys.exc_info()", DISPATCH, "self.tell()"),
        ("pass", DISPATCH, "self.kind, _, _ = sys.exc_info()"),
        (SET, 'getattr(self, "label_" + verb)(*words)', "self.tell()"),
        (SET, "int(words[0])", "self.tell()"),
    ],
)
def test_the_last_failure(tell: str, work: str, clause: str) -> None:
    check(CONSOLE.format(tell=tell, work=work, clause=clause))
