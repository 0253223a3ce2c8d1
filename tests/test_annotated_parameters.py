"""What a parameter's annotation says of a value that nobody has seen."""

from __future__ import annotations

import pytest
from snippets import check

HISTORY = """
from source import fetch

class History:
    def __init__(self):
        self.rows = []

    def keep(self, row{hint}):
        {puts}

def main():
    history = History()
    for _ in range(1000):
        history.keep({given})
    print(len(history.rows))
"""
PUTS = "self.rows.append(row)"


@pytest.mark.parametrize("given", ["fetch()", "row=fetch().rows[0]"])
def test_a_tensor_by_its_annotation(given: str) -> None:
    check(HISTORY.format(hint=": torch.Tensor", puts=PUTS + "  # TML303", given=given))


@pytest.mark.parametrize(
    ("hint", "puts", "given"),
    [
        ("", PUTS, "fetch()"),
        (": Row", PUTS, "fetch()"),
        (": torch.Tensor", "self.rows.append(row.item())", "fetch()"),
        (": torch.Tensor", PUTS, "3"),  # whatever it says
        (": torch.Tensor = None", PUTS, ""),
    ],
)
def test_what_is_no_tensor(hint: str, puts: str, given: str) -> None:
    check(HISTORY.format(hint=hint, puts=puts, given=given))
