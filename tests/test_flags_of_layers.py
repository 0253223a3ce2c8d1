"""A flag of the configuration that the layers of a model were made with, asked of one of them."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PROGRAM = """
from dataclasses import dataclass

@dataclass
class Config:
    clip: bool = False

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

class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

def main(steps):
    config = Config({on})
    model = Stack({layers})
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        loss = model(torch.randn(3, 4)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if model.layers[{which}].config.clip:
            for layer in model.layers:
                layer.top = None
"""
SAME, EITHER = "Attention(config) for _ in range(2)", "[Attention(config), Attention(Config(clip=True))]"


@pytest.mark.parametrize("which", ["0", "-1", "step % 2"])
def test_a_flag_that_all_layers_share(which: str) -> None:
    check(PROGRAM.format(note="  # TML101", on="", layers=SAME, which=which))


@pytest.mark.parametrize(("on", "layers", "which"), [("clip=True", SAME, "0"), ("", EITHER, "step % 2")])
def test_a_flag_that_is_set_or_may_be(on: str, layers: str, which: str) -> None:
    check_innocent(PROGRAM.format(note="", on=on, layers=layers, which=which))
