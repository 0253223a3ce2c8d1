"""Loaders with persistent workers that accelerate's launcher is given for each evaluation, or once."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

PROGRAM = """
from accelerate import Accelerator
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, data, args):
        self.args = args
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.data = data
        self.loaders = dict()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def get_eval_dataloader(self):
        {body}

    def get_train_dataloader(self):
        return self.accelerator.prepare({made})

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            total = sum(self.model(x).sum().item() for x in self.get_eval_dataloader())
        self.model.train()
        return total

    def train(self):
        self.accelerator.free_memory()
        for x in self.get_train_dataloader():
            self.optimizer.zero_grad()
            self.accelerator.backward(self.model(x).mean())
            self.optimizer.step()
            print(self.evaluate())
"""
MADE = "DataLoader(self.data, num_workers=2, persistent_workers=True)"
TABLE = 'params = {"num_workers": 2, "persistent_workers": self.args.persistent}'
CASES = {
    "each time": f"return self.accelerator.prepare({MADE})  # TML408",
    "with a table of settings": f"""{TABLE}
        loader = DataLoader(self.data, **params)  # TML408
        return self.accelerator.prepare(loader)""",
    "kept for the next time": f"""if "eval" not in self.loaders:
            loader = self.accelerator.prepare({MADE})
            self.loaders["eval"] = loader
        return self.loaders["eval"]""",
    "kept before it is prepared": f"""if self.args.persistent and "eval" in self.loaders:
            return self.accelerator.prepare(self.loaders["eval"])
        {TABLE}
        loader = DataLoader(self.data, **params)
        self.loaders["eval"] = loader
        return self.accelerator.prepare(loader)""",
    "workers that end": "return self.accelerator.prepare(DataLoader(self.data, num_workers=2))",
    "forgotten each time": f"""self.accelerator.free_memory()
        return self.accelerator.prepare({MADE})""",
}


@pytest.mark.parametrize("case", CASES)
def test_loaders_that_a_launcher_lists(case: str) -> None:
    check(textwrap.dedent(PROGRAM).format(made=MADE, body=CASES[case]))
