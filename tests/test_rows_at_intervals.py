"""Every tenth row of what a model gives is a view, and keeps all rows."""

from __future__ import annotations

import pytest
from snippets import check

TRAINING = """
def log_codes(logs, codes):
    logs["codes"].append({part}){mark}

def train(loader, epochs):
    net, logs = Net(), defaultdict(list)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(epochs):
        for x in loader:
            codes = net(x)
            opt.zero_grad()
            codes.square().mean().backward()
            opt.step()
            log_codes(logs, codes)
    return logs
"""


@pytest.mark.parametrize(
    ("part", "mark"),
    [
        ("codes.detach()[::10]", "  # TML309"),
        ("codes.detach()[:, ::16]", "  # TML309"),
        ("codes.detach()[::10].clone()", ""),
        ("codes.detach()[::10].mean().item()", ""),
        ("codes.detach()[::2]", ""),  # half of it: next to nothing is gained by a copy
        ("codes.detach()[:200:10]", ""),  # of which all may be within the first few rows
        ("codes.detach()[::-1]", ""),
    ],
)
def test_rows_at_intervals(part: str, mark: str) -> None:
    check(TRAINING.format(part=part, mark=mark))
