"""An entry that is taken out of a dictionary by its name is not in it any more, whatever keeps the dictionary then."""

from __future__ import annotations

import pytest
from snippets import check

RECORDS = """
class Record:
    def __init__(self, parts):
        self.parts = parts

def main(batches):
    model, records = Net(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record = Record({{"out": out, "loss": loss.item()}})
        {taken}
        records.append(record){mark}
    print(records)
"""


@pytest.mark.parametrize(
    "taken", ['record.parts.pop("out")', 'out = record.parts.pop("out", None)', 'del record.parts["out"]']
)
def test_taken_out(taken: str) -> None:
    check(RECORDS.format(taken=taken, mark=""))


@pytest.mark.parametrize(
    "taken", ['record.parts.pop("loss")', 'record.parts.pop("other", None)', 'record.parts.get("out")']
)
def test_left_there(taken: str) -> None:
    check(RECORDS.format(taken=taken, mark="  # TML102"))
