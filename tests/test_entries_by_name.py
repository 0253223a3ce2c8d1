"""Tables that a loop over named values fills: what is kept under one name says nothing of the others."""

from __future__ import annotations

import pytest
from snippets import check

ROLLOUT = """
class Rollout:
    def __init__(self, names):
        {made}

    def add(self, values):
        for name, value in values.items():
            self.kept[name].append(value)

    def of(self, name):
        return torch.stack(self.kept[name])

    def clear(self):
        for name in self.kept:
            self.kept[name].clear()

def main(steps):
    net, value = Net(), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*net.parameters(), *value.parameters()])
    rollout = Rollout(["seen", "logp", "worth"])
    for _ in range(steps):
        seen = torch.randn(8)
        for _ in range(256):
            {mode}:
                chances = torch.distributions.Categorical(logits=net(seen)){mark}
                action = chances.sample()
                logp, worth = chances.log_prob(action), value(seen).squeeze(-1)
            rollout.add({{"seen": seen, "logp": logp, "worth": worth}})
            seen = torch.randn(8)
        gain = 1 - rollout.of("worth").detach()
        logits = net(rollout.of("seen"))
        loss = -(logits.mean(1).exp() / rollout.of("logp"){cut} * gain).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rollout.clear()
"""
EACH = "self.kept = {name: [] for name in names}"
WRITTEN = 'self.kept = {"seen": [], "logp": [], "worth": []}'


@pytest.mark.parametrize("made", [EACH, WRITTEN])
def test_entries_of_which_one_is_detached_later(made: str) -> None:
    """`seen` goes into the loss; what the others were computed with is cut off before it."""
    check(ROLLOUT.format(made=made, mode="if steps", mark="  # TML201", cut=".detach()"))


@pytest.mark.parametrize("made", [EACH, WRITTEN])
def test_entries_that_are_asked_for(made: str) -> None:
    check(ROLLOUT.format(made=made, mode="with torch.no_grad()", mark="", cut=""))
    check(ROLLOUT.format(made=made, mode="if steps", mark="", cut="").replace(".detach()\n", "\n"))
