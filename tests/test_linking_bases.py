"""Base classes, parts and limits of another file, of which a class or a call of this one changes what they keep."""

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
            del frame

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

PROJECTS = {
    "a thread of another file that nobody stops": {"heartbeat.py": _HEARTBEAT, "trials.py": _TRIALS},
    "a thread that is stopped": {
        "heartbeat.py": _HEARTBEAT,
        "trials.py": _TRIALS.replace("  # TML505", "").replace(
            "    return probe", "    probe.stop()\n    return probe"
        ),
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
        "server.py": _SERVER.replace("self.sessions.pop(request)", "pass").replace(
            "self.model(tokens)", "self.model(tokens)  # TML311"
        ),
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
