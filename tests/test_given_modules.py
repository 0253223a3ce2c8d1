"""Hooks that an object puts on a module which it was given, and callbacks told apart by the event they are for."""

from __future__ import annotations

import pytest
from snippets import check

PROBE = """
class Probe:
    def __init__(self, model, rate):
        self.model, self.rate, self.seen = model, rate, {}
        for name, module in self.model.named_modules():
            module.register_forward_hook(self.hook_for(name))%s

    def hook_for(self, name):
        def hook(module, inputs, output):
            self.seen[name] = output.detach()

        return hook

    @torch.no_grad()
    def run(self, x):
        return self.model(x)

"""
EVENTS = """
class Engine:
    def __init__(self, step):
        self.step = step
        self.handlers = {event: [] for event in ("start", "batch")}

    def on(self, event, handler):
        self.handlers[event].append(handler)

    def fire(self, event, output):
        for handler in self.handlers[event]:
            handler(output)

    def run(self, batches):
        self.fire("start", None)
        for x, y in batches:
            self.fire("batch", self.step(x, y))

class Error:
    def __init__(self):
        self.total = 0.0

    def reset(self, output):
        self.total = 0.0

    def update(self, output):
        self.total = self.total + output%s

def main():
    model, error = Net(), Error()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    engine = Engine(step)
    engine.on(%s, error.reset)
    engine.on("batch", error.update)
    engine.run([(torch.rand(4, 8), torch.zeros(4).long()) for _ in range(100)])
"""
GUILTY = {
    "on the argument of a call": (PROBE % "  # TML304")
    + """
def sweep(model, x, rates):
    return [Probe(model, rate).run(x).mean().item() for rate in rates]

def campaign(model, x, rates):
    for rate in rates:
        print(Probe(model, rate).run(x).mean().item())

def main():
    campaign(nn.Linear(8, 2), torch.rand(4, 8), range(5))
""",
    "a reset that comes once": EVENTS % ("  # TML101", '"start"'),
}
INNOCENT = {
    "on a module that it makes": (PROBE % "").replace(
        "= model, rate, {}", "= nn.Sequential(Net(), nn.Linear(2, 2)), rate, {}"
    )
    + """
def main():
    for rate in range(5):
        print(Probe(None, rate).run(torch.rand(4, 8)).mean().item())
""",
    "a reset before each update": EVENTS % ("", '"batch"'),
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check(INNOCENT[name])
