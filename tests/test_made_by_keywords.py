"""Lists that a dictionary or a namespace is made with, by keyword: they live in it."""

from __future__ import annotations

import pytest
from snippets import check

FIT = """
import types
from collections import OrderedDict

class Fit:
    def __init__(self):
        self.model = Net()
        self.history = {made}

    def step(self, batch):
        loss = self.model(batch).sum()
        loss.backward()
        self.history{rows}.append({kept}){mark}
        {after}

def main(steps):
    fit = Fit()
    for _ in range(steps):
        fit.step(torch.rand(4, 8))

main(10)
"""
MADE = [
    ("dict(train=[], val=[])", '["train"]'),
    ("OrderedDict(train=[], val=[])", '["train"]'),
    ("types.SimpleNamespace(train=[], val=[])", ".train"),
]


@pytest.mark.parametrize(("made", "rows"), MADE)
def test_what_goes_into_such_a_list(made: str, rows: str) -> None:
    check(FIT.format(made=made, rows=rows, kept="loss", mark="  # TML102", after="pass"))
    check(FIT.format(made=made, rows=rows, kept="loss.item()", mark="", after="pass"))
    check(FIT.format(made=made, rows=rows, kept="loss", mark="", after=f"self.history{rows}.clear()"))


def test_one_for_each_round() -> None:
    check(
        """
        def main(model, batches):
            for batch in batches:
                row = dict(losses=[], sizes=[])
                for x in batch:
                    row["losses"].append(F.mse_loss(model(x), x))
                torch.stack(row["losses"]).sum().backward()
        """
    )


def test_a_list_that_somebody_else_has() -> None:
    check(
        """
        class Logs:
            def __init__(self, rows):
                self.parts = dict(rows=rows)

        def main(model, batches):
            for batch in batches:
                rows = []
                logs = Logs(rows)
                for x in batch:
                    rows.append(F.mse_loss(model(x), x))
                torch.stack(logs.parts["rows"]).sum().backward()
        """
    )
