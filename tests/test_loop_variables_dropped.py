"""`del` of the variable that a loop has left: for order's sake, or because the memory is wanted."""

from __future__ import annotations

import pytest
from snippets import check

SCRIPT = """
import gc

def embed(encoders, tokens):
    with torch.no_grad():
        return torch.cat([encoder(tokens) for encoder in encoders], 1)

def fit(features, epochs):
    head = nn.Linear(features.shape[1], 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(epochs):
        opt.zero_grad()
        head(features).square().mean().backward()
        opt.step()

def main(tokens):
    first, second = nn.Linear(64, 64), nn.Linear(64, 512)
    encoders = [first, second]
    {early}
    for encoder in {over}:
        encoder.requires_grad_(False)
    {drops}
    {late}
    gc.collect()
    torch.cuda.empty_cache()
    fit(features, 3)
"""
EMBED = "features = embed(encoders, tokens)"
CASES = {
    "the list is in use afterwards": (
        "pass",
        "encoders",
        "del encoder",
        f"{EMBED}\n    del encoders, first, second",
    ),
    "the list goes, its parts stay": (
        "pass",
        "encoders",
        "del encoder",
        f"{EMBED}\n    del encoders  # TML604",
    ),
    "the parts stay": (f"{EMBED}\n    del encoders", "(first, second)", "del encoder  # TML604", "pass"),
}


@pytest.mark.parametrize("case", CASES)
def test_loop_variables_dropped(case: str) -> None:
    early, over, drops, late = CASES[case]
    check(SCRIPT.format(early=early, over=over, drops=drops, late=late))
