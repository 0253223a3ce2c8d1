"""What rules read of the text, of definitions that another file has: who ends a worker, who keeps an exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

SCORER = """
import multiprocessing as mp
import torch
from serving import serve

class Scorer:
    def __init__(self):
        self.rows, self.marks = mp.SimpleQueue(), mp.SimpleQueue()
        self.process = mp.Process(target=serve, args=(self.rows, self.marks), daemon=True)
        self.process.start()

    def mark(self, row):
        self.rows.put(row)
        return self.marks.get()

    def close(self):
        self.rows.put(None)
        self.process.join()

def appoint():
    return Scorer()
"""
SERVE = """
import torch

def serve(rows, marks):
    while True:
        row = rows.get()
        if row is None:
            break
        marks.put(float(torch.tensor(row).sum()))
"""
NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.model = nn.Linear(width, width)

    def run(self, x):
        if len(x) > 8:
            raise ValueError("too many")
        return self.model(x)

def probe(x):
    model = nn.Linear(8, 8)
    return model(x).mean().item()
"""
JOURNAL = """
from dataclasses import dataclass, field
from typing import Any

@dataclass
class Outcome:
    number: int
    error: Any = None

class Journal:
    def __init__(self):
        self.outcomes, self.said = [], []

    def record(self, outcome):
        self.outcomes.append(outcome)

    def say(self, text):
        self.said.append(text)
"""
PROJECTS = {
    "workers that a class of another file starts": {
        "serving.py": SERVE,
        "scorers.py": SCORER,
        "train.py": """
import torch
from torch import nn
from scorers import appoint

@torch.no_grad()
def search_round(model, rows):
    scorer = appoint()  # TML408
    return max(scorer.mark(model(row)[0].tolist()) for row in rows)

@torch.no_grad()
def last_round(model, rows):
    scorer = appoint()
    try:
        return max(scorer.mark(model(row)[0].tolist()) for row in rows)
    finally:
        scorer.close()

def main(steps):
    model = nn.Linear(4, 8)
    marks = [search_round(model, [torch.ones(1, 4)]) for _ in range(steps)]
    marks += [last_round(model, [torch.ones(1, 4)]) for _ in range(steps)]
    return marks
""",
    },
    "a metric whose base cuts what it is given, behind many other definitions": {
        "metric.py": "import torch\n\nclass Metric:\n    def reset(self):\n        raise NotImplementedError\n"
        + "    def used(self, x):\n        return "
        + ", ".join(f"step{n}(x)" for n in range(90))
        + "\n"
        + "".join(f"\ndef step{n}(x):\n    return x + {n}\n" for n in range(90)),
        "regression.py": """
import torch
from metric import Metric

class Regression(Metric):
    def update(self, output):
        y_pred, y = output[0].detach(), output[1].detach()
        self._update((y_pred, y))
""",
        "manhattan.py": """
import torch
from metric import Metric
from regression import Regression

class Distance(Regression):
    def reset(self):
        self.total = torch.tensor(0.0)

    def _update(self, output):
        y_pred, y = output
        self.total += torch.sum(torch.abs(y - y_pred))

    def compute(self):
        return self.total.item()

class Bare(Metric):
    def reset(self):
        self.total = torch.tensor(0.0)

    def _update(self, output):
        y_pred, y = output
        self.total += torch.sum(torch.abs(y - y_pred))  # TML101

    def compute(self):
        return self.total.item()
""",
    },
    "a thread over another file's endless loop": {
        "watching.py": """
import time

def watch(table):
    while True:
        time.sleep(0.01)
        table.decay()

def look_once(table):
    time.sleep(0.01)
    table.decay()
""",
        "table.py": """
import threading
import torch
from watching import look_once, watch

class Table:
    def __init__(self):
        self.rows = torch.ones(64, 64)
        self.watcher = threading.Thread(target=watch, args=(self,), daemon=True)  # TML505
        self.watcher.start()
        self.first = threading.Thread(target=look_once, args=(self,), daemon=True)
        self.first.start()

    def decay(self):
        self.rows *= 0.99

    def close(self):
        print(self.rows.mean())
""",
    },
    "exceptions that another file's journal keeps": {
        "net.py": NET,
        "journal.py": JOURNAL,
        "train.py": """
import torch
from journal import Journal, Outcome
from net import Net

class Worker:
    def __init__(self):
        self.net, self.journal = Net(8), Journal()

    def serve(self, number, x):
        try:
            return self.net.run(x).mean().item()
        except ValueError as error:
            self.journal.record(Outcome(number, error))  # TML307
        return 0.0

    def serve_quietly(self, number, x):
        try:
            return self.net.run(x).mean().item()
        except ValueError as error:
            self.journal.say(str(error))
        return 0.0
""",
    },
    "an exception that another file's helper returns": {
        "calls.py": """
def attempt(call):
    try:
        return True, call()
    except ValueError as error:
        return False, error

def attempt_or_say(call):
    try:
        return True, call()
    except ValueError as error:
        return False, str(error)
""",
        "net.py": NET,
        "train.py": """
import torch
from calls import attempt, attempt_or_say
from net import probe

class Runner:
    def __init__(self):
        self.last = self.reason = None

    def run(self, x):
        good, outcome = attempt(lambda: probe(x))
        if not good:
            self.last = outcome  # TML307

    def run_quietly(self, x):
        good, outcome = attempt_or_say(lambda: probe(x))
        if not good:
            self.reason = outcome
""",
    },
    "an exception that goes through a queue": {
        "net.py": NET,
        "train.py": """
import queue
import torch
from net import probe

class Worker:
    def __init__(self):
        self.results = queue.Queue(4)

    def work(self, x):
        try:
            self.results.put(probe(x))
        except ValueError as error:
            self.results.put(error)

    def result(self):
        return self.results.get()
""",
    },
    "a release that another file's helper cannot do": {
        "freeing.py": """
import gc
import torch

def release(*things):
    things = list(things)
    for index in range(len(things)):
        things[index] = None
    gc.collect()
    torch.cuda.empty_cache()
    return things

def clean():
    gc.collect()
    torch.cuda.empty_cache()
""",
        "train.py": """
import torch
from torch import nn
from freeing import clean, release

@torch.no_grad()
def evaluate(batch):
    model = nn.Linear(8, 8)
    score = model(batch).mean().item()
    release(model)  # TML603
    return score + float(torch.ones(2).sum())

@torch.no_grad()
def evaluate_well(batch):
    model = nn.Linear(8, 8)
    score = model(batch).mean().item()
    (model,) = release(model)
    return score + float(torch.ones(2).sum())

@torch.no_grad()
def evaluate_best(batch):
    model = nn.Linear(8, 8)
    score = model(batch).mean().item()
    del model
    clean()
    return score
""",
    },
    "a table of another file that keeps what was loaded": {
        "tables.py": """
SOUNDS = {}
SCORES = {}
SHORT = {}

def forget():
    SHORT.clear()
""",
        "sounds.py": """
import torch
from tables import SCORES, SHORT, SOUNDS

def sound(path):
    if path not in SOUNDS:
        SOUNDS[path] = torch.load(path).float()  # TML301
    return SOUNDS[path]

def score(path):
    if path not in SCORES:
        SCORES[path] = float(torch.load(path).mean())
    return SCORES[path]

def short(path):
    if path not in SHORT:
        SHORT[path] = torch.load(path).float()
    return SHORT[path]
""",
    },
    "jobs that another file waits for": {
        "pages.py": """
import torch

def page(number):
    return torch.full((64, 64), number / 9)

def edition(press, pages):
    ink = 0.0
    for number in range(pages):
        ink += press.run(page, number).result().sum().item()
        press.wait()
    return ink

def draft(press, pages):
    return sum(press.run(page, number).result().sum().item() for number in range(pages))
""",
        "press.py": """
from concurrent.futures import ThreadPoolExecutor
from pages import edition

class Press:
    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.jobs = []

    def run(self, function, *args):
        job = self.pool.submit(function, *args)
        self.jobs.append(job)
        return job

    def wait(self):
        while self.jobs:
            self.jobs.pop().result()

    def close(self):
        self.pool.shutdown()

def main(steps):
    press = Press()
    ink = edition(press, steps)
    press.close()
    return ink

if __name__ == "__main__":
    main(5)
""",
        "drafts.py": """
from concurrent.futures import ThreadPoolExecutor
from pages import draft

class Press:
    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.jobs = []

    def run(self, function, *args):
        job = self.pool.submit(function, *args)
        self.jobs.append(job)  # TML503
        return job

    def wait(self):
        while self.jobs:
            self.jobs.pop().result()

    def close(self):
        self.pool.shutdown()

def main(steps):
    press = Press()
    ink = draft(press, steps)
    press.close()
    return ink

if __name__ == "__main__":
    main(5)
""",
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
