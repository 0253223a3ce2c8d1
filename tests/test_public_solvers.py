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

SNIPPETS = {
    "a step that is solved for what it makes": _IMPLICIT.format(inputs="guess", mark=""),
    "a step that changes what was there": _IMPLICIT.format(inputs="f.weight", mark="  # TML102"),
    "the gradient of one number in a cell": _END.format(size="1", mark=""),
    "the gradient of many numbers in a cell": _END.format(size="100_000", mark="  # TML801"),
}
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
    "a field whose file has the solver": {"field.py": _SOLVER.format(mark="  # TML101") + _FIELD.format(imports="")},
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
