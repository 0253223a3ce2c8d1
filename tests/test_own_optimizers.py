"""What classes of optimizers keep: their parameter groups and the state of each parameter."""

from __future__ import annotations

import pytest
from snippets import check

GUILTY = {
    "a flat copy of the parameters": """
        class Drift(torch.optim.Optimizer):
            def __init__(self, params, lr=0.1):
                super().__init__(params, {"lr": lr})
                flat = nn.utils.parameters_to_vector(self.param_groups[0]["params"])
                self.state["mean"] = flat.clone()
                self.state["speed"] = torch.zeros_like(flat)

            def step(self, closure=None):
                group = self.param_groups[0]
                self.state["speed"] = 0.9 * self.state["speed"] + 0.1 * self.state["mean"]  # TML205
                self.state["mean"] = self.state["mean"] - group["lr"] * self.state["speed"]  # TML205
    """,
    "an average of each parameter": """
        class Slow(torch.optim.Optimizer):
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["slow"] = torch.zeros_like(p)
                        state["slow"] = 0.9 * state["slow"] + 0.1 * p  # TML205
    """,
    "an average of what a group is asked for": """
        class Slow(torch.optim.Optimizer):
            def step(self, closure=None):
                for group in self.param_groups:
                    rate = group.get("rate", 0.1)
                    for p in group.get("params", []):
                        state = self.state[p]
                        if not state:
                            state["slow"] = torch.zeros_like(p)
                        state["slow"] = 0.9 * state["slow"] + rate * p  # TML205
    """,
    "curvature with its graph": """
        class Curved(torch.optim.Optimizer):
            def step(self, closure):
                loss = closure()
                params = [p for group in self.param_groups for p in group["params"]]
                for p, grad in zip(params, torch.autograd.grad(loss, params, create_graph=True)):
                    state = self.state[p]
                    state.setdefault("m", torch.zeros_like(p))
                    state["m"] = 0.9 * state["m"] + 0.1 * grad  # TML110
                    p.data.sub_(state["m"])
    """,
}
INNOCENT = {
    "moments of gradients, copies of data, counters and hyperparameters": """
        class Plain(torch.optim.Optimizer):
            def __init__(self, params, lr=0.1):
                super().__init__(params, {"lr": lr, "beta": 0.9})
                self.drift = 0.0

            def step(self, closure=None):
                loss = closure() if closure is not None else None
                for group in self.param_groups:
                    self.drift = self.drift + group["lr"]
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["step"], state["slow"] = 0, p.data.clone()
                            state["mean"] = torch.zeros_like(p)
                        state["step"] += 1
                        state["mean"] = group["beta"] * state["mean"] + p.grad
                        state["slow"] = group["beta"] * state["slow"] + p.data
                        p.data.add_(state["mean"], alpha=-group["lr"])
                return loss
    """,
    "hyperparameters that a group need not have": """
        class Warmed(torch.optim.Optimizer):
            def step(self, closure=None):
                for group in self.param_groups:
                    rate = group["lr"] / group.get("warmup", 1)
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["rest"] = torch.zeros_like(p)
                        moved = p.data.add(-rate * p.grad.data)
                        state["rest"].copy_(p.data.sub(moved))
                        p.data.copy_(moved)
    """,
    "a schedule that reads and sets a number by its name": """
        class Schedule:
            def __init__(self, optimizer: torch.optim.Optimizer, field="lr"):
                self.optimizer, self.field = optimizer, field
                self.bases = [group[field] for group in optimizer.param_groups]

            def step(self):
                for number, group in enumerate(self.optimizer.param_groups):
                    group[self.field] = self.bases[number] * 0.9 + 0.1 * group[self.field]
                    self.bases[number] = group[self.field]
    """,
    "under no_grad": """
        class Slow(torch.optim.Optimizer):
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["slow"] = torch.zeros_like(p)
                        state["slow"] = 0.9 * state["slow"] + 0.1 * p
    """,
    "losses that a step gives as numbers": """
        class Sampled(torch.optim.Optimizer):
            def step(self, closure):
                group, total = self.param_groups[0], 0.0
                for _ in range(group["samples"]):
                    total += closure().item()
                return total / group["samples"]

        def main():
            model, curve = Net(), []
            optimizer = Sampled(model.parameters(), {"samples": 3})
            for _ in range(100):
                curve.append(optimizer.step(lambda: model(torch.rand(4, 8)).sum()))
    """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check(INNOCENT[name])
