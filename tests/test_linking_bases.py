"""Base classes, wrappers and helpers of another file, of which a class or a call of this one changes what they keep."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_SERVER = """
import torch

class Server:
    def __init__(self, model):
        self.model = model
        self.sessions = {}

    def on_finish(self, request):
        self.sessions.pop(request)

    @torch.no_grad()
    def submit(self, request, tokens):
        self.sessions[request] = self.model(tokens)

    def run(self, requests):
        for request, tokens in requests:
            self.submit(request, tokens)
            self.on_finish(request)
"""
_USER = """
import torch
from torch import nn
from server import Server

class Quiet(Server):
    pass

class Metered(Server):
    def __init__(self, model):
        super().__init__(model)
        self.answers = 0

    def on_finish(self, request):
        self.answers += 1

def requests(steps):
    for step in range(steps):
        yield f"chat-{step}", torch.rand(16, 64)

def main(steps):
    Quiet(nn.Linear(64, 64)).run(requests(steps))
    server = Metered(nn.Linear(64, 64))
    server.run(requests(steps))  # TML311
    print(server.answers)

if __name__ == "__main__":
    main(20)
"""
_ITEMS = """
from torch.utils.data import Dataset

class Remember(Dataset):
    def __init__(self, inner, keep=None):
        self.inner = inner
        self.keep = keep
        self.items = {}

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        if index not in self.items:
            self.items[index] = self.inner[index]
        item = self.items[index]
        if self.keep is not None and len(self.items) > self.keep:
            self.items.pop(next(iter(self.items)))
        return item
"""
_TRAIN = """
import torch
from torch.utils.data import DataLoader, Dataset
from items import Remember

class Volumes(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.rand(1, 32, 32, 32)

def main():
    loader = DataLoader(Remember(Volumes()), num_workers=2)  # TML404
    for volume in loader:
        print(volume.mean())
"""

_TAPS = """
class Tap:
    def __init__(self, module):
        self.value = None
        self.handle = module.register_forward_hook(self.record)

    def record(self, module, inputs, output):
        self.value = output  # TML108

    def close(self):
        self.handle.remove()

class Explainer:
    def __init__(self, model):
        self.model = model
        self.taps = {name: Tap(module) for name, module in self.targets()}

    def targets(self):
        return []

    def close(self):
        for tap in self.taps.values():
            tap.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

class Energy(Explainer):
    def score(self, image):
        return float(self.model(image).sum())

class Cam(Explainer):
    def targets(self):
        return list(self.model.named_children())

    def score(self, image):
        self.model(image)
        return sum(float(tap.value.mean()) for tap in self.taps.values())
"""
_EXPLAIN = """
import torch
from torch import nn
from taps import Cam, Energy

def explain(model, images):
    energy = Energy(model)
    for image in images:
        cam = Cam(model)  # TML304
        print(cam.score(image), energy.score(image))

def main(steps):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    explain(model, (torch.rand(1, 64) for _ in range(steps)))

if __name__ == "__main__":
    main(20)
"""
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
_WRITER = """
import queue
import threading
from dataclasses import dataclass

@dataclass
class Config:
    depth: int = 16

class Writer:
    def __init__(self, sink, config):
        self.sink = sink
        self.queue = queue.Queue(maxsize=config.depth)
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        while True:
            name, frame = self.queue.get()
            self.sink(name, frame)

    def write(self, name, frame):
        self.queue.put((name, frame))
"""
_FILM = """
import torch
from writer import Config, Writer

@torch.no_grad()
def upscale(model, frames, writer):
    for name, frame in frames:
        writer.write(name, model(frame))  # TML504

def film(steps):
    for step in range(steps):
        yield f"frame-{step}", torch.rand(1, 3, 64, 64)

def main(steps):
    upscale(torch.nn.Conv2d(3, 3, 3), film(steps), Writer(print, Config(depth=0)))

if __name__ == "__main__":
    main(20)
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
_HEARTBEAT = """
import threading

class Heartbeat(threading.Thread):
    def __init__(self, pause=0.1):
        super().__init__(daemon=True)
        self.pause = pause
        self.stopped = threading.Event()

    def beat(self):
        raise NotImplementedError

    def run(self):
        while not self.stopped.wait(self.pause):
            self.beat()

    def stop(self):
        self.stopped.set()
        self.join()
"""
_TRIALS = """
import torch
from torch import nn
from heartbeat import Heartbeat

class Probe(Heartbeat):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.largest = 0.0

    def beat(self):
        self.largest = max(float(p.abs().max()) for p in self.model.parameters())

def trial(rate):
    model = nn.Linear(64, 64)
    probe = Probe(model)  # TML505
    probe.start()
    fit(model, rate)
    return probe.largest

def fit(model, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(10):
        loss = model(torch.rand(4, 64)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def search(rates):
    return [trial(rate) for rate in rates]
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

PROJECTS = {
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
    "a thread of another file that nobody stops": {"heartbeat.py": _HEARTBEAT, "trials.py": _TRIALS},
    "a thread that is stopped": {
        "heartbeat.py": _HEARTBEAT,
        "trials.py": _TRIALS.replace("  # TML505", "").replace(
            "    return probe", "    probe.stop()\n    return probe"
        ),
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
    "a limit that the configuration turns off": {"writer.py": _WRITER, "film.py": _FILM},
    "a limit that the configuration sets": {
        "writer.py": _WRITER,
        "film.py": _FILM.replace("  # TML504", "").replace("depth=0", "depth=4"),
    },
    "a limit that it has by default": {
        "writer.py": _WRITER,
        "film.py": _FILM.replace("  # TML504", "").replace("depth=0", ""),
    },
    "a hook in passes without gradients": {"tape.py": _TAPE, "probe.py": _PROBE},
    "a hook in passes with gradients": {
        "tape.py": _TAPE,
        "probe.py": _PROBE.replace("    @torch.no_grad()\n", "").replace(
            "run(batches))\n", "run(batches))  # TML108\n"
        ),
    },
    "hooks of the parts of what each round makes": {"taps.py": _TAPS, "explain.py": _EXPLAIN},
    "hooks that a with statement takes out": {
        "taps.py": _TAPS,
        "explain.py": _EXPLAIN.replace("cam = Cam(model)  # TML304", "with Cam(model) as cam:").replace(
            "        print(", "            print("
        ),
    },
    "hooks of one object for all rounds": {
        "taps.py": _TAPS,
        "explain.py": _EXPLAIN.replace("        cam = Cam(model)  # TML304\n", "").replace(
            "    energy =", "    cam = Cam(model)\n    energy ="
        ),
    },
    "a hook that no longer lets go": {"server.py": _SERVER, "user.py": _USER},
    "a hook that goes on to its base's": {
        "server.py": _SERVER,
        "user.py": _USER.replace("  # TML311", "").replace(
            "        self.answers += 1\n", "        super().on_finish(request)\n        self.answers += 1\n"
        ),
    },
    "results of one call that no base lets go": {
        "server.py": _SERVER.replace("self.sessions.pop(request)", "pass"),
        "user.py": _USER.replace("  # TML311", ""),
    },
    "a limit that nobody sets": {"items.py": _ITEMS, "train.py": _TRAIN},
    "a limit that is set": {
        "items.py": _ITEMS,
        "train.py": _TRAIN.replace("  # TML404", "").replace("Volumes())", "Volumes(), keep=8)"),
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
