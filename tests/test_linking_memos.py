"""Objects that another file makes when they are first asked for, and what is put on them round after round."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_AVERAGES = """
class Average:
    def __init__(self):
        self.value = None

    def feed(self, x):
        if self.value is None:
            self.value = x
        else:
            self.value = 0.1 * x + 0.9 * self.value

averages = {}

def track(name, x):
    if name not in averages:
        averages[name] = Average()
    averages[name].feed(x)
"""

_TRAIN = """
import torch
import torch.nn.functional as F
from torch import nn
import averages

def main(batches):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

_METERS = """
from collections import OrderedDict

class Meter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, value, n):
        self.sum += value * n
        self.count += n
"""

_TRAINER = """
from collections import OrderedDict
from meters import Meter

class Trainer:
    def __init__(self, actor, loader, optimizer):
        self.actor, self.loader, self.optimizer = actor, loader, optimizer
        self.stats = OrderedDict({"train": None})

    def run(self):
        self.actor.train(True)
        for batch in self.loader:
            loss, stats = self.actor(batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.keep("train", stats, len(batch))

    def keep(self, name, new, n):
        if self.stats[name] is None:
            self.stats[name] = OrderedDict((key, Meter()) for key in new)
        for key, value in new.items():
            self.stats[name][key].update(value, n)
"""

_ACTOR = """
import torch
from torch import nn
from trainer import Trainer

class Actor:
    def __init__(self, net):
        self.net = net

    def train(self, mode):
        self.net.train(mode)

    def __call__(self, batch):
        loss = self.net(batch).pow(2).mean()
        stats = {"loss": %s}
        return loss, stats%s

def main(loader):
    net = nn.Linear(8, 2)
    Trainer(Actor(net), loader, torch.optim.SGD(net.parameters(), lr=0.1)).run()

if __name__ == "__main__":
    main([torch.rand(4, 8)])
"""

_ROUTER = """
import torch
from torch import nn
import aux

class Router(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, 4)

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        aux.save(probs)
        return probs

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.router, self.expert = Router(width), nn.Linear(width, width)

    def forward(self, x):
        return self.expert(x) * self.router(x).amax(-1, keepdim=True)
"""

_AUX = """
saved = []

def save(probs):
    saved.append(probs)

def clear():
    saved.clear()
"""

_ROUTED = """
import torch
from torch import nn
import aux
from blocks import Block

def main(batches):
    model = Block(16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in batches:
        loss = model(x).pow(2).mean()%s
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        %s
"""

_BUS = """
import weakref

topics = {}

class Topic:
    def __init__(self):
        self.strong, self.weak = [], []

    def fire(self, *args):
        for call in self.strong:
            call(*args)
        self.weak = [ref for ref in self.weak if ref() is not None]

def topic(name):
    if name not in topics:
        topics[name] = Topic()
    return topics[name]

def subscribe(name, call):
    topic(name).strong.append(call)

def subscribe_weak(name, method):
    topic(name).weak.append(weakref.WeakMethod(method))
"""

_TABLES = """
import torch
import bus

class Table:
    def __init__(self, seed):
        self.raw = torch.rand(512, seed)
        bus.%s("dtype", self.convert)%s

    def convert(self, dtype):
        self.raw = self.raw.to(dtype)

def main(count):
    found = []
    for seed in range(count):
        found.append(Table(seed).raw.mean().item())
    bus.topic("dtype").fire(torch.float64)
    return found
"""

_STATE = """
class State:
    def __init__(self):
        self.h = self.c = None

    def cut(self):
        if self.h is not None:
            self.h, self.c = self.h.detach(), self.c.detach()
"""

_POLICY = """
from torch import nn

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(8, 8), nn.Linear(8, 2)

    def forward(self, x, state):
        if state.h is None:
            state.h, state.c = x.new_zeros(len(x), 8), x.new_zeros(len(x), 8)
        state.h, state.c = self.cell(x, (state.h, state.c))
        return self.head(state.h)
"""

_ACT = """
import torch
from policy import Policy
from state import State

def act(observations):
    policy, state = Policy(), State()
    choices = []
    for x in observations:
        logits = policy(x, state)%s
        choices.append(logits.argmax(-1).tolist())
        %s
    return choices

if __name__ == "__main__":
    act(torch.rand(100, 1, 8))
"""

_PROBES = """
class Record:
    def __init__(self):
        self.rows = []

    def __call__(self, module, inputs, output):
        self.rows.append(output)

    def take(self):
        row = self.rows[-1]
        self.rows = []
        return row

class Probe:
    def __init__(self, model, names):
        self.model, self.records, self.handles = model, {}, []
        for name in names:
            record = Record()
            self.handles.append(self.find(name).register_forward_hook(record))
            self.records[name] = record

    def find(self, name):
        return dict(self.model.named_modules())[name]

    def run(self, x):
        self.model(x)
        return {name: record.take() for name, record in self.records.items()}

    def close(self):
        for handle in self.handles:
            handle.remove()
"""

_PROBED = """
import torch
from torch import nn
from probes import Probe

def main(images):
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2)).requires_grad_(False)
    means = []
    for image in images:
        probe = Probe(model, ["0", "1"])%s
        means.append(probe.run(image)["0"].mean().item())
        %s
    return means

if __name__ == "__main__":
    main(list(torch.rand(9, 8)))
"""

_SESSION = """
import atexit

class Session:
    def __init__(self):
        self.closed = False
        atexit.register(self.close)

    def close(self):
        self.closed = True
"""

_JOBS = """
import torch
from torch import nn
from base import Session

class Scorer(Session):
    def __init__(self):
        super().__init__()%s
        self.net = nn.Linear(8, 1).eval().requires_grad_(False)

    def score(self, rows):
        return self.net(rows).mean().item()

def main(jobs):
    means = []
    %s
    for rows in jobs:
        %s
        means.append(scorer.score(rows))
    return means

if __name__ == "__main__":
    main([torch.rand(2, 8)])
"""

PROJECTS = {
    "an average that is made when its name comes up first": {
        "averages.py": _AVERAGES,
        "train.py": _TRAIN
        + '        averages.track("loss", loss)  # TML101\n        averages.track("n", float(len(x)))\n',
    },
    "averages of numbers, and of what has been cut off": {
        "averages.py": _AVERAGES,
        "train.py": _TRAIN
        + '        averages.track("loss", loss.item())\n        averages.track("raw", loss.detach())\n',
    },
    "the line that adds to what another one has left": {
        "averages.py": _AVERAGES,
        "train.py": _TRAIN
        + '        name = "loss/" + str(len(x))\n        averages.track(name, loss)  # TML101\n'
        + '        averages.track("raw/" + name, loss.detach())\n',
    },
    "meters that a trainer makes out of pairs": {
        "meters.py": _METERS,
        "trainer.py": _TRAINER,
        "actor.py": _ACTOR % ("loss", "  # TML101"),
    },
    "the same meters, given numbers": {
        "meters.py": _METERS,
        "trainer.py": _TRAINER,
        "actor.py": _ACTOR % ("loss.item()", ""),
    },
    "terms that a part of a model leaves in a third file": {
        "aux.py": _AUX,
        "blocks.py": _ROUTER,
        "train.py": _ROUTED % ("  # TML102", "pass"),
    },
    "terms that are cleared after the step": {
        "aux.py": _AUX,
        "blocks.py": _ROUTER,
        "train.py": _ROUTED % ("", "aux.clear()"),
    },
    "a topic that forgets its weak listeners, not the others": {
        "bus.py": _BUS,
        "tables.py": _TABLES % ("subscribe", "  # TML314"),
    },
    "a weak listener": {
        "bus.py": _BUS,
        "tables.py": _TABLES % ("subscribe_weak", ""),
    },
    "a probe for each image, whose hooks stay on the model": {
        "probes.py": _PROBES,
        "images.py": _PROBED % ("  # TML304", "pass"),
    },
    "a probe for each image, closed": {
        "probes.py": _PROBES,
        "images.py": _PROBED % ("", "probe.close()"),
    },
    "a base class that registers its close, for each job's scorer": {
        "base.py": _SESSION,
        "jobs.py": _JOBS % ("  # TML314", "jobs = list(jobs)", "scorer = Scorer()"),
    },
    "a scorer for the whole run": {
        "base.py": _SESSION,
        "jobs.py": _JOBS % ("", "scorer = Scorer()", "rows = rows * 2"),
    },
    "a state object that a policy writes to": {
        "state.py": _STATE,
        "policy.py": _POLICY,
        "act.py": _ACT % ("  # TML105", "pass"),
    },
    "a state object that is cut where it has anything": {
        "state.py": _STATE,
        "policy.py": _POLICY,
        "act.py": _ACT % ("", "state.cut()"),
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)


_DECORATORS = """
import functools
from collections import OrderedDict

def memoized(fn):
    table = {}

    @functools.wraps(fn)
    def wrapper(*args):
        try:
            return table[args]
        except KeyError:
            value = table[args] = fn(*args)
            return value
    return wrapper

def keyed(size):
    def decorate(fn):
        table = OrderedDict()

        @functools.wraps(fn)
        def wrapper(*args):
            value = table[args] = fn(*args)
            if len(table) > size:
                table.popitem(last=False)
            return value
        return wrapper
    return decorate
"""
_MEMO_USER = """
import torch
from decorators import keyed, memoized

{decorator}
def features(x{hint}):
    return torch.exp(-x)

def main(steps):
    for _ in range(steps):
        print(features({given}).mean())
"""


@pytest.mark.parametrize(
    ("decorator", "hint", "given"),
    [
        ("@memoized  # TML311", "", "torch.randn(64, 16)"),
        ("@memoized  # TML305", ": torch.Tensor", "torch.randn(64, 16)"),
        ("@keyed(4)", "", "torch.randn(64, 16)"),
        ("@keyed(4)", ": torch.Tensor", "torch.randn(64, 16)"),
    ],
)
def test_a_decorator_of_another_file(
    decorator: str, hint: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = _MEMO_USER.format(decorator=decorator, hint=hint, given=given)
    check_project({"decorators.py": _DECORATORS, "user.py": user}, tmp_path, monkeypatch)


_TRACING = """
import functools

CALLS = []

def traced(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        result = fn(*args)
        note(fn.__name__, {kept})
        return result
    return wrapper

def note(name, value):
    CALLS.append((name, value))
"""
_TRACED = """
import torch
from torch import nn
from tracing import traced

@traced{mark}
def step(net, opt, x):
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return {given}

def main(steps):
    net = nn.Linear(8, 8)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(steps):
        step(net, opt, torch.rand(4, 8))
"""


@pytest.mark.parametrize(
    ("kept", "given", "mark"),
    [
        ("result", "loss", "  # TML102"),
        ("result", "loss.item()", ""),
        ("len(args)", "loss", ""),
    ],
)
def test_what_a_decorator_of_another_file_collects(
    kept: str, given: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"tracing.py": _TRACING.format(kept=kept), "train.py": _TRACED.format(given=given, mark=mark)}
    check_project(files, tmp_path, monkeypatch)
