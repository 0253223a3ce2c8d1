"""Processes that a training loop starts one after the other, and that are waited for when all steps are done."""

from __future__ import annotations

import pytest
from snippets import check

JUDGES = """
import multiprocessing as mp

def judge(path):
    print(sum(v.sum().item() for v in torch.load(path).values()))

class Judges:
    def __init__(self, count=2):
        self.count, self.running = count, []

    def start(self, path):
        process = mp.Process(target=judge, args=(path,))
        process.start()
        self.running.append(process){mark}

    def submit(self, model, path):
        torch.save(model.state_dict(), path)
        {submitted}

    def reap(self):
        for process in [p for p in self.running if not p.is_alive()]:
            process.join()
            {reaped}

    def finish(self):
        for process in self.running:
            process.join()

def main(steps):
    model, judges = Net(), Judges()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {before}
    for step in range(steps):
        loss = model(torch.rand(4, 8)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        judges.submit(model, f"{{step}}.pt")
        {inside}
    judges.finish()
"""
PASS = "pass"
PLAIN = {"mark": "", "submitted": "self.start(path)", "reaped": PASS, "before": PASS, "inside": PASS}
DROPPED = "self.running.remove(process)"


def test_processes_that_only_the_end_waits_for() -> None:
    check(JUDGES.format(**PLAIN | {"mark": "  # TML408"}))


@pytest.mark.parametrize(
    "change",
    [
        {"inside": "judges.reap()", "reaped": DROPPED},
        {"inside": "judges.finish()"},
        {"submitted": PASS, "before": "[judges.start(f'{rank}.pt') for rank in range(judges.count)]"},
        {"submitted": PASS, "before": "for rank in range(2): judges.start(f'{rank}.pt')"},
    ],
)
def test_processes_that_are_waited_for_in_time(change: dict[str, str]) -> None:
    check(JUDGES.format(**PLAIN | change))
