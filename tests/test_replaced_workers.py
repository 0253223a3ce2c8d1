"""Workers that another one takes the place of while work still goes to them: an item in its queue ends no worker."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

SERVICE = """
import threading
from concurrent.futures import Future

STOP = object()

class Job:
    def __init__(self, x):
        self.x, self.answer = x, Future()

{worker}

class Service:
    def __init__(self):
        self.lock = threading.Lock()
        self.scorer = self.begin(0)
        self.retired, self.end = [], print

    def begin(self, version):
        torch.manual_seed(version)
        scorer = Scorer(Net().eval())
        {started}
        return scorer

    def renew(self, version):
{renews}

    def score(self, x):
{gives}

    def close(self):
        self.scorer.stop()

@torch.inference_mode()
def main(steps):
    service = Service()
    for version in range(steps):
        print(service.score(torch.rand(1, 8)))
        {again}
    service.close()

main(5)
"""
SUBCLASS = """
class Scorer(threading.Thread):
    def __init__(self, net):
        super().__init__(daemon=True)
        self.net, self.jobs = net, queue.Queue(maxsize=4)

    @torch.inference_mode()
    def run(self):
        while True:
            job = self.jobs.get()
            if job is None or job is STOP:
                return
            job.answer.set_result(self.net(job.x).tolist())
            del job

    def stop(self):
        self.jobs.put(None)
        self.join()
"""
OWNER = """
class Scorer:
    def __init__(self, net):
        self.net, self.jobs = net, queue.Queue(maxsize=4)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    @torch.inference_mode()
    def work(self):
        for job in iter(self.jobs.get, None):
            job.answer.set_result(self.net(job.x).tolist())
            del job

    def stop(self):
        self.jobs.put(None)
        self.thread.join()
"""
WORKERS = {"a thread": (SUBCLASS, "scorer.start()"), "an object with one": (OWNER, "pass")}
MADE = "job = Job(x)\nself.scorer.jobs.put(job)\nreturn job.answer.result()"
GIVES = {
    "an object": MADE,
    "behind a lock": """
job = Job(x)
with self.lock:
    if self.scorer.jobs.full():
        return None
    self.scorer.jobs.put_nowait(job)
return job.answer.result()
""",
    "a pair": "job = Job(x)\nself.scorer.jobs.put((0, job))\nreturn job.answer.result()",
    "what it is given": "self.scorer.jobs.put(x)",
}
LEAVES = {
    "by a name": "fresh = self.begin(version)  # TML505\nwith self.lock:\n    self.scorer = fresh",
    "at once": "self.scorer = self.begin(version)  # TML505",
    "unless it is the same": "if version % 2:\n    self.scorer = self.begin(version)  # TML505",
}
ENDS = {
    "before": "self.scorer.stop()\nself.scorer = self.begin(version)",
    "by its word": "self.scorer.jobs.put(None)\nself.scorer = self.begin(version)",
    "by another word": "self.scorer.jobs.put(STOP)\nself.scorer = self.begin(version)",
    "after": "fresh = self.begin(version)\nold, self.scorer = self.scorer, fresh\nold.stop()",
    "with a name for it": "old = self.scorer\nself.scorer = self.begin(version)\nold.stop()",
    "beside": "threading.Thread(target=self.scorer.stop).start()\nself.scorer = self.begin(version)",
    "later": "self.end(self.scorer)\nself.scorer = self.begin(version)",
}


def service(renews: str, gives: str = MADE, worker: str = "a thread", again: str = "service.renew(version)") -> str:
    text, started = WORKERS[worker]
    renews, gives = textwrap.indent(renews, 8 * " "), textwrap.indent(gives, 8 * " ")
    return SERVICE.format(worker=text, started=started, renews=renews, gives=gives, again=again)


@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize("renews", LEAVES.values(), ids=LEAVES)
def test_workers_that_are_replaced(renews: str, worker: str) -> None:
    check(service(renews, worker=worker))


@pytest.mark.parametrize("gives", GIVES.values(), ids=GIVES)
def test_work_that_goes_to_them(gives: str) -> None:
    check(service(LEAVES["by a name"], gives))


@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize("renews", ENDS.values(), ids=ENDS)
def test_workers_that_are_ended_first(renews: str, worker: str) -> None:
    check_innocent(service(renews, worker=worker))


QUIET = LEAVES["at once"].replace("  # TML505", "")


def test_what_may_be_the_word_itself() -> None:
    gives = "self.scorer.jobs.put(x)"
    check_innocent(service(QUIET, gives, again="service.score(None)\n        service.renew(version)"))
    check_innocent(service(QUIET, gives.replace("(x)", "(self.begin)")))
    check_innocent(service(QUIET, "word = self.retired.pop()\nself.scorer.jobs.put(word)"))


def test_workers_that_are_replaced_once() -> None:
    check_innocent(service(QUIET, again="pass"))
