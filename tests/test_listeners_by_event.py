"""Listeners in a table of the module, by event: which list of several one is taken out of."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

EVENTS = """
HANDLERS = {{}}

def on(event, handler):
    HANDLERS.setdefault(event, []).append(handler)

def off(event, handler):
    HANDLERS[event].remove(handler)

def fire(event, *given):
    for handler in list(HANDLERS.get(event, ())):
        handler(*given)

class Best:
    def __init__(self, model):
        self.model, self.loss, self.weights = model, float("inf"), None
        on("epoch", self.check){mark}

    def check(self, loss):
        if loss < self.loss:
            self.loss = loss
            self.weights = {{k: v.clone() for k, v in self.model.state_dict().items()}}

def fold(number):
    model = nn.Linear(64, 64)
    best = Best(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        fire("epoch", loss.item())
    {end}
    return best.loss

def main(steps):
    print([fold(number) for number in range(steps)])
"""


@pytest.mark.parametrize("end", ["pass", 'off("epoch", print)'])
def test_nobody_takes_it_out(end: str) -> None:
    check(EVENTS.format(mark="  # TML314", end=end))


def test_it_is_taken_out() -> None:
    check_innocent(EVENTS.format(mark="", end='off("epoch", best.check)'))
