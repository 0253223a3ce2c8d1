"""What trains a round's model, and has it, is still bound when the next round makes its own."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = """
import gc


class Trainer:
    def __init__(self, net, rate):
        self.net = net
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=rate)
        self.losses = []

    def fit(self, steps):
        for _ in range(steps):
            loss = self.net(torch.rand(8, 512)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
        return self.losses[-1]


class Trial:
    def __init__(self, rate):
        self.trainer = Trainer(nn.Linear(512, 512), rate)


@functools.lru_cache(maxsize=1)
def shared():
    return nn.Linear(512, 512)


class Probe:
    def __init__(self, rate):
        self.net, self.rate = shared(), rate

    def fit(self, steps):
        with torch.no_grad():
            return self.rate * self.net(torch.rand(steps, 512)).mean().item()

"""
SEARCH = """
def search(rates, steps):
    best = 1e9
    net = {shared}
    kept = []
    for rate in rates:
        {made}
        best = min(best, {run}.fit(steps))
        {last}
        gc.collect()
        torch.cuda.empty_cache(){mark}
    print(best, net is None, len(kept))
"""
MARK = "  # TML604"
CASES = {
    "of this round": ("None", "it = Trial(rate)", "it.trainer", "pass", MARK),
    "dropped": ("None", "it = Trial(rate)", "it.trainer", "del it", ""),
    "the model is there before": ("nn.Linear(512, 512)", "it = Trainer(net, rate)", "it", "pass", ""),
    "a model that all share": ("None", "it = Probe(rate)", "it", "pass", ""),
    "kept on purpose": ("None", "it = Trial(rate)", "it.trainer", "kept[:] = [it]", ""),
    "nothing is bound": ("None", "pass", "Trial(rate).trainer", "pass", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_trainer_of_a_round(case: str) -> None:
    shared, made, run, last, mark = CASES[case]
    check(HEAD + textwrap.dedent(SEARCH).format(shared=shared, made=made, run=run, last=last, mark=mark))
