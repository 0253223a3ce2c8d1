"""Work that is handed to a running thread through a queue: grad mode does not come along."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from projects import check_project
from snippets import codes

WORK = """
import queue
import threading
from functools import partial
class Task:
    def __init__(self, compute):
        self._compute = compute
    def compute(self):
        return self._compute()
def worker(tasks, results):
    %s
    while True:
        task = tasks.get()
        if task is None:
            return
        results.put(%s)
        del task
%s
def embed(model, data):
    tasks, results = queue.Queue(), queue.Queue()
    threading.Thread(target=worker, args=(tasks, results), daemon=True).start()
    rows = []
    for x in data:
        tasks.put(%s)
        rows.append(results.get())
    tasks.put(None)
    return rows
def main(steps):
    rows = embed(nn.Linear(8, 8), [torch.rand(4, 8) for _ in range(steps)])
    print(len(rows))
"""
OFF = "@torch.no_grad()"

GUILTY = [
    WORK % ("pass", "task()", OFF, "lambda x=x: model(x)"),
    WORK % ("pass", "task()", OFF, "partial(model, x)"),
    WORK % ("pass", "task.compute()", OFF, "Task(lambda x=x: model(x))"),
    WORK % ("pass", "task[0](task[1])", "@torch.inference_mode()", "(model, x)"),
    # a thread for all, started before
    """
    import queue
    import threading
    class Runner:
        def __init__(self):
            self.tasks, self.results = queue.Queue(), queue.Queue()
            self.thread = threading.Thread(target=self._loop, daemon=True)
            self.thread.start()
        def _loop(self):
            while True:
                fn, args = self.tasks.get()
                self.results.put(fn(*args))
                del fn, args
        def run(self, fn, *args):
            self.tasks.put((fn, args))
            return self.results.get()
    def main(steps):
        model, runner = nn.Linear(8, 8), Runner()
        rows = []
        with torch.no_grad():
            for _ in range(steps):
                rows.append(runner.run(model, torch.rand(4, 8)))
        print(len(rows))
    """,
]

INNOCENT = [
    WORK % ("torch.set_grad_enabled(False)", "task()", OFF, "lambda x=x: model(x)"),
    (WORK % ("pass", "task()", OFF, "lambda x=x: model(x)")).replace("def worker", "@torch.no_grad()\ndef worker"),
    WORK % ("pass", "task()", OFF, "torch.no_grad()(partial(model, x))"),
    # nothing is run there
    WORK % ("pass", "float(task.mean())", OFF, "model(x)"),
    WORK % ("pass", "task()", OFF, "lambda x=x: x.mean().item()"),
]


@pytest.mark.parametrize("source", GUILTY)
def test_a_thread_that_runs_what_it_is_given_records(source: str) -> None:
    assert "TML203" in codes(textwrap.dedent(source))


@pytest.mark.parametrize("source", INNOCENT)
def test_a_thread_that_turns_gradients_off_or_runs_no_model_does_not(source: str) -> None:
    assert codes(textwrap.dedent(source)).isdisjoint({"TML203", "TML102", "TML201"})


RUNNER = """
import queue
import threading

import torch

class Runner:
    def __init__(self):
        self.tasks, self.results = queue.Queue(), queue.Queue()
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()
    {mode}
    def _loop(self):
        while True:
            fn, args = self.tasks.get()
            self.results.put(fn(*args))
            del fn, args
    def run(self, fn, *args):
        self.tasks.put((fn, args))
        return self.results.get()
"""
SCRIPT = """
import torch
from torch import nn

from runner import Runner

def main(steps):
    model, runner = nn.Linear(8, 8), Runner()
    rows = []
    with torch.no_grad():
        for _ in range(steps):
            rows.append(runner.run(model, torch.rand(4, 8))){mark}
    print(len(rows))
"""


@pytest.mark.parametrize(("mode", "mark"), [("", "  # TML203"), ("@torch.no_grad()", "")])
def test_a_runner_of_another_file(mode: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"runner.py": RUNNER.format(mode=mode), "main.py": SCRIPT.format(mark=mark)}
    check_project(files, tmp_path, monkeypatch)
