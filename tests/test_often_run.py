"""A file that takes many steps: what has run often in it stands back, and what has not yet is still seen."""

from __future__ import annotations

import pytest
from snippets import check

from torchmemlint.facts.lower import lower
from torchmemlint.facts.outline import Outline
from torchmemlint.interpreter import machine
from torchmemlint.interpreter.entries import run

HEAD = """\
import torch
from torch import nn


def clean(rows):
    found = []
    for row in rows:
        for word in row.split():
            if word:
                found.append(word.strip())
    return found


class Reader:
    def __init__(self, net: nn.Module):
        self.net = net
        self.kept = []
        self.rows = {}

"""

METHOD = """\
    def read_{0}(self, path):
        with open(path) as stream:
            rows = clean(stream)
        self.rows["{0}"] = clean(rows)
        return rows

"""

LAST = """\
    def watch(self, batches):
        for batch in batches:
            loss = self.net(batch).mean()
            loss.backward()
            self.kept.append(loss)  # TML102
"""


def _text(methods: int) -> str:
    return HEAD + "".join(METHOD.format(number) for number in range(methods)) + LAST


def test_what_comes_late_is_still_seen() -> None:
    check(_text(150), prelude="")


def test_a_helper_of_many_methods_does_not_run_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = lower(_text(150))
    standing_back = run(Outline(facts))
    monkeypatch.setattr(machine, "_OFTEN_QUIET", 1_000_000)
    each_time = run(Outline(facts))
    assert standing_back.steps < standing_back.patience + facts.statements < each_time.steps
    assert standing_back.reached == each_time.reached
