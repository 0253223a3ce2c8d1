"""Answers that a process puts into a container of a manager, one for each task that it gets from a queue."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SERVED = """
import multiprocessing as mp
import numpy as np

def embed(tasks, answers, ready):
    while True:
        number = tasks.get()
        if number is None:
            return
        answers[number] = np.random.rand(1000, 100){}
        ready.put(number)

def main(steps):
    answers, tasks, ready = mp.Manager().dict(), mp.Queue(8), mp.Queue()
    worker = mp.Process(target=embed, args=(tasks, answers, ready))
    worker.start()
    for number in range(steps):
        tasks.put(number)
        {}
    tasks.put(None)
    worker.join()
    {}
"""


def test_answers_that_stay_when_they_have_been_read() -> None:
    check(SERVED.format("  # TML409", "print(answers[ready.get()].mean())", "pass"))


@pytest.mark.parametrize(
    ("reads", "then"),
    [
        ("print(answers.pop(ready.get()).mean())", "pass"),
        ("print(answers[ready.get()].mean())\n        del answers[number]", "pass"),
        ("pass", "print(sum(answers[number].mean() for number in range(steps)))"),
    ],
    ids=["popped", "deleted", "all of them at the end"],
)
def test_answers_that_go_or_are_the_result(reads: str, then: str) -> None:
    check_innocent(SERVED.format("", reads, then))
