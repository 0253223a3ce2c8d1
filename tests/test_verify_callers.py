"""Flagged statements of helpers, run as their callers run them: what goes in, and how often, is theirs to say."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from torchmemlint.finding import Finding, Location, Related, Retains, Verdict
from torchmemlint.runtime import flagged
from torchmemlint.runtime.client import Server

METER = """\
import torch
from torch import nn


class Meter:
    def __init__(self):
        self.total = 0

    def update(self, value):
        self.total = self.total + value  # flagged


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
    rows.append(value)  # flagged


def evaluate(model, batches):
    rows = []
    for batch in batches:
        note(rows, {given})  # called
    return rows


def main(steps):
    return evaluate(nn.Linear(4, 1), (torch.randn(8, 4) for _ in range(steps)))  # called
"""
Judge = Callable[..., Verdict]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(device="cpu", jobs=2) as one:
        yield one


@pytest.fixture
def judged(server: Server, tmp_path: Path) -> Judge:
    """The verdict on the line marked as flagged; those marked as called lead to it, the nearest first."""

    def judged(source: str, retains: Retains = Retains.GROWING, message: str = "called from here") -> Verdict:
        file = tmp_path / "train.py"
        file.write_text(source)
        lines = list(enumerate(source.splitlines(), 1))
        place = next(Location(row, len(line) - len(line.lstrip()) + 1) for row, line in lines if "# flagged" in line)
        calls = [Location(row, 1) for row, line in lines if "# called" in line]
        related = tuple(Related(str(file), call, call, message) for call in calls)
        finding = Finding("TML101", "sampled", "", str(file), place, place, retains=retains, related=related)
        verdict = flagged.verify(flagged.Case(finding, str(tmp_path)), server).verdict
        assert verdict is not None
        return verdict

    return judged


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
    verdict = judged(METER.format(given="loss"), message="put there")
    assert verdict.status == "refuted", verdict.reason


@pytest.mark.parametrize(
    "statement",
    ["loss.backward(retain_graph=True)", "loss.backward(create_graph=True)", "jobs.append(Job(loss))"],
)
def test_what_is_no_tensor_refutes_only_numbers(judged: Judge, statement: str) -> None:
    source = (
        "import torch\nfrom torch import nn\n\nclass Job:\n    __slots__ = ()\n    def __init__(self, loss): pass\n\n"
        "def fit(model, batches):\n    jobs = []\n    for batch in batches:\n"
        f"        loss = model(batch).mean()\n        {statement}  # flagged\n"
    )
    retains = Retains.GROWING if "jobs" in statement else Retains.HELD
    assert judged(source, retains).status == "inconclusive"


def test_rules_about_others_are_not_refuted_by_one_line(server: Server, tmp_path: Path) -> None:
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


def test_file_that_cannot_be_parsed_is_inconclusive(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("def f(x):\n    y = = x\n")
    place = Location(2, 5)
    related = (Related(str(file), Location(1, 1), Location(1, 1), "called from here"),)
    finding = Finding("TML101", "sampled", "", str(file), place, place, retains=Retains.GROWING, related=related)
    verdict = flagged.verify(flagged.Case(finding, str(tmp_path)), server).verdict
    assert verdict is not None and verdict.status == "inconclusive"
