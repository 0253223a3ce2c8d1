"""Comprehensions that are the loop of a program: what one round leaves is there in the next."""

from __future__ import annotations

import pytest
from snippets import check

PROGRAM = """
class Trainer:
    def __init__(self):
        self.net, self.total, self.number, self.frames = Net(), torch.zeros(()), 0, {{}}
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x):
        loss = self.net(x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        {body}
        return loss.item()

    def put(self, number, frames):
        self.frames[number] = frames

def main(steps):
    trainer = Trainer()
    print({rounds})
"""
SUM = "self.total = self.total + loss{}"
NUMBERED = "number, self.number = self.number, self.number + 1\n        self.put(number, x.repeat(64, 64))"
EACH = "[trainer.step(torch.randn(4, 8)) for _ in range(steps)]"
TOTAL = "sum(trainer.step(torch.randn(4, 8)) for _ in range(steps))"
CASES = {
    "a sum": (SUM.format("  # TML101"), EACH),
    "a sum, in a generator": (SUM.format("  # TML101"), TOTAL),
    "a sum of numbers": (SUM.format(".item()"), EACH),
    "an entry that goes": (NUMBERED + "\n        self.frames.pop(number)", EACH),
    "one call": (SUM.format(""), "trainer.step(torch.randn(4, 8))"),
}


@pytest.mark.parametrize("case", CASES)
def test_rounds_of_comprehensions(case: str) -> None:
    body, rounds = CASES[case]
    check(PROGRAM.format(body=body, rounds=rounds))


JOBS = """
class Jobs:
    def __init__(self):
        self.frames, self.following = {{}}, 0

    def start(self):
        job, self.following = self.following, self.following + 1
        return job

    def poll(self, job):
        self.frames[job] = torch.rand(4, 3, 32, 32){mark}
        return True

    def finish(self, job):
        {then}

class Service:
    def __init__(self):
        self.jobs = Jobs()

    def handle(self):
        job = self.jobs.start()
        self.jobs.poll(job)
        self.jobs.finish(job)
        return job

def main(steps):
    service = Service()
    print(sum(service.handle() for _ in range(steps)))
"""


@pytest.mark.parametrize(("mark", "then"), [("  # TML311", "print(job)"), ("", "self.frames.pop(job)")])
def test_numbers_that_rounds_count(mark: str, then: str) -> None:
    check(JOBS.format(mark=mark, then=then))
