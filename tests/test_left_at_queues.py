"""Processes that wait at a queue of the call which has started them, and whether anything tells them to end."""

from __future__ import annotations

import pytest
from snippets import check

PROGRAM = """
import multiprocessing as mp

def rate(jobs, answers):
    {loop}

class Rater(mp.Process):
    def __init__(self, jobs, answers):
        super().__init__(daemon=True)
        self.jobs, self.answers = jobs, answers

    def run(self):
        while True:
            job = self.jobs.get()
            if job is None:
                break
            self.answers.put(job.mean())

def ratings(outputs, count=2):
    jobs, answers = mp.Queue(), mp.Queue()
    {start}
    for output in outputs:
        jobs.put(output.numpy())
    found = [answers.get() for _ in outputs]
    {end}
    return sum(found)

def train(model, optimizer, loader, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(ratings([model(x) for x, _ in loader]))
"""
LOOP = """while True:
        job = jobs.get()
        if job is None:
            break
        answers.put(job.mean())"""
PUT_AWAY = """workers = []
    for _ in range(count):
        worker = mp.Process(target=rate, args=(jobs, answers), daemon=True){mark}
        worker.start()
        workers.append(worker)"""
LISTED = """workers = [mp.Process(target=rate, args=(jobs, answers)) for _ in range(count)]{mark}
    for worker in workers:
        worker.start()"""
AT_ONCE = "mp.Process(target=rate, args=(jobs, answers), daemon=True).start(){mark}"
OWN = "Rater(jobs, answers).start(){mark}"
DUE = "  # TML408"
MARKS = "for _ in workers:\n        jobs.put({})"
GUILTY = {
    "put away": {"start": PUT_AWAY},
    "listed": {"start": LISTED},
    "at once": {"start": AT_ONCE},
    "a class of its own": {"start": OWN},
    "a mark that only others would send": {"start": AT_ONCE, "loop": LOOP.replace("is None", "is Ellipsis")},
    "each that comes": {
        "start": AT_ONCE,
        "loop": "for job in iter(jobs.get, None):\n        answers.put(job.mean())",
    },
    "whatever happens": {
        "start": AT_ONCE,
        "loop": "while True:\n        try:\n            answers.put(jobs.get().mean())\n"
        "        except ValueError as error:\n            print(error)",
    },
}
INNOCENT = {
    "marks": {"start": PUT_AWAY, "end": MARKS.format(None)},
    "words": {"start": LISTED, "end": MARKS.format("'stop'"), "loop": LOOP.replace("is None", "== 'stop'")},
    "marks of a kind": {"start": PUT_AWAY, "end": MARKS.format("(None, None)")},
    "named marks": {"start": PUT_AWAY, "end": MARKS.format("STOP"), "loop": LOOP.replace("is None", "is STOP")},
    "ended": {"start": PUT_AWAY, "end": "for worker in workers:\n        worker.terminate()"},
    "ended by a helper": {"start": LISTED, "end": "end_all(workers)"},
    "told by a helper": {"start": PUT_AWAY, "end": "finish(jobs, len(workers))"},
    "one for each job": {"start": AT_ONCE, "loop": "answers.put(jobs.get().mean())"},
    "as long as there are": {
        "start": AT_ONCE,
        "loop": "while not jobs.empty():\n        answers.put(jobs.get().mean())",
    },
    "for a while": {
        "start": AT_ONCE,
        "loop": "while True:\n        try:\n            job = jobs.get(timeout=5)\n        except queue.Empty:\n"
        "            return\n        answers.put(job.mean())",
    },
    "so many": {
        "start": AT_ONCE,
        "loop": "done = 0\n    while True:\n        answers.put(jobs.get().mean())\n        done += 1\n"
        "        if done == 8:\n            break",
    },
    "ended with the others": {"start": AT_ONCE, "end": "for child in mp.active_children():\n        child.kill()"},
}


def program(form: dict[str, str], mark: str) -> str:
    start = form["start"].replace("{mark}", mark)
    return PROGRAM.format(loop=form.get("loop", LOOP), start=start, end=form.get("end", "pass"))


@pytest.mark.parametrize("name", GUILTY)
def test_workers_that_wait_on(name: str) -> None:
    check(program(GUILTY[name], DUE))


@pytest.mark.parametrize("name", INNOCENT)
def test_workers_that_come_to_an_end(name: str) -> None:
    check(program(INNOCENT[name], ""))


def test_workers_of_the_program() -> None:
    text = program(GUILTY["put away"], "")
    check(text[: text.index("def train")] + "def main(model, loader):\n    print(ratings([x for x, _ in loader]))\n")
