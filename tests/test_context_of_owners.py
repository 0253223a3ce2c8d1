"""What a `Function` keeps on its `ctx`: a tensor of an object that it is given is there anyway."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

MEAN = """
import torch

class Index:
    def __init__(self, src, dst, size):
        self.src, self.dst, self.size = src, dst, size
        self.degrees = torch.bincount(dst, minlength=size).clamp(min=1).float()

class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, index, x):
        degrees = index.degrees.view(-1, 1)
        out = torch.zeros(index.size, x.shape[1]).index_add_(0, index.dst, x[index.src]) / degrees
        {keep}
        return out

    @staticmethod
    def backward(ctx, grad):
        index, degrees = ctx.kept[:2]
        return None, torch.zeros_like(grad).index_add_(0, index.src, (grad / degrees)[index.dst])

def main(steps):
    index, x = Index(*torch.randint(0, 9, (2, 30)), 9), torch.randn(9, 4, requires_grad=True)
    for _ in range(steps):
        Mean.apply(index, x).sum().backward()
"""


def test_tensors_of_an_object() -> None:
    check_innocent(MEAN.format(keep="ctx.kept = (index, degrees); ctx.save_for_backward(x, out)"))


@pytest.mark.parametrize("last", ["out", "x"])
def test_an_input_or_output_beside_them(last: str) -> None:
    check(MEAN.format(keep=f"ctx.kept = (index, degrees, {last})  # TML106"))
