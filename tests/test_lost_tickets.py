"""Results of work that was handed in for a ticket: looked at, and taken out."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

DESK = """
import itertools
from concurrent.futures import ThreadPoolExecutor

class Desk:
    def __init__(self, size):
        self.pool, self.numbers = ThreadPoolExecutor(size), itertools.count()
        self.jobs = {}

    def hand_in(self, work, *args):
        number = next(self.numbers)
        self.jobs[number] = self.pool.submit(work, *args)
        return number

    def look(self, number):
        return self.jobs[number].result()

    def take(self, number):
        return self.jobs.pop(number).result()
"""
EMPTIED = DESK + "\n    def forget(self):\n        self.jobs.clear()\n"
DROPS = DESK.replace(
    "return self.jobs[number].result()",
    "job = self.jobs[number]\n        del self.jobs[number]\n        return job.result()",
)
RUN = """
import collections
import torch
from desk import Desk

def embed(text):
    return torch.zeros(len(text), 512)

def main(texts):
    desk, waiting, kept = Desk(2), collections.deque(), []
    for text in texts:
        {hand_in}
        if len(waiting) > 4:
            {read}
    for number in waiting:
        print(desk.take(number).mean())
"""
HAND_IN = "waiting.append(desk.hand_in(embed, text))"


def _project(read: str, hand_in: str = HAND_IN, desk: str = DESK) -> dict[str, str]:
    lines = read.replace("\n", "\n            "), hand_in.replace("\n", "\n        ")
    return {"desk.py": desk, "run.py": RUN.format(read=lines[0], hand_in=lines[1])}


LOST = {
    "the oldest": "print(desk.look(waiting.popleft()).mean())  # TML503",
    "the oldest of a list": "vectors = desk.look(waiting.pop(0))  # TML503\nprint(vectors.mean())",
    "by a name": "ticket = waiting.popleft()\nprint(desk.look(ticket).mean())  # TML503",
}
LOST_PROJECTS = {name: _project(read) for name, read in LOST.items()} | {
    "handed in by a name": _project(LOST["the oldest"], "number = desk.hand_in(embed, text)\nwaiting.append(number)"),
}
TAKEN = {
    "taken": _project("print(desk.take(waiting.popleft()).mean())"),
    "looked at, and taken": _project("number = waiting.popleft()\nprint(desk.look(number).mean())\ndesk.take(number)"),
    "looked at where it waits": _project("print(desk.look(waiting[0]).mean())\ndesk.take(waiting.popleft())"),
    "kept": _project("number = waiting.popleft()\nkept.append((number, desk.look(number).mean()))"),
    "other tickets": _project("print(desk.look(kept.pop()))"),
    "emptied": _project("print(desk.look(waiting.popleft()).mean())", desk=EMPTIED),
    "taken out by who looks": _project("print(desk.look(waiting.popleft()).mean())", desk=DROPS),
}


@pytest.mark.parametrize("case", LOST_PROJECTS)
def test_tickets_that_are_gone(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(LOST_PROJECTS[case], tmp_path, monkeypatch)


@pytest.mark.parametrize("case", TAKEN)
def test_tickets_that_are_given_back(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(TAKEN[case], tmp_path, monkeypatch)
