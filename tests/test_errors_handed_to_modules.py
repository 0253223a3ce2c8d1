"""Exceptions that a clause gives to the function of another module, which puts them into a name of that module."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

RECORDS = """
import traceback

_failed = []

def record(task, problem):
    _failed.append((task, problem))
{more}

def told(problem):
    return "".join(traceback.format_exception(problem))

def within_the_call(problem):
    found = []
    found.append(problem)
    return len(found)
"""
TRIMS = """
    if len(_failed) > 5:
        _failed.pop(0)
"""
DRAINED = """
def drain():
    found = list(_failed)
    _failed.clear()
    return found
"""
SERVER = """
import functools
import records
import torch
from torch import nn

def answers(name):
    def decorator(func):
        @functools.wraps(func)
        def answer(*args):
            try:
                return func(*args)
            except Exception as problem:
                {put}
                return None
        return answer
    return decorator

class Server:
    def __init__(self):
        self.model = nn.Linear(8, 8)

    @answers("score")
    @torch.no_grad()
    def score(self, x):
        return self.model(x).detach().sum().item()
"""
MARKED = "records.record(name, problem)  # TML307"


@pytest.mark.parametrize(
    ("more", "put"),
    [
        ("", MARKED),
        (TRIMS, MARKED),  # the last five keep their frames all the same
        (DRAINED, "records.record(name, problem)"),
        ("", "records.record(name, records.told(problem))"),
        ("", "records.within_the_call(problem)"),
    ],
)
def test_what_another_module_keeps(more: str, put: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"records.py": RECORDS.format(more=more), "server.py": SERVER.format(put=put)}
    check_project(files, tmp_path, monkeypatch)


def test_a_helper_that_trims_what_it_adds_to() -> None:
    check("""
    from torch import nn

    class Server:
        def __init__(self):
            self.model = nn.Linear(8, 8)
            self.problems = []

        def note(self, problem):
            self.problems.append(problem)
            del self.problems[:-5]

        def score(self, x):
            try:
                return self.model(x)
            except RuntimeError as problem:
                self.note(problem)  # TML307
    """)
