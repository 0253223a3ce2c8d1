"""`batch, length, width = x.shape` of a tensor that each round makes with another length: a table by that gains one
entry each time, a table by the width does not."""

from __future__ import annotations

import pytest
from snippets import check

TABLES = """
TABLES = {{}}

def angles(length, width, device):
    key = (length, width, device)
    if key not in TABLES:
        TABLES[key] = torch.outer(torch.arange(length), torch.rand(width)).sin(){told}
    return TABLES[key]

class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x):
        {sides} = x.shape
        return self.layer(x) * angles({length}, d, x.device)

def main(steps):
    model = Rotary().eval()
    with torch.no_grad():
        for i in range(steps):
            print(model(torch.randn(4, 8 + i, 64)).mean().item())
"""
MARK = "  # TML301"


@pytest.mark.parametrize(
    ("sides", "length", "told"),
    [
        ("b, n, d", "n", MARK),
        ("*_, seq_len, d", "seq_len", MARK),
        ("b, n, d", "d", ""),
        ("n, c, d", "n", ""),
    ],
)
def test_the_side_that_varies(sides: str, length: str, told: str) -> None:
    check(TABLES.format(sides=sides, length=length, told=told))
