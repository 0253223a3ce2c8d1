"""Errors that another file keeps, or a function that is handed in, and those that futures have."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

REPORT = """
from dataclasses import dataclass
from collections import defaultdict, deque

class Report:
    def __init__(self):
        self.failed, self.seen = defaultdict(list), 0
        self.recent = deque(maxlen=4)
        self.texts = []

    def add(self, name, error):
        self.failed[name].append(error)

    def last(self, error):
        self.recent.append(error)

    def note(self, error):
        self.texts.append(str(error))

    def bare(self, name, error):
        self.failed[name].append(error.with_traceback(None))

class Job:
    def __init__(self, number):
        self.number, self.error = number, None

    def fail(self, error):
        self.error = error

@dataclass
class Outcome:
    number: int
    error: object = None
"""
MAIN = """
import sys
import torch
from torch import nn
from report import Job, Outcome, Report

class Failed(Exception):
    pass

class Runner:
    def __init__(self, report, on_error=None):
        self.report, self.on_error, self.jobs = report, on_error, []
        self.model = nn.Linear(8, 8)

    def step(self, number):
        x = torch.randn(4, 8)
        try:
            return self.model(x).sum().item()
        except RuntimeError as error:
            %s

    def text(self, number):
        try:
            return int(number)
        except ValueError as error:
            self.report.add("text", error)

def main(numbers):
    report, lines = Report(), []
    runner = Runner(report%s)
    for number in numbers:
        runner.step(number)
    return report, lines
"""


@pytest.mark.parametrize(
    ("clause", "given"),
    [
        ("self.report.add(number, error)  # TML307", ""),
        ("self.report.failed[number].append(Outcome(number, error))  # TML307", ""),
        ("self.on_error(number, error)  # TML307", ", report.add"),
        ("self.on_error(number, error)", ", lambda number, error: lines.append(error)  # TML307\n    "),
        ("self.report.add(number, error.__traceback__)  # TML307", ""),
        ("self.report.add(number, Failed(number, error))  # TML307", ""),
        ("self.report.add(number, Failed(number, str(error)))", ""),
        ("self.report.add(number, sys.exc_info())  # TML307", ""),
        ("self.report.add(number, sys.exc_info()[2])  # TML307", ""),
        ("self.report.add(number, sys.exc_info()[0])", ""),
        ("kind, reason, trace = sys.exc_info(); self.report.add(kind, reason)  # TML307", ""),
        ("self.report.add(number, error and error.with_traceback(None))", ""),
        ("self.report.last(error)  # TML307", ""),
        ("self.report.note(error)", ""),
        ("self.report.bare(number, error)", ""),
        ("error.__traceback__ = None; self.report.add(number, error)", ""),
        ("self.report.add(number, error.with_traceback(None))", ""),
        ("self.report.add(number, str(error))", ""),
        ("self.report.add(number, repr(error).upper())", ""),
        ("self.on_error(number, error)", ", lambda number, error: lines.append(str(error))"),
        ("self.on_error(number, error)", ", print"),
        ("raise ValueError(number) from error", ""),
        ("self.jobs.append(Job(number)); self.jobs[-1].fail(error)  # TML307", ""),
        ("job = Job(number); job.fail(error)", ""),
    ],
)
def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clause: str, given: str) -> None:
    check_project({"report.py": REPORT, "main.py": MAIN % (clause, given)}, tmp_path, monkeypatch)


SERVICE = """
from concurrent.futures import ThreadPoolExecutor, as_completed

class Service:
    def __init__(self):
        self.model, self.failures = nn.Linear(8, 8), []

    def score(self, number):
        return self.model(torch.randn(number, 8)).sum().item()

    def run(self, numbers):
        with ThreadPoolExecutor() as pool:
            waiting = {pool.submit(%s, number): number for number in numbers}
            for future in as_completed(waiting):
                error = future.exception()
                if error is not None:
                    self.failures.append(%s)%s
"""


@pytest.mark.parametrize(
    ("function", "kept", "mark"),
    [
        ("self.score", "(waiting[future], error)", "  # TML307"),
        ("self.score", "str(error)", ""),
        ("int", "error", ""),
    ],
)
def test_the_error_of_a_future(function: str, kept: str, mark: str) -> None:
    check(SERVICE % (function, kept, mark))


SUITE = """
import torch

class Suite:
    def __init__(self, work):
        self.work = work

    def run(self, jobs):
        results = {}
        for job in jobs:
            try:
                %s
                results[job] = "passed"
            except Exception as error:
                results[job] = error%s
        return results

def suites():
    return [Suite]
"""
CHECKS = """
import torch

def check_all(jobs, work):
    from suite import suites
    results = {}
    for suite in suites():
        found = suite(work).run(jobs)
        results.update(found)%s
    return results
"""


@pytest.mark.parametrize(("work", "mark"), [("job.close()", ""), ("job.loss().backward()", "  # TML307")])
def test_errors_that_a_method_of_another_file_hands_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str, mark: str
) -> None:
    """The function that caught them belongs to a class of the other file, and this one has none."""
    check_project({"suite.py": SUITE % (work, mark), "main.py": CHECKS % mark}, tmp_path, monkeypatch)


GUARDS = """
class Guard:
    def __init__(self, *kinds):
        self.kinds = kinds or (ValueError,)
        self.errors = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None or not issubclass(kind, self.kinds):
            return False
        self.errors.append({})
        return True
"""
FIT = """
import torch
from guards import Guard
from torch import nn

def fit(model, optimizer, data):
    guard = Guard(ValueError)
    for x in data:
        {before}
        with guard:{mark}
            {work}
    return guard

def main(steps):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    print(fit(model, optimizer, (torch.randn(4, 8) for _ in range(steps))).errors)
"""
STEP = "loss = model(x).pow(2).mean(); optimizer.zero_grad(); loss.backward(); optimizer.step()"


@pytest.mark.parametrize(
    ("kept", "mark", "before", "work"),
    [
        ("error", "  # TML307", "pass", STEP),
        ("(kind.__name__, error)", "  # TML307", "pass", STEP),
        ("str(error)", "", "pass", STEP),
        ("error.with_traceback(None)", "", "pass", STEP),
        ("error", "", "guard = Guard()", STEP),
        ("error", "", "guard.errors.clear()", STEP),
        ("error", "", "pass", "print('nothing to do')"),
    ],
)
def test_errors_of_a_block(
    kept: str, mark: str, before: str, work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = FIT.format(before=before, mark=mark, work=work)
    check_project({"guards.py": GUARDS.replace("{}", kept), "fit.py": fit}, tmp_path, monkeypatch)


REFUSALS = """
class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status

TOO_MANY = Refused(429, "too many")

class Limited:
    busy = Refused(503, "busy")
    kind = Refused
"""
ENTRANCE = """
import refusals
import torch
from torch import nn
from refusals import TOO_MANY, Limited, Refused

class Entrance(Limited, nn.Module):
    def forward(self, x):
        if x.mean() < 0:
            raise {}
        return x
"""


@pytest.mark.parametrize(
    "raised",
    [
        "TOO_MANY  # TML307",
        "refusals.TOO_MANY  # TML307",
        "self.busy  # TML307",
        "Limited.busy  # TML307",
        "Refused(429, 'too many')",
        "Refused",
        "refusals.Refused",
        "self.kind",
        "TOO_MANY.with_traceback(None)",
    ],
)
def test_errors_that_another_file_makes_once(raised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"refusals.py": REFUSALS, "entrance.py": ENTRANCE.format(raised)}, tmp_path, monkeypatch)
