"""Functions of other packages that compute with tensors: what they give has a graph if what they get has one."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, check

_IMPORTS = """
import einops
import torch_scatter
import torchvision.transforms.functional as TF
from einops import rearrange, reduce, repeat
from torchvision.ops import box_iou
"""
_KEPT = """
class Features:
    def __init__(self):
        self.kept = []

    def add(self, out):
        self.kept.append({made}){mark}

def main(steps):
    net, features = Net(), Features()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        out = net(torch.rand(4, 8)){cut}
        optimizer.zero_grad()
        F.mse_loss(net(torch.rand(4, 8)), torch.rand(4, 2)).backward()
        optimizer.step()
        features.add(out)
"""
_MADE = [
    'rearrange(out, "b c -> c b")',
    'einops.rearrange([out, out], "n b c -> b c n")',
    'reduce(out, "b c -> b", "mean")',
    'repeat(out, "b c -> b c n", n=2)',
    'einops.einsum(out, out, "b c, d c -> b d")',
    "torch_scatter.scatter_mean(out, torch.zeros(4, dtype=torch.long), dim=0)",
    "box_iou(out.repeat(1, 2), out.repeat(1, 2))",
    "TF.resize(out[None], [2, 2])",
]


@pytest.mark.parametrize("made", _MADE)
def test_they_hand_the_graph_on(made: str) -> None:
    check(_IMPORTS + _KEPT.format(made=made, mark="  # TML102", cut=""), PRELUDE)


@pytest.mark.parametrize("made", _MADE)
def test_they_make_none(made: str) -> None:
    check(_IMPORTS + _KEPT.format(made=made, mark="  # TML303", cut=".detach()"), PRELUDE)
    check(_IMPORTS + _KEPT.format(made=made + ".detach()", mark="  # TML303", cut=""), PRELUDE)
