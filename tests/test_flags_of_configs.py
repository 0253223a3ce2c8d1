"""A flag of a configuration that was made in sight has what is written for it: the way that it closes is not taken."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PROGRAM = """
from dataclasses import dataclass, field

@dataclass
class Clip:
    on: bool = False

@dataclass
class Config:
    width: int = 4
    clip: bool = False
    mode: str = "plain"
    every: int = 0
    limit: float = 0.0
    inner: Clip = field(default_factory=Clip)

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.lin, self.top = config, nn.Linear(4, 4), None

    def forward(self, x):
        scores = self.lin(x)
        top = scores.amax(0)
        if self.top is None:
            self.top = top
        else:
            self.top = torch.max(self.top, top){note}
        return scores

    def clip(self):
        with torch.no_grad():
            self.lin.weight.mul_((2.0 / self.top).clamp(max=1.0).mean())
        self.top = None

def main(steps, argv):
    config = {config}
    net = Attention(config)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        loss = net(torch.randn(3, 4)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if {test}:
            net.clip()
        print(net.top.max().item())
"""
GUILTY = {
    "off by default": ("Config()", "net.config.clip"),
    "off by what the call says": ("Config(4, clip=False)", "config.clip"),
    "of a part": ("Config()", "net.config.inner.on"),
    "of another kind": ("Config()", 'config.mode == "clipped"'),
    "a number": ("Config()", "config.every"),
    "compared": ("Config()", "net.config.every > 0"),
    "with a point": ("Config()", "config.limit > 0"),
    "compared from the other side": ("Config(every=0)", "0 < config.every"),
    "never as much": ("Config(every=3)", "config.every == 4"),
}
INNOCENT = {
    "on": ("Config(clip=True)", "net.config.clip"),
    "a number that is on": ("Config(every=2)", "config.every > 0"),
    "a number with a point that is on": ("Config(limit=0.5)", "config.limit > 0"),
    "a number that counts": ("Config(); config.every += len(argv)", "config.every > 0"),
    "a number of what is computed": ("Config(every=len(argv))", "config.every > 0"),
    "between numbers": ("Config(every=2)", "0 < config.every < 4"),
    "of what is computed": ("Config(clip=len(argv) > 1)", "net.config.clip"),
    "set later": ("Config(); config.clip = len(argv) > 1", "net.config.clip"),
    "set by name": ("Config(); [setattr(config, name, True) for name in argv]", "net.config.clip"),
    "set among others": ("Config(); vars(config).update(argv)", "net.config.clip"),
    "of what is read": ("Config(**dict(argv))", "config.clip"),
}


@pytest.mark.parametrize("config, test", GUILTY.values(), ids=GUILTY)
def test_what_is_never_emptied(config: str, test: str) -> None:
    check(PROGRAM.format(note="  # TML101", config=config, test=test))


@pytest.mark.parametrize("config, test", INNOCENT.values(), ids=INNOCENT)
def test_what_may_be_emptied(config: str, test: str) -> None:
    check_innocent(PROGRAM.format(note="", config=config, test=test))


BALANCED = """
from dataclasses import dataclass

@dataclass
class Options:
    width: int = 8
    penalty: float = 0.01

SCORES = []

def keep(scores):
    SCORES.append(scores){note}

class Gate(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.options, self.lin = options, nn.Linear(8, options.width)

    def forward(self, x):
        scores = self.lin(x).softmax(-1)
        if {test}:
            keep(scores)
        return scores

def make(options):
    return nn.Sequential(*[Gate(options) for _ in range(2)])

def pretrain(net, options, steps):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        loss = net(torch.randn(3, 8)).var() + options.penalty * sum(s.mean() for s in SCORES)
        SCORES.clear()
        opt.zero_grad()
        loss.backward()
        opt.step()

def tune(net, steps):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        loss = net(torch.randn(3, 8)).var()
        opt.zero_grad()
        loss.backward()
        opt.step()

def main(steps):
    options = Options()
    pretrain(make(options), options, steps)
    tune(make(Options(penalty={penalty})), steps)
"""
KEPT = {
    "whatever the number": ("self.training", "0.0"),
    "on": ("self.training and self.options.penalty >= 0", "0.0"),
    "not known": ("self.options.penalty > 0", "0.01"),
}
OFF = {
    "compared": ("self.training and self.options.penalty > 0", "0.0"),
    "asked as a flag": ("self.options.penalty", "0"),
    "unlike nothing": ("self.options.penalty != 0", "0.0"),
}


@pytest.mark.parametrize("test, penalty", KEPT.values(), ids=KEPT)
def test_what_one_of_two_trainings_never_empties(test: str, penalty: str) -> None:
    check(BALANCED.format(note="  # TML102", test=test, penalty=penalty))


@pytest.mark.parametrize("test, penalty", OFF.values(), ids=OFF)
def test_what_the_training_that_empties_nothing_has_switched_off(test: str, penalty: str) -> None:
    check_innocent(BALANCED.format(note="", test=test, penalty=penalty))
