"""What each of several parts from another file picks of what it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

_METRICS = """
class Accuracy:
    wants = ("logits", "labels")

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

PROJECTS = {
    "metrics that name what they want": {"metrics.py": _METRICS, "fit.py": _FIT},
    "of which the one that keeps it gets it without a graph": {
        "metrics.py": _METRICS,
        "fit.py": _FIT.replace("embedding=hidden)  # TML102", "embedding=hidden.mean().detach())"),
    },
    "of which only those that keep nothing are asked for": {
        "metrics.py": _METRICS,
        "fit.py": _FIT.replace(", spread=Spread()", "").replace("  # TML102", ""),
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
