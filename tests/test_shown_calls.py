"""What is called inside a formatted string happens; and entries of a list that are differentiated one by one."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GUILTY = {
    "a function called in a text that is an argument": """
        def describe(model, x, seen):
            out = model(x)
            seen.append(out)  # TML102
            return out.mean().item()

        def main():
            model, seen = nn.Linear(8, 1), []
            for step in range(10):
                loss = model(torch.rand(2, 8)).mean()
                loss.backward()
                print("step", f"{describe(model, torch.rand(2, 8), seen):.3f}")
        """,
    "the last of a list": """
        def fit(model, loader, optimizer):
            losses = []
            for x, y in loader:
                losses.append((model(x) - y).pow(2).mean())  # TML102
                optimizer.zero_grad()
                losses[-1].backward()
                optimizer.step()
            return sum(float(loss) for loss in losses)

        def main():
            model = nn.Linear(8, 1)
            fit(model, [(torch.rand(2, 8), torch.rand(2, 1))], torch.optim.SGD(model.parameters(), lr=0.1))
        """,
    "what a plain function puts on the module whose pass calls it": """
        def put(module, value):
            module.scale = value  # TML108

        class Attention(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.qkv = nn.Linear(dim, dim)

            def forward(self, x):
                y = self.qkv(x)
                put(self, y.abs().amax())
                return x + y
        """,
    "rows whose callers are all seen": """
        def rows_of(forces, pos):
            rows = []
            for i in range(forces.numel()):
                (row,) = torch.autograd.grad(forces[i], pos, retain_graph=True, create_graph=True)
                rows.append(row)  # TML110
            return torch.stack(rows)

        def main():
            net = nn.Linear(8, 1)
            pos = torch.rand(4, 8, requires_grad=True)
            (force,) = torch.autograd.grad(net(pos).tanh().sum(), pos, create_graph=True)
            print(torch.linalg.matrix_norm(rows_of(force.reshape(-1), pos).reshape(32, 32).detach()))
        """,
}

INNOCENT = {
    "a function called in a text that keeps numbers": """
        def describe(model, x, seen):
            with torch.no_grad():
                out = model(x)
            seen.append(out.mean().item())
            return seen[-1]

        def main():
            model, seen = nn.Linear(8, 1), []
            for step in range(10):
                loss = model(torch.rand(2, 8)).mean()
                loss.backward()
                print("step", f"{describe(model, torch.rand(2, 8), seen):.3f}", f"{len(seen)} {max(seen):.1f}")
        """,
    "the last of a list that the step empties": """
        def fit(model, loader, optimizer):
            for x, y in loader:
                losses = []
                for part in (x, x * 2):
                    losses.append((model(part) - y).pow(2).mean())
                optimizer.zero_grad()
                losses[0].backward()
                losses[-1].backward()
                optimizer.step()

        def main():
            model = nn.Linear(8, 1)
            fit(model, [(torch.rand(2, 8), torch.rand(2, 1))], torch.optim.SGD(model.parameters(), lr=0.1))
        """,
    "rows that their caller differentiates": """
        def rows_of(out, x):
            rows = []
            for i in range(4):
                (row,) = torch.autograd.grad(out[i], x, retain_graph=True, create_graph=True)
                rows.append(row)
            return torch.stack(rows)

        def main():
            net = nn.Linear(8, 4)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(10):
                x = torch.rand(8, requires_grad=True)
                loss = rows_of(net(x).tanh(), x).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])
