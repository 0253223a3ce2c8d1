"""Classes that enter themselves into a registry of another file, which is an object, and are built by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

BY_NAME = """
class Registry:
    def __init__(self):
        self.table = {}

    def register(self, cls):
        self.table[cls.__name__] = cls
        return cls

    def build(self, config):
        return self.table[config["type"]]()

METERS = Registry()
"""
FACTORY = """
class Registry:
    def __init__(self, name):
        self.name, self._kinds = name, dict()

    def _enter(self, kind, name=None, force=False):
        name = name or kind.__name__
        if not force and name in self._kinds:
            raise KeyError(name)
        self._kinds[name] = kind

    def register(self, name=None, force=False, kind=None):
        if kind is not None:
            self._enter(kind=kind, name=name, force=force)
            return kind

        def enter(kind):
            self._enter(kind=kind, name=name, force=force)
            return kind

        return enter

    def get(self, name):
        found = self._kinds.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def build(self, config):
        given = config.copy()
        return self.get(given.pop("type"))(**given)

METERS = Registry("meters")
"""
METERS = """
from registry import METERS

@METERS.register{called}
class Mean:
    def __init__(self):
        self.total = 0.0

    def update(self, value):
        self.total += value

@METERS.register{called}
class Last:
    def __init__(self):
        self.value = 0.0

    def update(self, value):
        self.value = float(value)
"""
FIT = """
import meters
import torch
from registry import METERS
from torch import nn

def main(batches):
    model, meter = nn.Linear(8, 1), METERS.build({"type": "KIND"})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in batches:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)MARK
"""


def _project(registry: str, called: str, kind: str, mark: str = "") -> dict[str, str]:
    return {
        "registry.py": registry,
        "meters.py": METERS.replace("{called}", called),
        "fit.py": FIT.replace("KIND", kind).replace("MARK", mark),
    }


PROJECTS = {
    "by its own name": _project(BY_NAME, "", "Mean", "  # TML101"),
    "by a decorator that is made": _project(FACTORY, "()", "Mean", "  # TML101"),
    "another one of the table": _project(BY_NAME, "", "Last"),
    "another one, by a decorator that is made": _project(FACTORY, "()", "Last"),
    "under a name that nothing has": _project(FACTORY, "()", "Median"),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
