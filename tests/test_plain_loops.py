"""Loops that count what nobody reads, and lists of one that are added, are read as what they mean."""

from __future__ import annotations

import pytest
from snippets import check

SCALED = """
class Scaled(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module, self.hooked = module, False

    def forward(self, x):
        {first}
        for {item} in {over}:
            factors = torch.full_like(param, 0.5)
            param.register_hook(lambda grad: grad * factors){mark}
        return self.module(x)
"""
EVERY = "self.module.parameters()"


@pytest.mark.parametrize(("item", "over"), [("param", EVERY), ("_, param", f"enumerate({EVERY})")])
def test_a_loop_that_counts(item: str, over: str) -> None:
    check(SCALED.format(first="pass", item=item, over=over, mark="  # TML304"))
    check(SCALED.format(first="if self.hooked: return self.module(x)", item=item, over=over, mark=""))
