"""What solvers, attacks and meta-learning in public code do that looks like a leak and is none, each beside what it is
taken for: a step that is computed by differentiating, what a function gives back for somebody to differentiate."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

_IMPLICIT = """
class Implicit:
    def step(self, f, x, dt):
        guess = nn.Parameter(x.detach().clone())
        inner = torch.optim.LBFGS([guess], lr=1)

        def closure():
            inner.zero_grad()
            residual = (guess - x - dt * f(guess)).pow(2).sum()
            (guess.grad,) = torch.autograd.grad(residual, {inputs})
            return residual

        inner.step(closure)
        return x + dt * f(guess)

def solve(f, x, times):
    solver, states = Implicit(), [x]
    for t in times:
        x = solver.step(f, x, 0.1)
        states.append(x){mark}
    return torch.stack(states)

def integrate(x, times):
    return solve(nn.Linear(8, 8), x, times)
"""
_END = """
# %%
net = Net()
end = torch.ones({size}).requires_grad_(True)
ours = torch.autograd.grad(net(torch.cat([end.sum() * torch.ones(8)])).mean(), end)[0]
# %%
theirs = torch.autograd.grad((end * 2).mean(), end)[0]
# %%
ours - theirs{mark}
"""
_DISTILLED = """
def train(model, old, loader, optimizer, factor):
    totals = 0.0
    for x, y in loader:
        out = model(x)
        {extra} = 0.0
        if old is not None:
            with torch.no_grad():
                kept = old(x)
            extra = F.mse_loss(out, kept) * factor
        loss = F.cross_entropy(out, y) + extra
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals += extra.item() if old is not None else extra{mark}
    return float(totals)
"""
_SKIPS = """
def train(model, loader, optimizer):
    for batch in loader:
        try:
            {tried}
            model(batch).sum().backward()
            optimizer.step()
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            {again}{mark}
"""
_SETTINGS = """
class Base(nn.Module):
    @classmethod
    def restored(cls, folder, map_location=None):
        settings = torch.load(folder + "/settings.pt", weights_only=False){mark}
        {made}
        weights = torch.load(folder + "/weights.pt", map_location=map_location)
        whole.load_state_dict(weights)
        return whole
"""
_SHADOW = """
class Attack:
    def fit(self, features, labels, rounds):
        self.shadow_model, self.trigger = Net(), Net()
        optimizer = torch.optim.Adam(self.{trained}.parameters())
        for _ in range(rounds):
            poisoned = torch.cat([features, self.trigger(features).detach()])
            loss = F.mse_loss(self.shadow_model(features), self.trigger(features)){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
_GREEDY = """
import torch

def greedy(states, rows, spaces):
    actions, values = [], []
    for i in range(len(states)):
        value, action = torch.max(rows[i], dim=0)
        values.append(value)
        actions.append(spaces[action.item()])
    return torch.cat(actions, dim=0).data, torch.cat(values, dim=0){cut}
"""
_JACOBIANS = """
class Functional:
    def __init__(self, model, kernel, enabled):
        self.model, self.kernel, self.enabled = model, kernel, enabled

    def jacobian(self, x):
        rows = []
        for i in range(2):
            self.model.zero_grad()
            out = self.model(x)
            out[:, i].sum().backward({how})
            rows.append(self.model.layer.weight.grad.flatten())
        return torch.stack(rows)

    def variance(self, loader, optimizer):
        parts = []
        for x, y in loader:
            rows = self.jacobian(x)
            {step}
            parts.append(self.kernel * self.model(x) * rows.sum()){mark}
        return torch.cat(parts, dim=1)

def fit(loader, optimizer, enabled):
    return Functional(Net(), torch.ones(2), enabled).variance(loader, optimizer)
"""
_LOGGED = """
NAMES = ["data", "equation"]
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(100):
    for x in torch.randn(100, 4, 8):
        out = model(x)
        optimizer.zero_grad()
        out.mean().backward()
        optimizer.step()
    logged = []
    for i, name in enumerate(NAMES):
        {again}
        logged.append(out[:, i].mean()){mark}
    print(logged)
"""
_OWN_TRAINING = """
class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x):
        return self.layer(x)

    def stop_early(self, x, y, rounds):
        optimizer, best = torch.optim.Adam(self.parameters()), 100.0
        for _ in range(rounds):
            self.train()
            optimizer.zero_grad()
            {trains}
            self.eval()
            loss = F.cross_entropy(self.forward(x), y){mark}
            if loss.item() < best:
                best = loss.item()
"""
_EMPTIED = """
def observe(model, teacher, x, y, first, optimizer):
    logits = model(x)
    ours, theirs = logits[:first], logits[first:]
    loss = F.cross_entropy(ours, y[:first])
    torch.cuda.empty_cache(){mark}
    loss = loss + penalty(teacher, x{given})
    loss.backward()
    optimizer.step()

def penalty(teacher, x, *parts):
    return teacher(x).mean() + sum(part.mean() for part in parts)

def train(loader, optimizer):
    for x, y in loader:
        observe(Net(), Net(), x, y, 4, optimizer)
"""
_CLASSES = """
@torch.no_grad()
def collected(loader, classes):
    net, found = Net(), []
    for x, labels in loader:
        features = net(x)[:, 0]
        for i in classes:
            found.append({kept}){mark}
    return torch.cat(found)
"""
_UNROLLED = """
class Meta:
    def __init__(self, shapes, changes):
        self.shapes, self.changes = shapes, nn.Parameter(changes)
        self.weights = [nn.Parameter(torch.randn(*shape)) for shape in shapes]

    def passes(self, x):
        for weight in self.weights:
            x = (x + self.changes) @ weight
        return x

    def train(self, x, y):
        for i in range(len(self.shapes)):
            {first}
        for _ in range(100):
            loss = F.mse_loss(self.passes(x), y)
            grads = torch.autograd.grad(loss, self.weights, create_graph=True)
            self.weights = [w - 0.1 * g for w, g in zip(self.weights, grads)]{mark}

    def change(self, x, y):
        return {changed}

def attack(loader):
    meta = Meta([(8, 8), (8, 2)], torch.zeros(8))
    for x, y in loader:
        meta.train(x, y)
        print(meta.change(x, y).sum())
"""
_SEARCH = """
def search(model, images, labels, rounds):
    size = len(images)
    best, number = [1e10] * {length}, -1
    noise = nn.Parameter(torch.zeros_like(images))
    optimizer = torch.optim.Adam([noise])
    for _ in range(rounds):
        distances = noise.pow(2).flatten(1).sum(1)
        loss = distances.sum() + F.cross_entropy(model(images + noise), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for e, distance in enumerate(distances):
            number += 1
            if distance < best[{slot}]:
                best[{slot}] = distance{mark}
    return noise, [float(one) for one in best]
"""
_INNER = """
def adapted(net, x, y, rounds):
    {made}
    for _ in range(rounds):
        loss = F.cross_entropy(net(x), y){mark}
        inner_opt.step(loss)

def test(db, rounds):
    net = Net()
    net.eval()
    for _ in range(rounds):
        x, y = db.next("test")
        adapted(net, x, y, 5)
"""
_FIXED_POINT = """
class Fixed(nn.Module):
    def __init__(self, net, start):
        super().__init__()
        self.net = net
        self.x = nn.Parameter(start.clone())
        {then}

    def forward(self, x):
        return self.net(x)

    def solve(self):
        for _ in range(100):
            self.x.copy_(self(self.x)){mark}
        return self

fixed = Fixed(nn.Linear(4, 4), torch.randn(1, 4))
print(fixed.solve().x.mean())
"""

SNIPPETS = {
    "a step that is solved for what it makes": _IMPLICIT.format(inputs="guess", mark=""),
    "a step that changes what was there": _IMPLICIT.format(inputs="f.weight", mark="  # TML102"),
    "the gradient of one number in a cell": _END.format(size="1", mark=""),
    "the gradient of many numbers in a cell": _END.format(size="100_000", mark="  # TML801"),
    "a number where there is no tensor": _DISTILLED.format(extra="extra", mark=""),
    "a loss where nobody asks for its number": _DISTILLED.format(extra="other", mark="  # TML101"),
    "the gradients that a clause goes through": _SKIPS.format(
        tried="for p in model.parameters(): p.grad = None", again="for p in model.parameters(): p.grad = None", mark=""
    ),
    "the pass that a clause runs": _SKIPS.format(tried="", again="model(batch[:1])", mark="  # TML307"),
    "what a model is made with": _SETTINGS.format(made="whole = cls(**settings)", mark=""),
    "what a model is filled with": _SETTINGS.format(
        made="whole = cls(); whole.load_state_dict(settings)", mark="  # TML312"
    ),
    "a shadow that is trained": _SHADOW.format(trained="shadow_model", mark=""),
    "a shadow that is not": _SHADOW.format(trained="trigger", mark="  # TML204"),
    "rows whose graph is in what is computed for whoever calls": _JACOBIANS.format(
        how="create_graph=self.enabled", step="pass", mark=""
    ),
    "rows of a training": _JACOBIANS.format(
        how="create_graph=self.enabled", step="optimizer.step()", mark="  # TML102"
    ),
    "rows beside a graph that nobody wants": _JACOBIANS.format(how="", step="pass", mark="  # TML102"),
    "parts of the last output of a script": _LOGGED.format(again="pass", mark=""),
    "parts of many outputs": _LOGGED.format(again="out = model(x + i)", mark="  # TML102"),
    "a method that measures itself": _OWN_TRAINING.format(trains="pass", mark=""),
    "a method that trains and then measures itself": _OWN_TRAINING.format(
        trains="F.cross_entropy(self.forward(x), y).backward()", mark="  # TML201"
    ),
    "the whole of parts that are used again": _EMPTIED.format(given=", theirs", mark=""),
    "the whole of parts that nobody uses": _EMPTIED.format(given="", mark="  # TML604"),
    "what a comparison picks of a part": _CLASSES.format(kept="features[labels == i]", mark=""),
    "a part as it is": _CLASSES.format(kept="features", mark="  # TML309"),
    "a training that starts from leaves and is gone back through": _UNROLLED.format(
        first="self.weights[i] = self.weights[i].detach(); self.weights[i].requires_grad = True",
        changed="torch.autograd.grad(F.mse_loss(self.passes(x), y), self.changes, retain_graph=True)[0]",
        mark="",
    ),
    "a training that nobody goes back through": _UNROLLED.format(
        first="self.weights[i] = self.weights[i].detach(); self.weights[i].requires_grad = True",
        changed="self.passes(x).detach()",
        mark="  # TML110",
    ),
    "the best of each image": _SEARCH.format(length="size", slot="e", mark=""),
    "the best of each image in each round": _SEARCH.format(length="(size * rounds)", slot="number", mark="  # TML102"),
    "an inner loop that adapts": _INNER.format(made="inner_opt = meta.Adapting(net)", mark=""),
    "a parameter that is written": _FIXED_POINT.format(then="pass", mark=""),
    "a frozen parameter that is written": _FIXED_POINT.format(then="self.x.requires_grad = False", mark="  # TML101"),
}
_LOADER = """
import os
from torch.utils.data import DataLoader

def seeded(args, dataset, **options):
    cpus = len(os.sched_getaffinity(0))
    workers = min(8, cpus) if args.workers is None else args.workers
    options["num_workers"] = workers if "num_workers" not in options else options["num_workers"]
    return DataLoader(dataset, **options)
"""
_ROUNDS = """
import torch
from seeded import seeded

class Rounds:
    def __init__(self, args, data):
        self.loaders = [seeded(args, part, batch_size=1{workers}) for part in data]

    def fit(self, net, optimizer, rounds):
        seen = []
        for _ in range(rounds):
            x, y = next(iter(self.loaders[0]))
            optimizer.zero_grad()
            (net(x) - y).pow(2).mean().backward()
            optimizer.step()
            seen.append(x){mark}
        return torch.cat(seen)
"""
_OBJECTIVE = """
import torch

class Objective:
    def __init__(self, size):
        self.weights = torch.zeros(size)
        self.errors = self.plain_errors{mark}

    def plain_errors(self, x):
        return (self.weights - x).pow(2)

    def copy(self):
        other = Objective(len(self.weights))
        other.weights = self.weights.clone()
        return other
"""
_OPTIMIZES = """
import torch
from objective import Objective

objective = Objective(100_000)
print(objective.copy().errors(torch.zeros(100_000)).sum())
"""
_QNET = """
import torch
from torch import nn

class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 32), nn.Linear(32, 2)

    def forward(self, states, greedy=False, is_inference=False):
        with torch.set_grad_enabled(mode=not is_inference):
            return self.last(self.first(states).relu())

class Steps(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.nets = nn.ModuleList([QNet() for _ in range(count)])

    def forward(self, step, states, greedy=False, is_inference=False):
        return self.nets[step % 3](states, greedy, is_inference)
"""
_AGENT = """
import torch
from qnet import Steps

class Agent:
    def __init__(self, env):
        self.env, self.net = env, Steps(3)

    def act(self, step):
        return self.net(step, self.env.states(), greedy=True, is_inference={flag}).argmax(1){mark}

    def evaluate(self):
        self.net.eval()
        for step in range(100):
            self.env.move(self.act(step).cpu())
"""
_SOLVER = """
import torch

def solve(f, x, times):
    states = [x]
    while len(states) < len(times):
        x = x + 0.1 * f(times[0], x){mark}
        states.append(x)
    return torch.stack(states)
"""
_FIELD = """
import torch
from torch import nn
{imports}

class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, t, x):
        return self.layer(x)

field = Field()
states = solve(field, torch.randn(4, 8), torch.linspace(0, 1, 100))
print(states.detach().mean())
"""
PROJECTS = {
    "a field that the solver of another file calls": {
        "field.py": _FIELD.format(imports="from solver import solve"),
        "solver.py": _SOLVER.format(mark=""),
    },
    "an object of another file that refers to itself": {
        "objective.py": _OBJECTIVE.format(mark="  # TML315"),
        "optimizes.py": _OPTIMIZES,
    },
    "a loader that is told to have no workers": {
        "rounds.py": _ROUNDS.format(workers=", num_workers=0", mark=""),
        "seeded.py": _LOADER,
    },
    "a loader that is told to have some": {
        "rounds.py": _ROUNDS.format(workers=", num_workers=4", mark="  # TML409"),
        "seeded.py": _LOADER,
    },
    "a net that is told to infer": {"agent.py": _AGENT.format(flag="True", mark=""), "qnet.py": _QNET},
    "a net that is told to learn": {"agent.py": _AGENT.format(flag="False", mark="  # TML201"), "qnet.py": _QNET},
    "a field whose file has the solver": {"field.py": _SOLVER.format(mark="  # TML101") + _FIELD.format(imports="")},
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
