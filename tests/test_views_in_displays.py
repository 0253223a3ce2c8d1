"""Parts of tensors that a comprehension collects, or that an object keeps for each of its layers."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

COLLECTED = """
@torch.no_grad()
def first(model, x):
    return model(x)[:, 0]

def main(steps):
    model = Net().eval()
    with torch.no_grad():
        rows = {rows}
    return len(rows)
"""
DRAWN = "torch.randn(4, 300, 8)"


@pytest.mark.parametrize(
    "rows",
    [
        f"[first(model, {DRAWN}) for _ in range(steps)]",
        f"{{f't{{i}}': model({DRAWN})[:, 0] for i in range(steps)}}",
    ],
)
def test_a_part_of_what_each_round_computes(rows: str) -> None:
    check(COLLECTED.format(rows=f"{rows}  # TML309"))


@pytest.mark.parametrize(
    "rows",
    [
        f"[first(model, {DRAWN}).clone() for _ in range(steps)]",
        f"[first(model, {DRAWN}).norm().item() for _ in range(steps)]",
        f"[row[:, 0] for row in model({DRAWN}).unsqueeze(1)]",
        f"torch.stack([first(model, {DRAWN}) for _ in range(steps)])",
    ],
    ids=["copies", "numbers", "of one that is there", "joined at once"],
)
def test_what_keeps_no_more_than_it_shows(rows: str) -> None:
    check_innocent(COLLECTED.format(rows=rows))


def test_a_place_that_gets_a_kept_part_with_its_object_is_not_said() -> None:
    check("""
    class Cache:
        def __init__(self):
            self.tails = {}

    @torch.no_grad()
    def fit(layers, x):
        cache = Cache()
        for number, layer in enumerate(layers):
            x = layer(x)
            cache.tails[number] = x[:, -1:]  # TML309
        return cache

    def main(steps):
        layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        fitted = [fit(layers, torch.randn(4, 300, 8)) for _ in range(steps)]
        return [sorted(one.tails) for one in fitted]
    """)
