"""Groups of parameters that an optimizer gets for one module after another."""

from __future__ import annotations

import pytest
from snippets import check

LEARNER = """
class Learner:
    def __init__(self):
        self.body, self.head, self.heads = nn.Linear(8, 8), None, []
        self.optimizer = torch.optim.Adam(self.body.parameters())

    def begin(self, classes):
        {made}
        {before}
        self.optimizer.add_param_group({{"params": {given}.parameters()}}){told}

    def learn(self, x):
        loss = self.head(self.body(x)).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

def main():
    learner = Learner()
    {rounds}
        learner.begin(4)
        learner.learn(torch.rand(4, 8))
"""
NEW = "self.head = nn.Linear(8, classes)"


def learner(
    made: str = NEW, before: str = "pass", given: str = "self.head", rounds: str = "for _ in range(9):", told: str = ""
) -> str:
    return LEARNER.format(made=made, before=before, given=given, rounds=rounds, told=told)


def test_a_group_for_each_module_that_replaces_another() -> None:
    check(learner(told="  # TML317"))


@pytest.mark.parametrize(
    "text",
    [
        learner(before="self.heads.append(self.head)  # TML303"),
        learner(before="self.optimizer = torch.optim.Adam(self.body.parameters())"),
        learner(before="del self.optimizer.param_groups[1:]"),
        learner(made="self.head = self.head or nn.Linear(8, classes)"),
        learner(given="self.body"),
        learner(rounds="if True:"),
    ],
)
def test_modules_that_stay_or_optimizers_that_go(text: str) -> None:
    check(text)
