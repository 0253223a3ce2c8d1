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


THROWN_OUT = """
class Pool:
    def __init__(self):
        self.models, self.told, self.rest = {{}}, [], set()

    def load(self, name):
        self.models[name] = nn.Linear(512, 512)
        if len(self.models) > 4:
            {taken}
        return self.models[name]

def main(names, x):
    pool = Pool()
    for name in names:
        print(pool.load(name))
    print(pool.told, pool.rest)
"""


@pytest.mark.parametrize(
    "taken",
    [
        "gone, _ = self.models.popitem(); self.told.append(gone)",
        "gone, model = self.models.popitem(); self.rest.add(gone); print(model)",
        "self.told.append(self.models.popitem()[0])",
        "entry = self.models.popitem(); self.told.append(entry[0])",
        "_, model = self.models.popitem(); self.told.append(model)  # TML303",
        "self.told.append(self.models.popitem()[1])  # TML303",
        "entry = self.models.popitem(); self.told.append(entry[1])  # TML303",
        "self.told.append(self.models.popitem())  # TML303",
    ],
)
def test_the_name_and_the_value_of_what_popitem_takes(taken: str) -> None:
    check(THROWN_OUT.format(taken=taken))
