"""Answers that wait in a table for who asked, and who does not come once the request was broken off."""

from __future__ import annotations

import pytest
from snippets import check

ENGINE = """
class Executor:
    def __init__(self, net):
        self.net = net
        self.waiting, self.done = {{}}, {{}}

    def answered(self, number, answer: torch.Tensor):
        future = self.waiting.pop(number, None)
        if future is None:
            self.done[number] = answer{mark}
            return
        future.set_result(answer)

    def wait(self, number):
        answer = self.done.pop(number, None)
        if answer is not None:
            return answer
        future = self.waiting[number] = Future()
        return future.result()
{more}
class Engine:
    def __init__(self, executor):
        self.executor, self.states = executor, {{}}

    def abort(self, rid):
        self.states[rid] = "aborted"{told}

    def finish(self, rid, started):
        state = self.states.pop(rid)
{finish}

def main():
    executor = Executor(Net())
    engine = Engine(executor)
    while True:
        for number in range(10):
            executor.answered(number, torch.randn(64, 64))
            engine.finish(str(number), number)
"""
PRELUDE = "import torch\nfrom concurrent.futures import Future\nfrom torch import nn\n"
NET = "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"
FINISHES = {
    "left before": """
        if state is Status.ABORTED:
            return None
        return self.executor.wait(started)
""",
    "left before, by a flag": """
        if state.cancelled or state.late:
            return None
        return self.executor.wait(started)
""",
    "only if whole": """
        if not state.aborted:
            return self.executor.wait(started)
        return None
""",
    "by its name": """
        answer = None
        if state != Status.CANCELLED:
            answer = self.executor.wait(started)
        return answer
""",
}
COMES = {
    "in any case": """
        return self.executor.wait(started)
""",
    "for what was broken off as well": """
        answer = self.executor.wait(started)
        return None if state is Status.ABORTED else answer
""",
    "another reason": """
        if state is Status.RUNNING:
            return None
        return self.executor.wait(started)
""",
}
DROPS = """
    def drop(self, number):
        self.done.pop(number, None)
"""


@pytest.mark.parametrize("name", FINISHES)
def test_nobody_comes(name: str) -> None:
    check(ENGINE.format(finish=FINISHES[name], mark="  # TML311", more="", told=""), PRELUDE + NET)


@pytest.mark.parametrize("name", COMES)
def test_somebody_comes(name: str) -> None:
    check(ENGINE.format(finish=COMES[name], mark="", more="", told=""), PRELUDE + NET)


def test_the_answer_is_dropped() -> None:
    finish = FINISHES["left before"].replace("return None", "return self.executor.drop(started)")
    check(ENGINE.format(finish=finish, mark="", more=DROPS, told=""), PRELUDE + NET)


def test_the_worker_is_told() -> None:
    told = "\n        self.executor.abort(rid)"
    check(ENGINE.format(finish=FINISHES["left before"], mark="", more="", told=told), PRELUDE + NET)
