"""Lists of records, filled by one call, of which only the light parts are ever read."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

HEAD = """
class Trial:
    def __init__(self, model, score):
        self.model, self.score = model, score

class Search:
    def __init__(self):
        self.trials = []

    def fit(self, x, rounds):
        for _ in range(rounds):
            model = nn.Linear(64, 64)
            with torch.no_grad():
                score = model(x).mean().item()
            {puts}

    def best(self):
        {reads}

def main():
    search = Search()
    search.fit(torch.randn(8, 64), 100)
    print(search.best())
"""
AS_DICT = 'self.trials.append({"model": model, "score": score})'
AS_OBJECT = "self.trials.append(Trial(model, score))"
GUILTY = {
    "by a comprehension": (AS_DICT, 'return max(t["score"] for t in self.trials)'),
    "by a loop": (AS_DICT, "for t in self.trials:\n            print(t['score'])"),
    "the last one": (AS_DICT, "return self.trials[-1]['score'], len(self.trials)"),
    "the best one's score": (AS_DICT, "return max(self.trials, key=lambda t: t['score'])['score']"),
    "of the best object": (AS_OBJECT, "return min(self.trials, key=lambda t: t.score).score"),
    "the first in order": (AS_DICT, "return sorted(self.trials, key=lambda t: t['score'])[0]['score']"),
    "of an object": (AS_OBJECT, "return max(t.score for t in self.trials)"),
}
INNOCENT = {
    "the model as well": (AS_DICT, 'return max((t["score"], id(t["model"])) for t in self.trials)'),
    "whole records": (AS_DICT, "return sorted(self.trials, key=lambda t: t['score'])[0]"),
    "the best record": (AS_DICT, "return max(self.trials, key=lambda t: t['score'])"),
    "the best by its model": (AS_DICT, "return max(self.trials, key=lambda t: id(t['model']))['score']"),
    "the best one's model": (AS_OBJECT, "return min(self.trials, key=lambda t: t.score).model"),
    "handed out": (AS_DICT, "return self.trials"),
    "by a name that is not known": (AS_DICT, "return [t[name] for t in self.trials for name in NAMES]"),
    "nobody looks": (AS_DICT, "return None"),
    "nothing else in it": ('self.trials.append({"model": model})', "return len(self.trials)"),
    "of an object, by a method": (AS_OBJECT, "return [show(t) for t in self.trials]"),
    "only the score": ('self.trials.append({"score": score})', 'return max(t["score"] for t in self.trials)'),
}


@pytest.mark.parametrize("name", GUILTY)
def test_parts_that_nobody_reads(name: str) -> None:
    puts, reads = GUILTY[name]
    check(HEAD.format(puts=puts + "  # TML303", reads=reads))


@pytest.mark.parametrize("name", INNOCENT)
def test_parts_that_somebody_may_read(name: str) -> None:
    puts, reads = INNOCENT[name]
    check(HEAD.format(puts=puts, reads=reads))


def test_records_that_somebody_else_gets() -> None:
    text = HEAD.format(puts=AS_DICT, reads='return max(t["score"] for t in self.trials)')
    check("from report import show\n" + text.replace("print(search.best())", "show(search)"))
    check(text.replace("print(search.best())", "print(search.best(), search.trials[0]['model'])"))


def test_tensors_of_an_evaluation() -> None:
    text = HEAD.replace("model = nn.Linear(64, 64)", "model, rows = LAYER, torch.randn(64, 64)")
    puts = 'self.trials.append({"rows": rows, "score": score})  # TML303'
    reads = 'return sum(t["score"] for t in self.trials)'
    check("LAYER = nn.Linear(64, 64)\n" + text.format(puts=puts, reads=reads))


@pytest.mark.parametrize(
    ("puts", "reads"),
    [
        ("self.trials.append(model)  # TML303", "return 1"),
        ("self.trials.append(model)  # TML303", "return len(self.trials)"),
        ("self.trials.append(score)", "return 1"),
    ],
)
def test_models_in_a_list_of_the_class_s_own(puts: str, reads: str) -> None:
    text = HEAD.format(puts=puts, reads=reads)
    check(text.replace("trials", "_trials"))
    check(text.replace("  # TML303", ""))  # others may read it, by that name


def test_models_of_which_the_last_is_asked_for() -> None:
    text = HEAD.format(puts="self.trials.append(model)  # TML303", reads="return self.trials[-1]")
    check(text)
    check(text.replace("trials", "_trials"))


BUFFER = """
import torch
from collections import defaultdict

class Buffer:
    def __init__(self):
        self._kept = defaultdict(list)

    def add(self, name, value):
        self._kept[name].append(value.detach())

    def joined(self, name):
        {reads}

def features(loader, model):
    buffer = Buffer()
    with torch.no_grad():
        for x, y in loader:
            buffer.add("features", model(x))
            buffer.add("label", y)
    return buffer.joined("features"), buffer.joined("label")

class Detector:
    def __init__(self, model):
        self.model = model

    def fit(self, loader):
        z, y = features(loader, self.model)
        print(z.mean(), y)
        return self
"""
SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from buffers import Detector

loader = DataLoader(TensorDataset(torch.rand(64, 8), torch.rand(64)), batch_size=8)
detector = Detector(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)).eval())
detector.fit(loader){}
"""


@pytest.mark.parametrize(("reads", "mark"), [("return torch.cat(self._kept[name])", ""), ("return 0", "  # TML303")])
def test_of_a_class_of_another_file(reads: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"buffers.py": BUFFER.format(reads=reads), "script.py": SCRIPT.format(mark)}, tmp_path, monkeypatch)
