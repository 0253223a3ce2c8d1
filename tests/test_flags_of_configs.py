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
}
INNOCENT = {
    "on": ("Config(clip=True)", "net.config.clip"),
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
