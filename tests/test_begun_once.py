"""A table that each evaluation of a training fills: `train()` empties it as it begins, or the evaluation does."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

TRAINER = """
from torch.utils.data import DataLoader


class Launcher:
    def __init__(self):
        self.loaders = []

    def prepare(self, loader):
        self.loaders.append(loader){mark}
        return loader

    def forget(self):
        self.loaders.clear()


class Trainer:
    def __init__(self, model, data):
        self.model, self.data = model, data
        self.launcher = Launcher()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def evaluate(self):
        {first}
        self.model.eval()
        loader = DataLoader(self.data, batch_size=8, num_workers=2, persistent_workers=True)
        with torch.no_grad():
            total = sum(self.model(x).sum().item() for x in self.launcher.prepare(loader))
        self.model.train()
        return total

    def train(self, steps):
        self.launcher.forget()
        for step in range(steps):
            self.optimizer.zero_grad()
            self.model(torch.rand(8, 8)).mean().backward()
            self.optimizer.step()
            print(self.evaluate())


def main(steps):
    Trainer(nn.Linear(8, 2), torch.rand(64, 8)).train(steps)


if __name__ == "__main__":
    main(3)
"""


@pytest.mark.parametrize(
    ("mark", "first"), [("  # TML408", "pass"), ("", "self.launcher.forget()")], ids=["begun once", "each time"]
)
def test_what_a_training_empties_as_it_begins(mark: str, first: str) -> None:
    check(textwrap.dedent(TRAINER).format(mark=mark, first=first))
