"""Objects that a function fills and hands back: results, unless the program only hands them on."""

from __future__ import annotations

import pytest
from snippets import check

SEARCH = """
class Search:
    def __init__(self):
        self.trials = []

    def run(self, width):
        model = nn.Linear(width, width)
        self.trials.append({{"model": model, "score": model(torch.ones(width)).sum().item()}}){mark}

    def best(self):
        return max(trial["score"] for trial in self.trials)

{go}
    search = Search()
    for width in range(1, steps):
        search.run(width)
    print(search.best())
    return search

def main(steps):
    {main}

if __name__ == "__main__":
    main(9)
"""
FUNCTION = "def go(steps):"


@pytest.mark.parametrize(
    ("go", "main"),
    [
        (FUNCTION, "torch.manual_seed(0); return go(steps)"),
        ("async def go(steps):", "import asyncio; return asyncio.run(go(steps))"),
    ],
)
def test_what_the_program_hands_on_goes_to_nobody(go: str, main: str) -> None:
    check(SEARCH.format(go=go, main=main, mark="  # TML303"))


@pytest.mark.parametrize(
    "main",
    [
        "print(max(trial['model'].weight.sum() for trial in go(steps).trials))",
        "found = go(steps); return [trial['model'] for trial in found.trials]",
    ],
)
def test_what_the_program_reads_is_a_result(main: str) -> None:
    check(SEARCH.format(go=FUNCTION, main=main, mark=""))
