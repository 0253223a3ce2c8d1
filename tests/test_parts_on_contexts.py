"""What a function keeps on its context of what it gives back."""

from __future__ import annotations

import pytest
from snippets import check

SOLVED = """
class Solved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, field, start, times):
        with torch.no_grad():
            found = solve(field, start, times)
            {unpack}
        {keep}
        ctx.save_for_backward(times)
        return {given}

    @staticmethod
    def backward(ctx, *outer):
        (times,) = ctx.saved_tensors
        return None, outer[0] * times, None
"""


@pytest.mark.parametrize(
    ("unpack", "keep", "given"),
    [
        ("ends, states = found", "ctx.ends = ends  # TML106", "found"),
        ("event, states = found", "ctx.event = event  # TML106", "found"),
        ("states = found", "ctx.event = states  # TML106", "states"),
        ("ends, states = found", "ctx.steps = ends", "states"),
        ("event = field.event", "ctx.event = event", "found"),
    ],
)
def test_a_part_of_what_is_given_back(unpack: str, keep: str, given: str) -> None:
    check("from solvers import solve\n" + SOLVED.format(unpack=unpack, keep=keep, given=given))


APPLIED = """
from kernels import fused

class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {params}):
        out = torch.empty_like(x)
        {made}
        {keep}
        return {given}

    @staticmethod
    def backward(ctx, *outer):
        return fused(*outer)
"""


@pytest.mark.parametrize(
    ("params", "made", "keep", "given"),
    [
        ("x", "probs = None; fused(x, out, probs=probs)", "ctx.probs = probs", "out, probs"),
        ("x, wanted", "probs = fused(x, out) if wanted else None", "ctx.probs = probs  # TML106", "out, probs"),
        ("x", "seed = 17; fused(x, out, seed)", "ctx.seed = seed", "out, seed"),
        ("x, W: torch.Tensor, W_quant, s: float", "fused(x, W, out, s)", "ctx.kept = (W, W_quant, s)", "out"),
        ("x, weight: torch.Tensor", "fused(x, weight, out)", "ctx.kept = weight", "out"),
        ("x: torch.Tensor, W: torch.Tensor", "fused(x, W, out)", "ctx.kept = (x, W)  # TML106", "out"),
        ("x, W: torch.Tensor, mask: torch.Tensor", "fused(x, W)", "ctx.kept = (W, mask)  # TML106", "out"),
        ("x, weight: torch.Tensor", "weight = F.normalize(weight)", "ctx.kept = weight  # TML106", "out"),
    ],
)
def test_what_lives_anyway(params: str, made: str, keep: str, given: str) -> None:
    """A name that is bound to nothing gives no tensor back, and the weights of a module stay with that."""
    check(APPLIED.format(params=params, made=made, keep=keep, given=given))
