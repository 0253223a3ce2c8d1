"""What public code does that looks like a leak and is none, and what it does that no file had done before; each beside
what it is taken for."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

SNIPPETS = {
    "a wrapper that puts each layer of a model anew while it goes through them": """
        class Bias(nn.Module):
            def __init__(self, bias):
                super().__init__()
                self.values = nn.Parameter(bias.unsqueeze(1))

            def forward(self, x):
                return x + self.values.t()

        class Split(nn.Module):
            def __init__(self, layer):
                super().__init__()
                self.layer = layer
                self.bias = Bias(layer.bias.data)
                self.layer.bias = None

            def forward(self, x):
                return self.bias(self.layer(x))

        def split(module):
            for name, child in module.named_children():
                if hasattr(child, "bias") and child.bias is not None:
                    module._modules[name] = Split(child)
                else:
                    split(child)

        class Fitter:
            def __init__(self, model):
                split(model)
                self.model = model
                self.names = [type(module).__name__ for module in model.modules()]
        """,
    "a name that was forgotten": """
        def train(model, loader, optimizer):
            total = 0
            name = getattr(model)
            setattr(model)
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                total += loss  # TML101
            return total, name
        """,
    "a gradient that is scaled where it stands": """
        def invert(features, generator, code, steps, optimizer, drawn, prepare):
            for step in range(steps):
                optimizer.zero_grad()
                if drawn:
                    image = generator.forward(code)
                else:
                    image = torch.zeros(3, requires_grad=True)
                if prepare is not None:
                    image = prepare(image)
                seen = features.run(image)
                loss = 0.0
                for name in seen:
                    loss += (seen[name] - 1).sum()
                loss.backward()
                scale = torch.abs(image.grad).mean().cpu().detach()
                if scale > 0:
                    image.grad /= scale
                optimizer.step()
        """,
    "a gradient that is made with a graph": """
        def penalise(net, x, loss):
            for weight in net.parameters():
                (slope,) = torch.autograd.grad(loss, weight, create_graph=True)
                weight.grad = slope  # TML104
        """,
    "a part of a Function that sets a gradient": """
        class Range(nn.Module):
            def __init__(self):
                super().__init__()
                self.limit = nn.Parameter(torch.ones(1))

            def forward(self, x):
                return x.clamp(max=self.limit)

            def after_backward(self, slope, ctx):
                if ctx is not None:
                    grad = torch.zeros_like(self.limit)
                    grad += (slope * self.limit).sum()
                    if self.limit.grad is None:
                        self.limit.grad = grad
                    else:
                        self.limit.grad += grad
                return slope
        """,
    "times and shares of all ranks": """
        import time
        import torch.distributed as dist

        def report(rank, world, hits, total, device):
            taken = [torch.zeros(1) for _ in range(world)]
            shares = [torch.zeros(1) for _ in range(world)]
            dist.all_gather(taken, torch.tensor(time.time() - total).to(device))
            dist.all_gather(shares, torch.tensor(hits / total).cuda())
            if rank == 0:
                print(torch.cat(taken).mean(), torch.cat(shares).mean())
        """,
    "rows of all ranks": """
        import torch.distributed as dist

        def report(rank, world, rows, device):
            every = [torch.zeros(4096) for _ in range(world)]
            dist.all_gather(every, torch.tensor(rows).to(device))  # TML410
            if rank == 0:
                print(torch.cat(every).mean())
        """,
    "a catalogue of what the import makes": """
        OPERATIONS = []

        class Operation:
            def __init__(self, function, sample):
                self.function, self.sample = function, sample
                OPERATIONS.append(self)

        exp = Operation(torch.exp, torch.ones(3))
        sin = Operation(torch.sin, torch.ones(3))
        """,
    "an optimizer that one may differentiate through": """
        class DifferentiableMomentum:
            def __init__(self, params):
                self.params = list(params)
                self.state = [{} for _ in self.params]

            def step(self, loss):
                slopes = torch.autograd.grad(loss, self.params, create_graph=True)
                for index, (weight, slope) in enumerate(zip(self.params, slopes)):
                    state = self.state[index]
                    if "average" not in state:
                        state["average"] = torch.zeros_like(weight)
                    state["average"] = state["average"] * 0.9 + slope * 0.1
                    self.params[index] = weight - 0.1 * state["average"]
                return self.params
        """,
    "an optimizer that nobody says so of": """
        class Momentum:
            def __init__(self, params):
                self.params = list(params)
                self.state = [{} for _ in self.params]

            def step(self, loss):
                slopes = torch.autograd.grad(loss, self.params, create_graph=True)
                for index, (weight, slope) in enumerate(zip(self.params, slopes)):
                    state = self.state[index]
                    if "average" not in state:
                        state["average"] = torch.zeros_like(weight)
                    state["average"] = state["average"] * 0.9 + slope * 0.1  # TML110
                    self.params[index] = weight - 0.1 * state["average"]  # TML110
                return self.params
        """,
    "a list of whatever is made": """
        OPERATIONS = []

        class Operation:
            def __init__(self, function, sample):
                self.function, self.sample = function, sample
                OPERATIONS.append(self)  # TML314

        def wrap(function, batch):
            return Operation(function, batch)
        """,
}
_ENGINE = """
import helpers

def train(model, criterion, loader, optimizer):
    for samples, targets in loader:
        losses = criterion(model(samples), targets)
        total = sum(losses[key] for key in losses)
        reduced = helpers.reduce(losses)
        print({key: value * 2 for key, value in reduced.items()})
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
"""
_HELPERS = """
import torch
import torch.distributed as dist

def reduce(losses):
    with torch.no_grad():
        names = []
        values = []
        for name in sorted(losses.keys()):
            names.append(name)
            values.append(losses[name])
        values = torch.stack(values, dim=0)
        dist.all_reduce(values)
        return dict(zip(names, values))
"""
_COLLECTOR = """
class Collector:
    def __init__(self, model):
        self.model = model
        self.handles = []

    def __enter__(self):
        for layer in self.model.modules():
            self.handles.append(layer.register_full_backward_hook(self.take))
        return self

    def take(self, module, _, slopes):
        slope = slopes[0].detach()
        self.backward_hook(module, slope)

    def backward_hook(self, module, slope):
        raise NotImplementedError

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
"""
_COVARIANCE = """
from collector import Collector
from torch import Tensor, nn

class Covariance(Collector):
    def __init__(self, model):
        super().__init__(model)
        self.sums = {}

    def backward_hook(self, module: nn.Module, slope: Tensor) -> None:
        name = module.name
        slope = slope.reshape(-1, slope.shape[-1]).float()
        update = slope.mT @ slope
        if name not in self.sums:
            self.sums[name] = update
        else:
            self.sums[name].add_(update)
"""
_SETTINGS = """
import numpy

class Curve:
    def __init__(self, points):
        self.points = numpy.array(points)

class RunConfig:
    def __init__(self):
        self.curve = Curve([0.1, 0.5])

class Table:
    def __init__(self):
        self.curve = Curve([0.1, 0.5])
"""
_SPAWNED = """
import torch.multiprocessing as mp
from settings import RunConfig, Table

CONFIG = RunConfig()
TABLE = Table()  # TML402

def work(rank):
    print(CONFIG.curve, TABLE.curve)

if __name__ == "__main__":
    mp.spawn(work, nprocs=4)
"""
_CHECKS = """
import torch

def validate(model, loader, device):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += ((model(x.to(device)) - y) ** 2).mean().item(){mark}
    return total
"""
_CALLS = """
import torch
from checks import validate

def fit(model, loader, optimizer, device):
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            optimizer.step()
        {call}
"""


def called(call: str, mark: str = "", **others: str) -> dict[str, str]:
    files = {"checks.py": _CHECKS.format(mark=mark), "fit.py": _CALLS.format(call=call)}
    return files | {f"{name}.py": text for name, text in others.items()}


_OFF = "with torch.no_grad(): validate(model, loader, device)"
_OTHER = """
import torch
from checks import validate

{decorator}def report(model, loader):
    return validate(model, loader, "cpu")
"""
_USE = """
import torch
from other import validate

def use(model):
    with torch.no_grad():
        validate(model)
"""
PROJECTS = {
    "an evaluation whose only caller is another file": called(_OFF),
    "one that a decorator covers there": called(_OFF, report=_OTHER.format(decorator="@torch.inference_mode()\n")),
    "one that somebody calls as it is": called(_OFF, "  # TML201", report=_OTHER.format(decorator="")),
    "one that is handed on": called(_OFF + "; optimizer.after(validate)", "  # TML201"),
    "one that only tests call": called("pass", "  # TML201", test_fit=_OTHER.format(decorator="@torch.no_grad()\n")),
    "one of the same name elsewhere": called(
        "pass", "  # TML201", other="def validate(model):\n    return model\n", use=_USE
    ),
    "the parts of one loss, put together by another file": {"helpers.py": _HELPERS, "engine.py": _ENGINE},
    "a hook of another file's class that is given what it has detached": {
        "collector.py": _COLLECTOR,
        "covariance.py": _COVARIANCE,
    },
    "settings that workers make anew": {"settings.py": _SETTINGS, "run.py": _SPAWNED},
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
