"""Exceptions of what is called by a name: the callers say which method that is, and whether it has tensors at hand."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

WORKER = """
class Worker:
    def __init__(self, model):
        self.model, self.error = model, None

    @torch.no_grad()
    def generate(self, rows):
        return self.model(torch.randn(rows, 8))

    def count(self, rows):
        return rows + 1

    def execute(self, method, *args):
        {bound}
        try:
            return {called}(*args)
        except RuntimeError as error:
            {keeps}
            return None

class Pool:
    def __init__(self, worker):
        self.worker = worker

    def ask(self, method, rows):
        return self.worker.execute(method, rows)

def main(steps):
    pool = Pool(Worker(Net()))
    for rows in range(steps):
        print(pool.ask({asked}, rows))
"""
BOUND, KEEPS = "call = getattr(self, method)", "self.error = error"


@pytest.mark.parametrize(
    "bound, called",
    [(BOUND, "call"), ("call: object = getattr(self, method)", "call"), ("print(method)", "getattr(self, method)")],
)
def test_a_method_that_the_callers_name(bound: str, called: str) -> None:
    check(WORKER.format(bound=bound, called=called, keeps=f"{KEEPS}  # TML307", asked='"generate"'))


@pytest.mark.parametrize(
    "keeps, asked",
    [(KEEPS, '"count"'), (KEEPS, "input()"), ("self.error = str(error)", '"generate"')],
    ids=["of numbers", "nobody knows", "what it says"],
)
def test_what_has_no_tensors_or_is_not_kept(keeps: str, asked: str) -> None:
    check_innocent(WORKER.format(bound=BOUND, called="call", keeps=keeps, asked=asked))
