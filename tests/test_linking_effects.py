"""What the code of another file does with what it is given: its base classes, modules, functions and globals."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

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
    "numbers that a long loss function of another file hands out beside the loss": {
        "losses.py": """
import torch
import torch.nn.functional as F

def reconstruction(prediction, target, mask, *, weight=0.5):
    error = torch.sqrt((prediction - target).square() + 1e-6)
    rgb = (error * mask).mean()
    low = F.avg_pool2d(prediction, 9, stride=1, padding=4)
    wanted = F.avg_pool2d(target, 9, stride=1, padding=4)
    low_loss = ((low - wanted).abs() * mask).mean()
    edge = prediction[..., 1:] - prediction[..., :-1]
    wanted_edge = target[..., 1:] - target[..., :-1]
    edge_loss = (edge - wanted_edge).abs().mean()
    total = rgb + weight * low_loss + weight * edge_loss
    return total, {"rgb": float(rgb.detach()), "low": low_loss.item()}
""",
        "train.py": """
from losses import reconstruction

def epoch(model, loader, optimizer):
    whole, totals = 0.0, {"rgb": 0.0, "low": 0.0}
    for x, y, mask in loader:
        loss, details = reconstruction(model(x), y, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        whole += loss  # TML101
        for key in details:
            totals[key] += details[key]
    return whole, totals
""",
    },
    "a module of another file that freezes itself": {
        "features.py": FEATURES,
        "frozen.py": JUDGED.format(features="FrozenFeatures", mark=""),
        "trained.py": JUDGED.format(features="Features", mark="  # TML101"),
    },
    "futures that a method of another file would take out, or does when all have been used": {
        "pools.py": POOL,
        "left.py": PRINT.format(cls="Remembering", mark="  # TML503", end="print(count)"),
        "taken.py": PRINT.format(cls="Remembering", mark="  # TML503", end="pool.wait()"),
        "each.py": PRINT.format(cls="Remembering", mark="; pool.wait()", end="print(count)"),
        "plain.py": PRINT.format(cls="Plain", mark="", end="print(count)"),
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
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)


SOURCE = """
class Source:
    def __init__(self, net):
        self.net, self.kept = net, {}

    def prepare(self, x):
"""
METER = """
class Meter:
    def __init__(self):
        self.total = 0

    def update(self, value):
        self.total = self.total + value
"""
TRAIN = """
from torch import nn
from meters import Meter
from sources import Source

def train(model, loader, optimizer):
    source, meter = Source(model), Meter()
    for x, y in loader:
        loss = nn.functional.mse_loss(model(source.prepare(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)  # TML101
"""


def test_a_short_helper_after_long_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of other files is not gone through for ever; a meter is still entered."""
    lines = "".join(f"        x = self.net(x) + {n}\n        self.kept[{n}] = x.detach()\n" for n in range(400))
    files = {"sources.py": f"{SOURCE}{lines}        return x\n", "meters.py": METER, "train.py": TRAIN}
    check_project(files, tmp_path, monkeypatch)


BALANCER = """
import torch

class Balancer:
    def backward(self, losses, output):
        grads = {}
        for name, loss in losses.items():
            grads[name], = torch.autograd.grad(loss, [output], retain_graph=True)
        scale = sum(grad.norm() for grad in grads.values())
        total = torch.zeros_like(output)
        effective = 0.0
        for name, grad in grads.items():
            if scale > 0:
                grad = grad / scale
            total.add_(grad)
            effective += losses[name].item()
        output.backward(total)
        return effective
"""
BALANCED = """
from torch import nn
from balancers import Balancer
from sources import Source

def train(model, loader, optimizer):
    source, balancer = Source(model), Balancer()
    for x, y in loader:
        output, penalty = model(source.prepare(x))
        other = penalty * 0.1
        other.backward(retain_graph=True)
        balancer.backward({"mse": nn.functional.mse_loss(output, y)}, output)
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("times", [1, 400])
def test_a_backward_pass_in_a_helper(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another file differentiates has its graph for that, also where there is no time to go through it."""
    lines = "".join(f"        x = self.net(x) + {n}\n        self.kept[{n}] = x.detach()\n" for n in range(times))
    files = {"sources.py": f"{SOURCE}{lines}        return x\n", "balancers.py": BALANCER, "train.py": BALANCED}
    check_project(files, tmp_path, monkeypatch)


PROBLEM = """
import torch
from torch import nn

class Problem(nn.Module):
    dim = 2

    def __init__(self, noise=0.0):
        super().__init__()
        self.noise = noise
        self.register_buffer("bounds", torch.zeros(2, self.dim))

    def forward(self, x):
        shape = x.shape[:-1]
        low, high = self.bounds
        if self.noise:
            x = x + self.noise
        if (x < low).any():
            raise ValueError(shape)
        if (x > high).any():
            raise ValueError(shape)
        y = x.pow(2)
        y = y.sum(-1)
        return self.scale(y)
"""
SEARCH = """
import torch
from drawing import draw
from problems import Problem
from sources import Source

class Shifted(Problem):
    def __init__(self, inner):
        self.shift = torch.tensor(0.5)
        super().__init__()
        self.inner = inner

source, objective = Source(torch.nn.Linear(2, 2)), Shifted(Problem())
start = source.prepare(draw()).detach()
best = torch.zeros(0)
for _ in range(20):
    best = torch.cat([best, objective(draw())])
"""


@pytest.mark.parametrize("times", [1, 400])
def test_a_module_without_weights(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is a module gives no graph, also where there is no time to go through it."""
    lines = "".join(f"        x = self.net(x) + {n}\n        self.kept[{n}] = x.detach()\n" for n in range(times))
    files = {"sources.py": f"{SOURCE}{lines}        return x\n", "problems.py": PROBLEM, "search.py": SEARCH}
    check_project(files, tmp_path, monkeypatch)


def test_a_model_whose_constructor_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its long constructor, in another file, does nothing that a rule could speak about: that it has something to
    train is read in its text, also when its parts have been looked for."""
    settings = "\n".join(f"        self.size{number} = config.size{number}" for number in range(30))
    files = {
        "net.py": f"""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
{settings}
        self.acts = []
        for _ in range(3):
            self.acts.append(nn.ReLU())
        self.acts = nn.ModuleList(self.acts)
        self.cell = nn.GRU(8, 8)
        self.seen = None

    def note(self, x):
        self.seen = [x.detach()]

    def forward(self, x):
        for act in self.acts:
            x = act(x)
        hidden, _ = self.cell(x)
        scores = torch.zeros(len(x), 8)
        scores[x[:, 0]] = hidden
        return scores
""",
        "run.py": """
import torch
from net import Net

class Run:
    def __init__(self, config, data):
        self.model, self.data = Net(config), data

    def evaluate(self):
        self.model.eval()
        for number in range(9):
            scores = self.model(self.data.batch(number)).data.cpu().numpy()  # TML201
            print(scores.mean())
""",
    }
    check_project(files, tmp_path, monkeypatch)
