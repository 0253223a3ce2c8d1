"""What a loop of an object's own leaves on it, round by round: results of the call, or the history of a training."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

STUDY = """
class Study:
    def __init__(self, sites):
        self.sites = sites
        self.number = 0
        self.weights = Net().state_dict()
        self.replies = {{}}

    def round(self):
        replies = {{}}
        for site in self.sites:
            model = Net()
            model.load_state_dict(self.weights)
            loss = model(torch.randn(4, 8)).square().mean()
            {step}
            replies[site] = {{"loss": loss.item(), "weights": model.state_dict()}}
        self.weights = replies[self.sites[0]]["weights"]
        {keeps}
        self.number += 1

    def run(self, rounds):
        for _ in range(rounds):
            self.round()

    def report(self):
        {reads}

def main(steps):
    study = Study(["north", "south"])
    study.run(steps)
    return study.report()
"""
KEEPS, LAST = "self.replies[self.number] = replies", "return sorted(self.replies[self.number - 1])"
BACKWARD = "loss.backward()"


@pytest.mark.parametrize("reads", [LAST, "return sorted(self.replies[max(self.replies)])"])
def test_replies_of_each_round_of_a_training(reads: str) -> None:
    check(STUDY.format(step=BACKWARD, keeps=f"{KEEPS}  # TML311", reads=reads))


def test_replies_of_which_the_last_are_asked_for() -> None:
    check(STUDY.format(step="print(loss.item())", keeps=f"{KEEPS}  # TML311", reads=LAST))


@pytest.mark.parametrize(
    "step, keeps, reads",
    [
        (BACKWARD, "self.replies = {self.number: replies}", LAST),
        (BACKWARD, "self.replies[self.number] = [reply['loss'] for reply in replies.values()]", LAST),
        (BACKWARD, KEEPS, "return [sorted(round) for round in self.replies.values()]"),
        (BACKWARD, KEEPS, "torch.save(self.replies, 'replies.pt')"),
        ("print(loss.item())", KEEPS, "return [sorted(round) for round in self.replies.values()]"),
    ],
    ids=["the last round", "figures", "gone through", "given away", "no training"],
)
def test_what_is_no_history(step: str, keeps: str, reads: str) -> None:
    check_innocent(STUDY.format(step=step, keeps=keeps, reads=reads))
