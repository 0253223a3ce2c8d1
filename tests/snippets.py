"""Small programs with what is to be reported of them.

A trailing `# TML101` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import re
import textwrap

import pytest
from conftest import NOWHERE

from torchmemlint.config import load
from torchmemlint.linter.engine import lint_source, plan
from torchmemlint.source import decode

PLAN = plan(load(NOWHERE, {"no-cache": True}, isolated=True))
PRELUDE = """\
import functools
import queue
from collections import defaultdict, deque

import lightning
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x):
        return self.layer(x)

"""


def check(snippet: str, prelude: str = PRELUDE) -> None:
    text = prelude + textwrap.dedent(snippet)
    wanted = [
        (row, code)
        for row, line in enumerate(text.splitlines(), 1)
        for code in re.findall(r"TML\d{3}", line.partition("# TML")[1] + line.partition("# TML")[2])
    ]
    got = lint_source(decode("snippet.py", text.encode()), PLAN)
    assert [(f.start.row, f.code) for f in got] == wanted, [f"{f.start.row}: {f.code} {f.message}" for f in got]


def check_innocent(snippet: str) -> None:
    """Nothing is to be reported, and no comment asks for it."""
    assert "# TML" not in snippet
    check(snippet)


def codes(snippet: str, prelude: str = PRELUDE) -> set[str]:
    """The codes of all that is reported."""
    text = prelude + textwrap.dedent(snippet)
    return {finding.code for finding in lint_source(decode("snippet.py", text.encode()), PLAN)}


def messages(snippet: str, prelude: str = PRELUDE) -> list[str]:
    """What is said, finding by finding."""
    return [f.message for f in lint_source(decode("snippet.py", (prelude + textwrap.dedent(snippet)).encode()), PLAN)]


def check_syntax(snippet: str) -> None:
    compile(PRELUDE + textwrap.dedent(snippet), "snippet", "exec")


def known(bugs: dict[str, str], names: list[str]) -> list[object]:
    """The names as parameters, those with a known bug marked."""
    marked: list[object] = []
    for name in names:
        reason = bugs.get(name)
        marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
        marked.append(pytest.param(name, id=re.sub(r"\W+", "-", name)[:60], marks=marks))
    return marked
