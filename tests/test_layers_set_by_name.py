"""`setattr` that puts a layer where another one was, beside `setattr` that lets go of what an object has gained."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

OBSERVED = """
import torch
from torch import nn

class Watch(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = []

    def forward(self, x):
        self.rows.append(x.cpu()){mark}
        return x

class Watched(nn.Module):
    def __init__(self, layer, watch):
        super().__init__()
        self.layer, self.watch = layer, watch

    def forward(self, x):
        return self.layer(self.watch(x))

    @classmethod
    def around(cls, layer):
        made = cls(layer, Watch())
        return made

def prepare(model):
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            {put}
        else:
            prepare(child)

def main(batches, args):
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.ReLU())).eval()
    prepare(model)
    {then}
    with torch.no_grad():
        for x in batches:
            model(x)
            {each}
"""

PUTS = [
    "setattr(model, name, Watched.around(child))",
    "setattr(model, name, Watched(child, Watch()))",
    "layer = Watched.around(child); setattr(model, name, layer)",
]


@pytest.mark.parametrize("put", PUTS)
def test_a_layer_that_takes_the_place_of_another(put: str) -> None:
    check(OBSERVED.format(put=put, then="pass", each="pass", mark="  # TML303"))


def test_options_that_are_set_by_name() -> None:
    options = "for key, value in vars(args).items(): setattr(args, key, value)"
    check(OBSERVED.format(put=PUTS[0], then=options, each="pass", mark="  # TML303"))


@pytest.mark.parametrize(
    "each", ["model[0].watch.rows.clear()", "for one in (w for w in watches): setattr(one, key, [])"]
)
def test_lists_that_are_emptied(each: str) -> None:
    then = "watches, key = [m for m in model.modules() if isinstance(m, Watch)], 'rows'.strip()"
    check_innocent(OBSERVED.format(put=PUTS[0], then=then, each=each, mark=""))
