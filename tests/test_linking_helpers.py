"""What helpers, generators and tables of other files do with what this one gives them, or takes from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_TAPE = """
from contextlib import contextmanager

class Tape:
    def __init__(self):
        self.rows = []

    def note(self, module, inputs, output):
        self.rows.append(output.flatten(1).mean(1))

    def clear(self):
        self.rows.clear()

@contextmanager
def record(layer, tape):
    handle = layer.register_forward_hook(tape.note)
    try:
        yield tape
    finally:
        handle.remove()

class Study:
    def __init__(self, model, layer):
        self.model, self.layer = model, layer
        self.tape = Tape()

    def probe(self, batch):
        return self.model(batch)

    def run(self, batches):
        with record(self.layer, self.tape):
            for batch in batches:
                self.probe(batch)
        return len(self.tape.rows)
"""
_PROBE = """
import torch
from torch import nn
from tape import Study

class Leaves(Study):
    @torch.no_grad()
    def probe(self, batch):
        return super().probe(batch)

def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()

def main(batches):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    study = Leaves(model, model[0])
    print(study.run(batches))
    train(model, batches)

if __name__ == "__main__":
    main([torch.rand(4, 64), torch.rand(4, 64)])
"""
_CKPT = """
import os
import torch

def load_checkpoint(path, strict=True):
    if not os.path.exists(path):
        if strict:
            raise FileNotFoundError(path)
        return None
    state = torch.load(path, map_location="cpu")
    return state
"""
_RESUME = """
import torch
from ckpt import load_checkpoint

def train(path, batches):
    model = torch.nn.Linear(64, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = load_checkpoint(path, strict=False)  # TML313
    if state is not None:
        model.load_state_dict(state["model"])
    for x in batches:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model

if __name__ == "__main__":
    train("last.pt", torch.rand(64, 4, 64))
"""
_STRATEGY = """
class Strategy:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def backward(self, loss, **kwargs):
        self.optimizer.zero_grad()
        loss.backward(**kwargs)
"""
_FLAT = """
import torch
from torch import nn
from strategy import Strategy

def train(steps):
    model = nn.Linear(64, 8)
    strategy = Strategy(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(steps):
        loss = model(torch.rand(4, 64)).pow(2).mean()
        strategy.backward(loss, create_graph=True)  # TML104
        penalty = sum(p.grad.pow(2).sum() for p in model.parameters())
        print(float(penalty))
        strategy.optimizer.step()

if __name__ == "__main__":
    train(20)
"""
_TRACKED = """
class Tracked:
    def __init__(self, loader):
        self.loader, self.handed = loader, []

    def __iter__(self):
        for batch in self.loader:
            self.handed.append(batch)
            yield batch

    def reset(self):
        self.handed = []
"""
_EPOCHS = """
import torch
from tracked import Tracked

def source():
    for _ in range(20):
        yield torch.rand(4, 64)

class Training:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def epoch(self):
        total = 0.0
        for x in self.loader:  # TML303
            loss = self.model(x).mean()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total

def main(epochs):
    training = Training(torch.nn.Linear(64, 8), Tracked(source()))
    for _ in range(epochs):
        print(training.epoch())

if __name__ == "__main__":
    main(20)
"""
_REGISTRY = {
    "models/registry.py": """
MODELS = {}

def register(name):
    def add(cls):
        MODELS[name] = cls
        return cls
    return add

def build(cfg):
    return MODELS[cfg["name"]](**cfg.get("args", {}))
""",
    "models/__init__.py": """
from . import dense
from .registry import build
""",
    "models/dense.py": """
from torch import nn
from .registry import register

@register("dense")
class Dense(nn.Module):
    def __init__(self, code=16):
        super().__init__()
        self.first, self.second = nn.Linear(64, code), nn.Linear(code, 64)

    def encode(self, x):
        return self.first(x)

    def forward(self, x):
        return self.second(self.encode(x))
""",
}
_FUNCTIONS = {
    "models.py": """
from torch import nn

BUILDERS = {}

def builder(fn):
    BUILDERS[fn.__name__] = fn
    return fn

@builder
def dense(code=16):
    return nn.Sequential(nn.Linear(64, code), nn.Linear(code, 64))

def build(cfg):
    return BUILDERS[cfg["name"]](**cfg.get("args", {}))
""",
}
_CODES = """
import torch
from models import build

class Codes:
    def __init__(self, model):
        self.model, self.codes = model, []

    def add(self, batches):
        for x in batches:
            self.codes.append(self.model(x))  # TML102

    def centre(self):
        return torch.cat(self.codes).mean(0).tolist()

def main(name, steps):
    codes = Codes(build({"name": name}))
    codes.add(torch.rand(4, 64) for _ in range(steps))
    print(codes.centre())
"""
_EVENTS = {
    "events/bus.py": """
from collections import defaultdict

HANDLERS = defaultdict(list)

def on(event):
    def register(fn):
        HANDLERS[event].append(fn)
        return fn
    return register

def emit(event, **payload):
    for handler in HANDLERS[event]:
        handler(payload)
""",
    "events/handlers.py": """
from .bus import on

HISTORY = []

@on("step")
def remember(payload):
    HISTORY.append(payload["loss"])
""",
    "events/__init__.py": """
from . import handlers
from .bus import emit
""",
    "fit.py": """
from events import emit
from torch import nn

def main(steps, batches, optimizer):
    model = nn.Linear(8, 1)
    for x in batches:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        emit("step", loss=loss)  # TML102
""",
}
_OBSERVED = {
    **_EVENTS,
    "events/bus.py": """
HANDLERS = []

def on(event):
    return lambda fn: fn

def observer(fn):
    HANDLERS.append(fn)
    return fn

def emit(event, **payload):
    for handler in HANDLERS:
        handler(payload)
""",
}


def _with(files: dict[str, str], name: str, old: str, new: str) -> dict[str, str]:
    assert old in files[name]
    return {**files, name: files[name].replace(old, new)}


PROJECTS = {
    "handlers of an event, in a table of lists": _EVENTS,
    "handlers in lists that are there from the start": _with(
        _EVENTS, "events/bus.py", "defaultdict(list)", '{"step": [], "epoch": []}'
    ),
    "handlers in lists that are made when asked for": _with(
        _with(_EVENTS, "events/bus.py", "defaultdict(list)", "{}"),
        "events/bus.py",
        "HANDLERS[event].append",
        "HANDLERS.setdefault(event, []).append",
    ),
    "handlers in a list": _with(
        _with(_OBSERVED, "events/handlers.py", "import on", "import observer"),
        "events/handlers.py",
        '@on("step")',
        "@observer",
    ),
    "a decorator that enters nothing": _with(_OBSERVED, "fit.py", "  # TML102", ""),
    "handlers that are told a number": _with(_EVENTS, "fit.py", "loss=loss)  # TML102", "loss=loss.item())"),
    "a model by its name, from a third file": {**_REGISTRY, "codes.py": _CODES.replace("model(x)", "model.encode(x)")},
    "a model by its name, from a function": {**_FUNCTIONS, "codes.py": _CODES},
    "a model by its name, without gradients": {
        **_REGISTRY,
        "codes.py": _CODES.replace("  # TML102", "").replace("    def add", "    @torch.no_grad()\n    def add"),
    },
    "a graph of gradients that another file is asked for": {"strategy.py": _STRATEGY, "flat.py": _FLAT},
    "gradients without a graph": {
        "strategy.py": _STRATEGY,
        "flat.py": _FLAT.replace(", create_graph=True)  # TML104", ")"),
    },
    "a generator that goes on in each round": {"tracked.py": _TRACKED, "epochs.py": _EPOCHS},
    "a generator whose object is told to begin anew": {
        "tracked.py": _TRACKED,
        "epochs.py": _EPOCHS.replace("  # TML303", "").replace("        return total", "        self.loader.reset()"),
    },
    "a checkpoint that a helper gives back": {"ckpt.py": _CKPT, "resume.py": _RESUME},
    "of which only the number of the epoch comes back": {
        "ckpt.py": _CKPT.replace("return state", 'return state["epoch"]'),
        "resume.py": _RESUME.replace("  # TML313", ""),
    },
    "that is dropped before training": {
        "ckpt.py": _CKPT,
        "resume.py": _RESUME.replace("  # TML313", "").replace("    for x in", "    del state\n    for x in"),
    },
    "a hook in passes without gradients": {"tape.py": _TAPE, "probe.py": _PROBE},
    "a hook in passes with gradients": {
        "tape.py": _TAPE,
        "probe.py": _PROBE.replace("    @torch.no_grad()\n", "").replace(
            "run(batches))\n", "run(batches))  # TML108\n"
        ),
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
