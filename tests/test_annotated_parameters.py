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


JAXTYPING = """\
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor


"""


def test_a_tensor_with_a_shape() -> None:
    """jaxtyping writes the shape beside the type."""
    check(
        """
        class LowRank:
            def __init__(self, left: Float[Tensor, "rows rank"], right: Float[Tensor, "rank columns"]):
                self.left = left
                self.right = right

            @lru_cache(maxsize=None)  # TML305
            def spectrum(self):
                return torch.linalg.svdvals(self.left @ self.right).tolist()

        class Layout:
            def __init__(self, rows: int, names: tuple[str, ...]):
                self.rows, self.names = rows, names

            @lru_cache(maxsize=None)
            def widest(self):
                return max(map(len, self.names))
        """,
        JAXTYPING,
    )


CAST = """
from typing import cast

class Watch:
    def __init__(self):
        self.net = Net()
        self.seen = []

    def step(self, batch, optimizer):
        out = self.net(batch)
        loss = F.cross_entropy(out, batch)
        loss.backward()
        optimizer.step()
        self.seen.append({kept})
"""


def test_a_cast_gives_what_it_is_given() -> None:
    check(CAST.format(kept="cast(torch.Tensor, loss)").replace("loss))", "loss))  # TML102"))
    check(CAST.format(kept="cast(float, loss.item())"))
    check(CAST.format(kept="cast(torch.Tensor, out.detach().argmax(1).tolist())"))
