"""Lists of records on an object whose class is written by a decorator, of which only the light parts are read."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CODE = """
from dataclasses import dataclass, field

import attrs
import registry

@dataclass
class Epoch:
    losses: list
    outputs: list

{decorator}
class Results:
    epochs: list = {field}

    def best(self):
        return {best}

def evaluate(model, batches):
    outputs = []
    with torch.no_grad():
        for x in batches:
            outputs.append(model(x))
    return Epoch([float(out.mean()) for out in outputs], outputs)

def run(rounds):
    results, model = Results(), nn.Linear(64, 64)
    for _ in range(rounds):
        results.epochs.append(evaluate(model, torch.randn(4, 8, 64))){mark}
    return results

def main():
    print(run(100).best())
"""
LIGHT = "min(sum(one.losses) for one in self.epochs)"
DATACLASS = "field(default_factory=list)"
GUILTY = {
    "a dataclass": ("@dataclass", DATACLASS),
    "a dataclass with options": ("@dataclass(eq=False)", DATACLASS),
    "of attrs": ("@attrs.define", "attrs.field(factory=list)"),
}
INNOCENT = {
    "the outputs are read": ("@dataclass", DATACLASS, "max(one.outputs[0].norm() for one in self.epochs)"),
    "a whole record": ("@dataclass", DATACLASS, "min(self.epochs, key=lambda one: one.losses[0])"),
    "a decorator that may keep it": ("@registry.results", DATACLASS, LIGHT),
}


@pytest.mark.parametrize("name", GUILTY)
def test_heavy_parts_that_nobody_reads(name: str) -> None:
    decorator, default = GUILTY[name]
    check(CODE.format(decorator=decorator, field=default, best=LIGHT, mark="  # TML303"))


@pytest.mark.parametrize("name", INNOCENT)
def test_parts_that_somebody_may_read(name: str) -> None:
    decorator, default, best = INNOCENT[name]
    check_innocent(CODE.format(decorator=decorator, field=default, best=best, mark=""))
