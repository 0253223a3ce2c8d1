"""Errors that a script, or a cell of a notebook, binds to a name of its own: it is there until the program ends."""

from __future__ import annotations

import pytest
from snippets import check

SCRIPT = """
try:
    import flash
except ImportError as error:
    flash, missing = None, error

net = Net()
try:
    found = net(torch.rand(512, 8))
except RuntimeError as error:
    {}
print(net)
"""


@pytest.mark.parametrize(
    "clause",
    [
        "failure = error  # TML307",
        "failure = str(error)",
        "failure = error.with_traceback(None)",
        "failure = error; raise SystemExit(1)",
        "print(error)",
    ],
)
def test_what_a_script_binds(clause: str) -> None:
    check(SCRIPT.format(clause))
