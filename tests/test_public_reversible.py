"""Reversible blocks that compute their activations anew and differentiate them on the spot: what the next graph is
given was computed without recording, so that no second pass goes through the first one."""

from __future__ import annotations

import pytest
from snippets import check

_BLOCK = """
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attend, self.mix = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def back(self, one, two, grad_one, grad_two):
        with torch.enable_grad():
            one.requires_grad = True
            mixed = self.mix(one)
            mixed.backward(grad_two, retain_graph=True){mark}
        with {mode}:
            before = two - mixed
        with torch.enable_grad():
            if before.is_leaf:
                before.requires_grad = True
            attended = self.attend(before)
            attended.backward(grad_one + one.grad)
        with torch.no_grad():
            return one - attended, before.detach()
"""


@pytest.mark.parametrize(("mode", "mark"), [("torch.no_grad()", "  # TML103"), ("torch.enable_grad()", "")])
def test_the_graph_of_one_half(mode: str, mark: str) -> None:
    check(_BLOCK.format(mode=mode, mark=mark))
