"""What goes from one list of an object into the next, a round at a time, until it reaches the one that keeps it."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

JOBS = """
class Job:
    def __init__(self, rows: torch.Tensor):
        self.rows = rows
        self.steps = 0

class Engine:
    def __init__(self):
        self.waiting = []
        self.running = []
        self.finished = []

    def step(self, rows: torch.Tensor):
        over = [job for job in self.running if job.steps > 3]
        {finish}
        self.running = [job for job in self.running if job.steps <= 3]
        for job in self.running:
            job.steps += 1
        self.running.extend(self.waiting)
        self.waiting = []
        self.waiting.append(Job(rows))
        return len(over)
"""
MAIN = """
def main():
    engine = Engine()
    for _ in range(100):
        engine.step(torch.randn(64, 64))
"""


@pytest.mark.parametrize("driver", ["", MAIN])
def test_third_list_keeps_them(driver: str) -> None:
    check(JOBS.format(finish="self.finished.extend(over)  # TML303") + driver)


@pytest.mark.parametrize("driver", ["", MAIN])
@pytest.mark.parametrize("finish", ["self.finished = over", "self.finished.extend(len(job.rows) for job in over)"])
def test_third_list_keeps_the_last_ones(driver: str, finish: str) -> None:
    check_innocent(JOBS.format(finish=finish) + driver)


def test_third_list_is_emptied() -> None:
    take = """
    def take(self):
        done, self.finished = self.finished, []
        return done
"""
    check_innocent(JOBS.format(finish="self.finished.extend(over)") + take)
