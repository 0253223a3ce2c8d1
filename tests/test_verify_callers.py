"""Flagged statements of helpers, run as their callers run them: what goes in, and how often, is theirs to say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from conftest import Judge

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.finding import Finding, Location, Related, Retains
from torchmemlint.runtime import flagged

METER = """\
import torch
from torch import nn


class Meter:
    def __init__(self):
        self.total = 0

    def update(self, value):
        self.total = self.total + value  # here


def fit(model, batches, meter):
    for batch in batches:
        loss = model(batch).square().mean()
        loss.backward()
        meter.update({given})  # called


def main(steps):
    meter = Meter()
    fit(nn.Linear(4, 1), (torch.randn(8, 4) for _ in range(steps)), meter)  # called
    return meter


if __name__ == "__main__":
    main(10)  # called
"""
RECORDS = """\
import torch
from torch import nn


def note(rows, value):
    rows.append(value)  # here


def evaluate(model, batches):
    rows = []
    for batch in batches:
        note(rows, {given})  # called
    return rows


def main(steps):
    return evaluate(nn.Linear(4, 1), (torch.randn(8, 4) for _ in range(steps)))  # called
"""


@pytest.mark.parametrize("source", [METER.format(given="loss"), RECORDS.format(given="model(batch)")])
def test_what_callers_pass_is_confirmed(judged: Judge, source: str) -> None:
    verdict = judged(source)
    assert (verdict.status, verdict.tier) == ("growing", "replayed"), verdict.reason
    assert verdict.nodes_per_step is not None and verdict.nodes_per_step >= 2


@pytest.mark.parametrize("given", ["loss.item()", "loss.detach()"])
def test_what_callers_let_go_is_refuted(judged: Judge, given: str) -> None:
    verdict = judged(METER.format(given=given))
    assert verdict.status == "refuted", verdict.reason


def test_statement_alone_says_nothing_of_its_callers(judged: Judge) -> None:
    """Places that only explain are no callers: then the helper is run by itself, and what it is given is a stand-in."""
    verdict = judged(METER.format(given="loss"), said="put there")
    assert verdict.status == "refuted", verdict.reason


@pytest.mark.parametrize(
    "statement",
    ["loss.backward(retain_graph=True)", "loss.backward(create_graph=True)", "jobs.append(Job(loss))"],
)
def test_what_is_no_tensor_refutes_only_numbers(judged: Judge, statement: str) -> None:
    source = (
        "import torch\nfrom torch import nn\n\nclass Job:\n    __slots__ = ()\n    def __init__(self, loss): pass\n\n"
        "def fit(model, batches):\n    jobs = []\n    for batch in batches:\n"
        f"        loss = model(batch).mean()\n        {statement}  # here\n"
    )
    retains = Retains.GROWING if "jobs" in statement else Retains.HELD
    assert judged(source, retains=retains).status == "inconclusive"


def test_rules_about_others_are_not_refuted_by_one_line(server: Any, tmp_path: Path) -> None:
    """A table that somebody else should empty: that the line by itself lets go says nothing."""
    file = tmp_path / "train.py"
    file.write_text(
        "class Service:\n    def __init__(self):\n        self.open = {}\n\n    def ask(self, number, batch):\n"
        "        self.open[0] = batch * 2\n        return number\n"
    )
    place = Location(6, 9)
    verdicts = {}
    for code in ("TML101", "TML311"):
        finding = Finding(code, "sampled", "", str(file), place, place, retains=Retains.GROWING)
        verdict = flagged.verify(flagged.Case(finding, str(tmp_path)), server).verdict
        assert verdict is not None
        verdicts[code] = verdict.status
    assert verdicts == {"TML101": "refuted", "TML311": "inconclusive"}


def test_file_that_cannot_be_parsed_is_inconclusive(server: Any, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("def f(x):\n    y = = x\n")
    place = Location(2, 5)
    related = (Related(str(file), Location(1, 1), Location(1, 1), "called from here"),)
    finding = Finding("TML101", "sampled", "", str(file), place, place, retains=Retains.GROWING, related=related)
    verdict = flagged.verify(flagged.Case(finding, str(tmp_path)), server).verdict
    assert verdict is not None and verdict.status == "inconclusive"
