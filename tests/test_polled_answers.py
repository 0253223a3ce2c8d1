"""Answers that a loop looks for until its time is over, and that come all the same."""

from __future__ import annotations

import pytest
from snippets import check

CLIENT = """
import itertools
import threading
import time

class Client:
    def __init__(self, model):
        self.model, self.answers, self.gone = model.eval(), {{}}, set()
        self.numbers = itertools.count()

    @torch.no_grad()
    def work(self, number, x):
        {unwanted}
        self.answers[number] = self.model(x){told}

    def submit(self, x):
        number = next(self.numbers)
        threading.Thread(target=self.work, args=(number, x)).start()
        return number

    def result(self, number, timeout=1.0):
        deadline = time.monotonic() + timeout
        while {until}:
            {looks}
            time.sleep(0.01)
        {over}

def main(steps):
    client = Client(Net())
    for _ in range(steps):
        {asks}
"""
TAKES = "if number in self.answers: return self.answers.pop(number)"
PLAIN = {
    "unwanted": "pass",
    "told": "",
    "until": "time.monotonic() < deadline",
    "looks": TAKES,
    "over": "return None",
    "asks": "client.result(client.submit(torch.rand(4, 8)))",
}
LATE = {"told": "  # TML311"}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"over": "raise TimeoutError(number)"},
        {"over": "pass"},
        {"looks": "answer = self.answers.pop(number, None)\n            if answer is not None: return answer"},
    ],
)
def test_answers_that_nobody_waits_for_any_more(change: dict[str, str]) -> None:
    check(CLIENT.format(**PLAIN | LATE | change))


@pytest.mark.parametrize(
    "change",
    [
        {"until": "True"},  # it waits as long as it takes
        {"over": "self.answers.pop(number, None)"},
        {"over": "self.gone.add(number)", "unwanted": "if number in self.gone: return self.gone.discard(number)"},
        {"asks": "number = client.submit(torch.rand(4, 8))\n        while client.result(number) is None: pass"},
    ],
)
def test_answers_that_are_seen_to(change: dict[str, str]) -> None:
    check(CLIENT.format(**PLAIN | change))
