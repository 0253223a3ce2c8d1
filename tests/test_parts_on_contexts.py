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
