"""Statistics that a layer keeps of what passes through it: written in place, from what it is given, or by a helper."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GUILTY = {
    "written in place, and by nothing else": """
        class Norm(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.lin = nn.Linear(dim, dim)
                self.register_buffer("mean", torch.zeros(dim))
                self.scale = torch.ones(dim)

            def forward(self, x):
                y = self.lin(x)
                if self.training:
                    self.mean.mul_(0.9).add_(y.mean(0) * 0.1)  # TML101
                    self.scale.mul_(0.9).add_(y.abs().amax(0), alpha=0.1)  # TML101
                return y - y.mean(0)
        """,
    "of the input of a layer that nobody is seen to call": """
        class Norm(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(dim))
                self.register_buffer("mean", torch.zeros(dim))
                self.register_buffer("var", torch.ones(dim))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                if self.training:
                    mean, var = x.mean(0), x.var(0)
                    self.mean.mul_(0.9).add_(mean * 0.1)  # TML101
                    self.var = 0.9 * self.var + 0.1 * var  # TML101
                else:
                    mean, var = self.mean, self.var
                return self.weight * (x - mean) / var.sqrt()
        """,
    "that a function computes for the layer": """
        def normalize(x, moving, momentum=0.9):
            mean = x.mean(dim=0)
            moving = momentum * moving + (1.0 - momentum) * mean
            return x - mean, moving

        class Layer(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.gamma = nn.Parameter(torch.ones(1, size))
                self.moving = torch.zeros(1, size)

            def forward(self, x):
                y, self.moving = normalize(x, self.moving)  # TML101
                return self.gamma * y
        """,
    "of a layer that is looked at alone, and then as a part": """
        class Norm(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.register_buffer("var", torch.ones(dim))
                self.mean = torch.zeros(dim)

            def forward(self, y):
                mean = y.mean(0)
                self.var = 0.9 * self.var + 0.1 * y.var(0)  # TML101
                self.mean = self.mean * 0.9 + 0.1 * mean  # TML101
                return y - mean

        class Encoder(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.lin = nn.Linear(dim, dim)
                self.norm = Norm(dim)

            def forward(self, x):
                return self.norm(self.lin(x))
        """,
}

INNOCENT = {
    "of the data that comes in, which no layer has touched": """
        class Scaler(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.register_buffer("mean", torch.zeros(dim))
                self.register_buffer("var", torch.ones(dim))

            def forward(self, x):
                self.mean = 0.99 * self.mean + 0.01 * x.mean(0)
                self.var.mul_(0.99).add_(0.01 * x.var(0))
                return (x - self.mean) / self.var.sqrt()
        """,
    "a potential that goes through time until it is reset": """
        class Fires(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.beta = nn.Parameter(torch.tensor(0.9))
                self.mem = torch.zeros(dim)

            def reset(self):
                self.mem = torch.zeros_like(self.mem)

            def forward(self, x):
                self.mem = self.beta * self.mem + x
                spike = (self.mem > 1).float()
                self.mem = self.mem - spike
                return spike
        """,
    "updated without gradients, or of what is detached": """
        class Norm(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(dim))
                self.register_buffer("mean", torch.zeros(dim))
                self.register_buffer("var", torch.ones(dim))
                self.register_buffer("seen", torch.zeros(()))

            def forward(self, x):
                if self.training:
                    mean, var = x.mean(0), x.var(0)
                    self.seen += x.shape[0]
                    with torch.no_grad():
                        self.mean.lerp_(mean, 0.01)
                    self.var.mul_(0.99).add_(0.01 * var.detach())
                else:
                    mean, var = self.mean, self.var
                return self.weight * (x - mean) / var.sqrt()
        """,
    "how often each entry was chosen": """
        class Book(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(8, dim))
                self.register_buffer("usage", torch.zeros(8))

            def forward(self, x):
                index = (x @ self.weight.T).argmax(-1)
                self.usage.index_add_(0, index, torch.ones_like(index))
                self.usage += torch.bincount(index, minlength=8)
                return self.weight[index]
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])
