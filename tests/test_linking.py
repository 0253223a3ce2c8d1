"""Findings that need more than one file: each project below is written out, linted, and compared with the codes in
its comments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchmemlint.config import load
from torchmemlint.linter import engine, pool
from torchmemlint.linter.project import Project

METER = """
class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, value):
        self.total = self.total + value
        self.n += 1
"""
TRAIN = """
import torch
{imports}

def train(model: torch.nn.Module, loader, optimizer):
    meter = {meter}()
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item())
        meter.update(loss)  # TML101
"""


def train(imports: str, meter: str = "Meter") -> str:
    return TRAIN.format(imports=imports, meter=meter)


POOL = """
from concurrent.futures import ThreadPoolExecutor

class Plain:
    def __init__(self):
        self.pool = ThreadPoolExecutor(1)

    def run(self, function, *args):
        return self.pool.submit(function, *args)

class Remembering(Plain):
    def __init__(self):
        super().__init__()
        self.jobs = []

    def run(self, function, *args):
        job = super().run(function, *args)
        self.jobs.append(job)
        return job

    def wait(self):
        while self.jobs:
            self.jobs.pop().result()
"""
PRINT = """
import torch
from pools import Plain, Remembering

def page(number):
    return torch.full((64, 64), number)

def main(pool, count):
    for number in range(count):
        print(pool.run(page, number).result().sum().item()){mark}
    {end}

main({cls}(), 99)
"""
JUDGED = """
import torch
from torch import nn
from features import {features}

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = {features}()
        self.total = torch.zeros(())

    def add(self, image, other):
        self.total = self.total + (self.net(image) - self.net(other)).pow(2).mean(){mark}

def main(count):
    judge, painter = Judge(), nn.Conv2d(3, 3, 3)
    optimizer = torch.optim.SGD(painter.parameters(), lr=0.1)
    for _ in range(count):
        image = painter(torch.rand(1, 3, 16, 16))
        loss = image.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        judge.add(image.detach(), torch.rand(1, 3, 14, 14))
"""
FEATURES = """
import torch
from torch import nn

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.second = nn.Conv2d(8, 8, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

class FrozenFeatures(Features):
    def __init__(self):
        super().__init__()
        for weight in self.parameters():
            weight.requires_grad = False
"""
PROJECTS = {
    "a sum of losses in the loop of a base class, which back-propagates what its subclasses give": {
        "base.py": """
import torch

class Base:
    def __init__(self, model: torch.nn.Module, optimizer):
        self.model, self.optimizer = model, optimizer

    def fit(self, loader):
        total = 0.0
        for x, y in loader:
            loss = self.cost(x, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss  # TML101
        return float(total)
""",
        "own.py": """
import torch
from base import Base

class Own(Base):
    def cost(self, x, y):
        loss = torch.nn.functional.mse_loss(self.model(x), y)
        return loss
""",
    },
    "a module of another file that freezes itself": {
        "features.py": FEATURES,
        "frozen.py": JUDGED.format(features="FrozenFeatures", mark=""),
        "trained.py": JUDGED.format(features="Features", mark="  # TML101"),
    },
    "futures that a method of another file would take out": {
        "pools.py": POOL,
        "left.py": PRINT.format(cls="Remembering", mark="  # TML503", end="print(count)"),
        "taken.py": PRINT.format(cls="Remembering", mark="", end="pool.wait()"),
        "plain.py": PRINT.format(cls="Plain", mark="", end="print(count)"),
    },
    "a script beside its module": {"meters.py": METER, "train.py": train("from meters import Meter")},
    "an alias of the module": {"meters.py": METER, "train.py": train("import meters as m", "m.Meter")},
    "a dotted import": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "train.py": train("import pack.meters", "pack.meters.Meter"),
    },
    "relative": {"pack/__init__.py": "", "pack/meters.py": METER, "pack/train.py": train("from .meters import Meter")},
    "relative, one up": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "pack/jobs/__init__.py": "",
        "pack/jobs/train.py": train("from ..meters import Meter"),
    },
    "a submodule as a name": {
        "pack/__init__.py": "",
        "pack/meters.py": METER,
        "pack/train.py": train("from . import meters", "meters.Meter"),
    },
    "re-exported": {
        "pack/__init__.py": "from .tools import Meter",
        "pack/tools/__init__.py": "from .meters import Meter as Meter",
        "pack/tools/meters.py": METER,
        "train.py": train("from pack import Meter"),
    },
    "re-exported by a star": {
        "pack/__init__.py": "from .meters import *",
        "pack/meters.py": METER,
        "train.py": train("from pack import Meter"),
    },
    "imported by a star": {"meters.py": METER, "train.py": train("from meters import *")},
    "a namespace package": {"pack/tools/meters.py": METER, "train.py": train("from pack.tools.meters import Meter")},
    "a src layout": {
        "src/pack/__init__.py": "",
        "src/pack/meters.py": METER,
        "scripts/train.py": train("from pack.meters import Meter"),
    },
    "a cycle": {
        "meters.py": "import train\nfrom train import nothing\n" + METER,
        "train.py": train("from meters import Meter"),
    },
    "names that import each other": {
        "a.py": "from b import Meter\n",
        "b.py": "from a import Meter\n",
        "train.py": train("from a import Meter").replace("  # TML101", ""),
    },
    "imported on a condition": {
        "meters.py": METER,
        "train.py": train("try:\n    from meters import Meter\nexcept ImportError:\n    Meter = None"),
    },
    "imported in the function": {
        "meters.py": METER,
        "train.py": train("", "Meter").replace("    meter =", "    from meters import Meter\n    meter ="),
    },
    "the package goes before a module of its name": {
        "meters/__init__.py": METER,
        "meters.py": "class Meter:\n    def update(self, value):\n        print(float(value))\n",
        "train.py": train("from meters import Meter"),
    },
    "the nearer of two modules of one name": {
        "jobs/meters.py": "class Meter:\n    def update(self, value):\n        self.total = float(value)\n",
        "meters.py": METER,
        "jobs/train.py": train("from meters import Meter").replace("  # TML101", ""),
    },
    "a standard module is not taken for a file": {
        "queue.py": METER,
        "train.py": train("from queue import Meter").replace("  # TML101", ""),
    },
    "an excluded folder is no context": {
        "venv/meters.py": METER,
        "train.py": train("from venv.meters import Meter").replace("  # TML101", ""),
    },
    "a base class in another file stores what a method returns": {
        "engine.py": """
class Trainer:
    def fit(self, loader):
        self.logs = []
        for batch in loader:
            self.logs.append(self.step(batch))
""",
        "train.py": """
import torch
from engine import Trainer

class Mine(Trainer):
    def __init__(self):
        self.net = torch.nn.Linear(2, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

    def step(self, batch):
        loss = self.net(batch).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss}  # TML102

class Other(Mine):
    def step(self, batch):
        loss = self.net(batch).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.item()}
""",
    },
    "a global of another module": {
        "state.py": "HISTORY = []\n",
        "train.py": """
import torch
import state

def train(model: torch.nn.Module, loader):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        state.HISTORY.append(loss)  # TML102
""",
    },
    "a function that returns a number": {
        "tools.py": "def mean(values):\n    return float(sum(values)) / len(values)\n",
        "train.py": """
import torch
from tools import mean

def train(model: torch.nn.Module, loader):
    losses = []
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        losses.append(mean([loss]))
    return losses
""",
    },
    "a loss that its helper says is a float": {
        "tools.py": "def distance(output, y) -> float:\n    return ((output - y) ** 2).mean()\n",
        "train.py": """
import torch
from tools import distance

def train(model: torch.nn.Module, loader, optimizer):
    losses = []
    for x, y in loader:
        loss = distance(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)  # TML102
    return losses
""",
    },
    "a number of a helper that says so": {
        "tools.py": "def rate(step, warmup: int = 0) -> float:\n    for _ in range(warmup):\n        step = step / 2\n"
        "    return step\n",
        "train.py": """
import torch
from tools import rate

def train(model: torch.nn.Module, loader, optimizer, start):
    rates = []
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        rates.append(rate(start))
        rates.append(rate(step))
    return rates
""",
    },
    "what another file keeps of its own is not said here": {
        "tools.py": """
import torch

class Keeper:
    def __init__(self, model: torch.nn.Module):
        self.model, self.kept = model, []

    def run(self, loader):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.kept.append(loss)  # TML102
""",
        "train.py": """
import torch
from tools import Keeper

def main(loader):
    keeper = Keeper(torch.nn.Linear(1, 1))
    for _ in range(10):
        keeper.run(loader)
""",
    },
    "functions given to a bus that keeps them": {
        "bus.py": """
_handlers = {}

def on(event, handler):
    _handlers.setdefault(event, []).append(handler)

def off(event, handler):
    _handlers[event].remove(handler)

class Dispatcher:
    def __init__(self):
        self.callbacks = []

    def connect(self, function):
        self.callbacks.append(function)

dispatcher = Dispatcher()
""",
        "sessions.py": """
import functools
import torch
from bus import dispatcher, on

class Session:
    def __init__(self):
        self.model = torch.nn.Linear(64, 64)
        on("reload", self.reload)  # TML314

    def reload(self, state):
        self.model.load_state_dict(state)

    @torch.no_grad()
    def run(self, x):
        return self.model(x).mean().item()

def evaluate(x):
    model = torch.nn.Linear(64, 64)
    dispatcher.connect(lambda: model.zero_grad())  # TML314
    with torch.no_grad():
        return model(x).sum().item()

def calibrate(x):
    reference = x * 2
    on("report", functools.partial(torch.dist, reference))  # TML314
    return reference.mean().item()

def profile(x):
    total = x.sum().item()
    dispatcher.connect(lambda: print(total))
    return total

def main(n):
    for i in range(n):
        Session().run(torch.randn(8, 64))
        evaluate(torch.randn(8, 64))
        calibrate(torch.randn(8, 64))
        profile(torch.randn(8, 64))
""",
        "once.py": """
import torch
from bus import dispatcher, off, on

class App:
    def __init__(self):
        self.model = torch.nn.Linear(64, 64)
        on("reload", self.reload)

    def reload(self, state):
        self.model.load_state_dict(state)

class Job:
    def __init__(self):
        self.model = torch.nn.Linear(64, 64)
        on("tick", self.tick)

    def tick(self):
        self.model.zero_grad()

    def close(self):
        off("tick", self.tick)

app = App()

def main(n):
    model = torch.nn.Linear(64, 64)
    dispatcher.connect(lambda: model.zero_grad())
    for i in range(n):
        job = Job()
        job.close()
""",
    },
    "a decorator that remembers for ever": {
        "caching.py": """
import functools

def remember(fn):
    results: dict = {}

    @functools.wraps(fn)
    def inner(*args):
        if args not in results:
            results[args] = fn(*args)
        return results[args]

    return inner

def recent(limit):
    def decorate(fn):
        results = {}

        def inner(*args):
            if args not in results:
                results[args] = fn(*args)
            while len(results) > limit:
                results.pop(next(iter(results)))
            return results[args]

        return inner

    return decorate
""",
        "voices.py": """
import torch
from caching import recent, remember

@remember  # TML305
def voice(clip: str) -> torch.Tensor:
    return torch.load(clip, map_location="cpu")

@recent(4)
def speaker(clip: str) -> torch.Tensor:
    return torch.load(clip, map_location="cpu")

@remember
def window(n_fft: int) -> torch.Tensor:
    return torch.hann_window(n_fft)
""",
    },
    "a recorder that its user leaves on the model": {
        "recorder.py": """
class Recorder:
    def __init__(self, names):
        self.names, self.rows, self.handles = names, [], []

    def attach(self, model):
        for name in self.names:
            self.handles.append(model.get_submodule(name).register_forward_hook(self.keep))
        return self

    def keep(self, module, inputs, output):
        self.rows.append(output.detach())

    def detach(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.detach()
""",
        "left.py": """
import torch
from torch import nn
from recorder import Recorder

def validate(loader):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    for x in loader:
        recorder = Recorder(["0"]).attach(model)  # TML304
        with torch.no_grad():
            model(x)
        print(len(recorder.rows))
""",
        "used.py": """
import torch
from torch import nn
from recorder import Recorder

def validate(loader):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    for x in loader:
        with Recorder(["0"]).attach(model), torch.no_grad():
            model(x)
""",
    },
}


def write(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return [name for name in files if not name.startswith("venv/")]


def marked(files: dict[str, str]) -> list[tuple[str, int, str]]:
    return sorted(
        (name, row, match[0])
        for name, text in files.items()
        for row, line in enumerate(text.splitlines(), 1)
        for match in [re.search(r"TML\d+", line)]
        if match
    )


def lint(folder: Path, names: list[str], jobs: int = 1) -> list[tuple[str, int, str]]:
    plan = engine.plan(load(folder, {"no-cache": True}, isolated=True))
    return [(f.filename, f.start.row, f.code) for f in pool.lint_files(names, plan, jobs)]


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = PROJECTS[name]
    names = write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    found = lint(tmp_path, names)
    assert found == marked(files)
    assert lint(tmp_path, names[::-1]) == found
    for single in names:  # a part of the project has the same findings as in the whole
        assert lint(tmp_path, [single]) == [finding for finding in found if finding[0] == single]


HEAVY = "from torch import nn\nfrom pack.light import *\n"
LEADS = [
    ("from . import heavy\n", True),
    ("from . import (  # noqa\n    heavy, light)\n", True),
    ("import os, pack.heavy\n", True),
    ("from .further import x\n", True),
    ("from .light import (a,\n    b)\n", False),
    ("from .light import a, \\\n    b\n", False),
    ("from . import light\nfrom os import path\n", False),
    ("import os\nfrom . import file\n", False),
    ("from .absent import x\n", True),
    ("from pack.absent import x\n", True),
    ("from absent import x\n", False),
]


@pytest.mark.parametrize(("text", "leads"), LEADS)
def test_what_imports_lead_to_torch(text: str, leads: bool, tmp_path: Path) -> None:
    files = {"__init__": "", "heavy": HEAVY, "light": "a = b = 1\n", "further": "from . import heavy\n", "file": text}
    write(tmp_path, {f"pack/{name}.py": content for name, content in files.items()})
    project = Project(tmp_path, (), lambda path: None)
    assert project.leads_to_trace(str(tmp_path / "pack" / "file.py"), text.encode()) is leads


def test_the_store_in_the_other_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, PROJECTS["relative"])
    monkeypatch.chdir(tmp_path)
    (finding,) = pool.lint_files(["pack/train.py"], engine.plan(load(tmp_path, {"no-cache": True}, isolated=True)), 1)
    stored = finding.related[0]
    assert (stored.filename, stored.start.row, stored.message) == ("pack/meters.py", 7, "stored here")


def test_a_context_file_that_cannot_be_parsed_is_its_own_affair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = write(tmp_path, {"meters.py": "class Meter(:\n", "train.py": train("from meters import Meter")})
    monkeypatch.chdir(tmp_path)
    assert lint(tmp_path, names) == [("meters.py", 1, "TML900")]
    assert lint(tmp_path, ["train.py"]) == []
