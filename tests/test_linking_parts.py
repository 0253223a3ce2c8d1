"""What each of several parts from another file picks of what it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_METRICS = """
class Accuracy:
    wants = ("log_probs", "labels")

    def __init__(self):
        self.right = 0

    def update(self, logits, labels):
        self.right += logits.argmax(-1).eq(labels).sum().item()

class Spread:
    wants = ("embedding",)

    def __init__(self):
        self.rows = []

    def update(self, embedding):
        self.rows.append(embedding)

class Collection:
    def __init__(self, **metrics):
        self.metrics = metrics

    def update(self, **values):
        for metric in self.metrics.values():
            metric.update(**{key: values[key] for key in metric.wants})
"""
_FIT = """
import torch.nn.functional as F
from metrics import Accuracy, Collection, Spread
from torch import nn

def main(steps, batches, optimizer):
    trunk, head = nn.Linear(64, 32), nn.Linear(32, 4)
    metrics = Collection(acc=Accuracy(), spread=Spread())
    for x, labels in batches:
        hidden = trunk(x)
        logits = head(hidden)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics.update(logits=logits, labels=labels, embedding=hidden)  # TML102
"""
_WEIGHTING = {
    "weighting/base.py": """
class Weighting:
    kinds = {}

    def __init_subclass__(cls, kind=None, **options):
        super().__init_subclass__(**options)
        if kind is not None:
            Weighting.kinds[kind] = cls

    @classmethod
    def make(cls, kind):
        return cls.kinds[kind]()

    def observe(self, loss):
        raise NotImplementedError
""",
    "weighting/running.py": """
from .base import Weighting

class Running(Weighting, kind="running"):
    def __init__(self):
        self.average = 1.0

    def observe(self, loss):
        self.average = 0.9 * self.average + 0.1 * loss
""",
    "weighting/__init__.py": """
from . import running
from .base import Weighting

make = Weighting.make
""",
    "fit.py": """
import weighting
from torch import nn

def main(steps, batches, optimizer):
    model, weights = nn.Linear(8, 1), weighting.make("running")
    for x in batches:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        weights.observe(loss)  # TML101
""",
}
_SCHEDULE = """
def forward_step(forward_step_func, iterator, model, store):
    output, postprocess = forward_step_func(iterator, model)
    output, report = postprocess(output)
    store.append(report)
    return output

def forward_backward(forward_step_func, iterator, model, number):
    store = []
    for _ in range(number):
        output = forward_step(forward_step_func, iterator, model, store)
        output.backward()
    return store
"""
_ENGINE = """
import torch
from schedule import forward_backward
from torch import nn

class Engine:
    def __init__(self, module, optimizer):
        self.module, self.optimizer = module, optimizer
        self.number = 1

    def forward_step(self, iterator, model):
        logits = model(next(iterator))
        output = {"log_probs": logits, "size": 4}

        def postprocess(output):
            loss = output["log_probs"].logsumexp(-1).mean()
            return loss / self.number, {"output": output}  # TML102

        return output, postprocess

    def fit(self, batches):
        self.number = len(batches)
        self.optimizer.zero_grad()
        store = forward_backward(self.forward_step, iter(batches), self.module, self.number)
        self.optimizer.step()
        return len(store)

def main(steps):
    model = nn.Linear(8, 4)
    engine = Engine(model, torch.optim.AdamW(model.parameters(), 1e-3))
    for _ in range(2):
        size = engine.fit([torch.rand(4, 8) for _ in range(steps)])
    print(size)

if __name__ == "__main__":
    main(6)
"""

_CRITIC = """
import torch
from torch import nn

class Memory(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.rnn = nn.LSTM(size, 16)

    def forward(self, x, state):
        out, (h, c) = self.rnn(x, state.split(16, -1))
        return out, torch.cat([h, c], -1)

class Critic(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.memory = Memory(size)
        self.head = nn.Linear(16, 1)

    def values(self, x, state):
        out, state = self.memory(x, state)
        return self.head(out), state
"""
_ESTIMATE = """
import torch
from critic import Critic

class Estimator:
    def __init__(self):
        self.critic = Critic(8)
        self.state = torch.zeros(1, 1, 32)

    def estimate(self, x):
        value, self.state = self.critic.values(x, self.state)  # TML105
        return value.item()

def main():
    estimator = Estimator()
    for x in torch.rand(99, 3, 1, 8):
        estimator.estimate(x)
"""

PROJECTS = {
    "a state that a module's part gives, itself of a class of that file": {"critic.py": _CRITIC, "fit.py": _ESTIMATE},
    "which sees to it that it has no graph": {
        "critic.py": _CRITIC.replace("torch.cat([h, c], -1)", "torch.cat([h, c], -1).detach()"),
        "fit.py": _ESTIMATE.replace("  # TML105", ""),
    },
    "which is asked without gradients": {
        "critic.py": _CRITIC.replace("    def values", "    @torch.no_grad()\n    def values"),
        "fit.py": _ESTIMATE.replace("  # TML105", ""),
    },
    "subclasses that a base of another file enters": _WEIGHTING,
    "which are told a number": {
        **_WEIGHTING,
        "fit.py": _WEIGHTING["fit.py"].replace("loss)  # TML101", "loss.item())"),
    },
    "metrics that name what they want": {"metrics.py": _METRICS, "fit.py": _FIT},
    "of which the one that keeps it gets it without a graph": {
        "metrics.py": _METRICS,
        "fit.py": _FIT.replace("embedding=hidden)  # TML102", "embedding=hidden.mean().detach())"),
    },
    "of which only those that keep nothing are asked for": {
        "metrics.py": _METRICS,
        "fit.py": _FIT.replace(", spread=Spread()", "").replace("  # TML102", ""),
    },
    "the line that gives a schedule what it keeps, and not the one that gives it what it works with": {
        "schedule.py": _SCHEDULE,
        "engine.py": _ENGINE,
    },
    "which gives it numbers": {
        "schedule.py": _SCHEDULE,
        "engine.py": _ENGINE.replace('{"output": output}  # TML102', '{"output": {"size": output["size"]}}'),
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
