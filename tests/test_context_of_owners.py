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


_ORDERED = """
    class Reorder(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x: torch.Tensor, order: torch.Tensor, back: torch.Tensor):
            ctx.back = back{mark}
            return x[:, order] * 2

        @staticmethod
        def backward(ctx, grad):
            return grad[:, ctx.back] * 2, None, None

    reorder = Reorder.apply

    class Stage(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.order = torch.randperm(width)
            self.back = self.order.argsort()
            self.net = nn.Linear(width, width)

        def forward(self, x):
            {before}
            return reorder(self.net(x), self.order, {given})
    """


@pytest.mark.parametrize(
    ("before", "given", "mark"),
    [
        ("pass", "self.back", ""),
        ("pass", "self.order.argsort()", "  # TML106"),
        ("self.back = x.argmax(0)", "self.back", "  # TML106"),
        ("back = self.net(x)", "back", "  # TML106"),
    ],
)
def test_what_the_caller_has_from_the_start(before: str, given: str, mark: str) -> None:
    check(_ORDERED.format(before=before, given=given, mark=mark))
