"""Files that do not name torch are judged where a program leads there that does, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import write
from test_led_by_programs import said

PULSE = """
import threading

class Pulse:
    def __init__(self, model, period=60.0):
        self.model, self.period, self.seen = model, period, []
        self.beat()

    def beat(self):
        self.seen = [type(part).__name__ for part in self.model.modules()]
        self.timer = threading.Timer(self.period, self.beat)
        self.timer.daemon = True
        self.timer.start()

    def stop(self):
        {stop}
"""
TRIALS = """
{first}
from pulse import Pulse

def trial(number):
    pulse = Pulse({model})
    print(len(pulse.seen))
    pulse.stop()

def main():
    for number in range(100):
        trial(number)

if __name__ == "__main__":
    main()
"""
CACHE = """
import weakref

_patched = weakref.WeakKeyDictionary()

class Patched:
    def __init__(self, model, strength):
        self.model = {model}
        self.strength = strength

    def __call__(self, batch, model):
        return model(batch) * self.strength

def patched(model, strength):
    known = _patched.setdefault(model, {{}})
    if strength not in known:
        known[strength] = Patched(model, strength)
    return known[strength]
"""
FOLDS = """
import torch
from torch import nn
from cache import patched

def main():
    for fold in range(10):
        model = nn.Linear(64, 64)
        print(patched(model, 0.5)(torch.rand(2, 64), model).sum().item())

if __name__ == "__main__":
    main()
"""
TORCH = TRIALS.format(first="import torch", model="torch.nn.Linear(number + 1, 8)")
OTHER = TRIALS.format(first="import tree", model="tree.Tree(number)")
GUILTY = [
    ({"pulse.py": PULSE.format(stop="self.seen.clear()"), "trials.py": TORCH}, "TML505"),
    ({"cache.py": CACHE.format(model="model"), "folds.py": FOLDS}, "TML316"),
]
INNOCENT = [
    {"pulse.py": PULSE.format(stop="self.timer.cancel()"), "trials.py": TORCH},
    {"pulse.py": PULSE.format(stop="self.seen.clear()"), "trials.py": OTHER},
    {"cache.py": CACHE.format(model="None"), "folds.py": FOLDS},
]


@pytest.mark.parametrize(("files", "code"), GUILTY)
def test_program_with_torch_leads_there(
    files: dict[str, str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = write(tmp_path, files)
    found = said(tmp_path, names)
    assert {one for _, _, one in found} == {code}, found
    assert said(tmp_path, names[:1]) == [], "nothing leads there"


@pytest.mark.parametrize("files", INNOCENT)
def test_nothing_is_said(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(tmp_path, write(tmp_path, files)) == []


def test_that_a_program_comes_to_name_torch_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = write(tmp_path, {"pulse.py": PULSE.format(stop="self.seen.clear()"), "trials.py": OTHER})
    settings = {"no-cache": False, "cache-dir": str(tmp_path / "cache")}
    assert said(tmp_path, names, **settings) == []
    write(tmp_path, {"trials.py": TORCH})
    assert {code for _, _, code in said(tmp_path, names, **settings)} == {"TML505"}
    write(tmp_path, {"trials.py": OTHER})
    assert said(tmp_path, names, **settings) == []
