"""Classes that are threads and hand what they are to run to their base: `super().__init__(target=work, args=(x,))`."""

from __future__ import annotations

import pytest
from snippets import check

ENSEMBLE = """
import threading

class Answering(threading.Thread):
    def __init__(self, target, args=()):
        {init}
        self.answer = None

    def run(self):
        if self._target is not None:
            self.answer = self._target(*self._args)

    def join(self, timeout=None):
        super().join(timeout)
        return self.answer

@torch.no_grad()
def score(net, x):
    return net(x).softmax(1)

class Ensemble:
    def __init__(self, members):
        self.members, self.asked = members, []

    def __call__(self, x):
        asked = []
        for net in self.members:
            asked.append(Answering(target={target}, args=(net, x)))
            asked[-1].start()
        {keep}
        return sum(one.join() for one in asked)

def main(batches):
    ensemble = Ensemble([nn.Linear(8, 8), nn.Linear(8, 8)])
    for x in batches:
        print(ensemble(x).argmax(1))
"""
SUPER = "super().__init__(target=target, args=args)"
NAMED = "threading.Thread.__init__(self, None, target, None, args)"
CASES = {
    "all are kept": (SUPER, "score", "self.asked.extend(asked)  # TML501"),
    "by the name of the base": (NAMED, "score", "self.asked.extend(asked)  # TML501"),
    "the last ones are kept": (SUPER, "score", "self.asked = asked"),
    "they answer in words": (SUPER, "lambda net, x: str(score(net, x).argmax(1).tolist())", "self.asked.extend(asked)"),
}

MODES = """
import threading

class Job(threading.Thread):
    {body}

{mode}
def work(net, x, found):
    found.append(net(x))

def main(batches):
    net, found = nn.Linear(8, 8).eval(), []
    with torch.no_grad():
        for x in batches:
            job = Job(target=work, args=(net, x, found))
            job.start(){mark}
            job.join()
    return sum(one.sum().item() for one in found)
"""
MARK = "  # TML203"


@pytest.mark.parametrize("case", CASES)
def test_threads_given_work(case: str) -> None:
    init, target, keep = CASES[case]
    check(ENSEMBLE.format(init=init, target=target, keep=keep))


@pytest.mark.parametrize("body", ["pass", "def __init__(self, target, args):\n        " + SUPER])
@pytest.mark.parametrize(("mode", "mark"), [("", MARK), ("@torch.no_grad()", "")])
def test_modes_of_threads_given_work(body: str, mode: str, mark: str) -> None:
    check(MODES.format(body=body, mode=mode, mark=mark))
