"""Attributes that a clean-up deletes by their names, some or all that are models: what still holds them."""

from __future__ import annotations

import pytest
from snippets import check

RUNNER = """
import gc

class Launcher:
    def __init__(self):
        self.models = []

    def prepare(self, model):
        self.models.append(model)
        return model

    def free(self):
        self.models.clear()

class Runner:
    def __init__(self, width):
        self.width = width
        self.launcher = Launcher()
        self.model = self.launcher.prepare(nn.Linear(width, width))
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def fit(self, batches):
        for x in batches:
            self.optimizer.zero_grad()
            self.model(x).square().mean().backward()
            self.optimizer.step()

    def clean(self):
        {clean}
        gc.collect()
        torch.cuda.empty_cache()

def main(batches):
    runner = Runner(64)
    runner.fit(batches)
    runner.clean()
"""
MARK = "  # TML604"
SOME = """for name in {names}:
            {deletes}"""
ALL = """for name, value in list({over}.items()):
            if isinstance(value, (nn.Module, torch.optim.Optimizer)):
                {deletes}"""
DELETES, SETS = "delattr(self, name)", "setattr(self, name, None)"
CASES = {
    "some by name": SOME.format(names='("model", "optimizer")', deletes=DELETES + MARK),
    "some are none": SOME.format(names='["model", "optimizer"]', deletes=SETS + MARK),
    "one by name": 'delattr(self, "optimizer")\n        delattr(self, "model")' + MARK,
    "all models": ALL.format(over="vars(self)", deletes=DELETES + MARK),
    "all models are none": ALL.format(over="self.__dict__", deletes=SETS + MARK),
    "who holds them as well": SOME.format(names='("model", "optimizer", "launcher")', deletes=DELETES),
    "who holds them is told": ALL.format(over="vars(self)", deletes=DELETES) + "\n        self.launcher.free()",
    "who holds them is told if it is there": SOME.format(names='("model", "optimizer")', deletes=DELETES)
    + "\n        if self.launcher is not None:\n            self.launcher.free()",
    "numbers": SOME.format(names='("width",)', deletes=DELETES),
}


@pytest.mark.parametrize("case", CASES)
def test_deleted_by_name(case: str) -> None:
    check(RUNNER.format(clean=CASES[case]))
