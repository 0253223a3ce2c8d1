"""Hooks on an optimizer, which each round of a loop adds one to."""

from __future__ import annotations

import pytest
from snippets import check

RUNS = """
def train(net, optimizer, rounds):
    {once}
    for _ in range(rounds):
        seen = []
        {each}
        loss = net(torch.randn(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {end}

def main(steps):
    net = Net()
    train(net, torch.optim.SGD(net.parameters(), lr=0.1), steps)
"""
LAMBDA = "optimizer.register_step_post_hook(lambda *_: seen.append(net.layer.weight.detach().clone()))"
WATCH = """
class Watch:
    def __init__(self, optimizer, net):
        self.net = net
        self.norms = []
        {handle}optimizer.register_step_pre_hook(self.before){mark}

    def before(self, optimizer, args, kwargs):
        self.norms.append([p.grad.clone() for p in self.net.parameters()])
"""


def test_one_more_in_each_round() -> None:
    check(RUNS.format(once="pass", each=f"{LAMBDA}  # TML304", end="pass"))
    watching = RUNS.format(once="pass", each="Watch(optimizer, net)", end="pass")
    check(WATCH.format(handle="", mark="  # TML304") + watching)


@pytest.mark.parametrize(
    ("once", "each", "end"),
    [
        ("pass", f"handle = {LAMBDA}", "handle.remove()"),
        ("pass", "watch = Watch(optimizer, net)", "watch.handle.remove()"),
        ("optimizer.register_step_post_hook(lambda *_: print('step'))", "pass", "pass"),
    ],
)
def test_one_that_goes_or_keeps_nothing(once: str, each: str, end: str) -> None:
    text = RUNS.format(once=once, each=each, end=end)
    check(WATCH.format(handle="self.handle = ", mark="") + text if "Watch" in each else text)
