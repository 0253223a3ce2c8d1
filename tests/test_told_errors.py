"""Tables of requests whose entries say that they have failed: who asks raises that before the entry is taken out."""

from __future__ import annotations

import pytest
from snippets import check

CLIENT = """
import itertools
import queue

class Refused(RuntimeError):
    pass

class Job:
    def __init__(self, images):
        self.images = images
        self.scores = None
        self.error = None
        self.status = "queued"

class Worker:
    def __init__(self, model):
        self.model = model
        self.inbox = queue.Queue(64)

    def turn(self):
        job, number, client = self.inbox.get()
        try:
            with torch.inference_mode():
                job.scores = self.model(job.images)
                job.status = "done"
        except ValueError as error:
            {failed}

class Client:
    def __init__(self, worker):
        self.worker = worker
        self.jobs = {{}}
        self.numbers = itertools.count()

    def ask(self, images):
        number = next(self.numbers)
        job = Job(images)
        self.jobs[number] = job{kept}
        self.worker.inbox.put((job, number, self))
        return number

    def answer_of(self, number):
        {taken}

class App:
    def __init__(self, client):
        self.client = client
        self.asked = []
        self.failed = 0

    def submit(self):
        self.asked.append(self.client.ask(torch.randn(8, 512)))

    def collect(self):
        client = self.client
        while self.asked:
            number = self.asked.pop()
            {caught}

def main(steps):
    worker = Worker(Net())
    app = App(Client(worker))
    for step in range(steps):
        app.submit()
        worker.turn()
        app.collect()
"""
TOLD = "job.error = str(error)"
TAKEN = """job = self.jobs[number]
        if job.error is not None:
            raise Refused(job.error)
        del self.jobs[number]
        return job.scores"""
CAUGHT = """try:
                print(client.answer_of(number).sum().item())
            except Refused:
                self.failed += 1"""
KEPT = "  # TML311"


def entry(taken: str) -> str:
    return taken.replace("\n", "\n        ")


def program(kept: str = "", failed: str = TOLD, taken: str = TAKEN, caught: str = CAUGHT) -> str:
    return CLIENT.format(kept=kept, failed=failed, taken=taken, caught=caught)


@pytest.mark.parametrize(
    "taken",
    [
        TAKEN,
        TAKEN.replace("job.error is not None", "job.error").replace("del self.jobs[number]", "self.jobs.pop(number)"),
        TAKEN.replace("self.jobs[number]\n        if", "self.jobs.get(number)\n        if"),
        TAKEN.replace("job.error is not None", "job is not None and job.error is not None"),
        entry(
            "if self.jobs[number].error:\n    raise Refused('refused')\nreturn self.jobs.pop(number).scores",
        ),
        entry(
            "job = self.jobs[number]\nif job.error is None:\n    del self.jobs[number]\n    return job.scores\n"
            "raise Refused(job.error)",
        ),
        entry("job = self.jobs[number]\nif not job.error:\n    return self.jobs.pop(number).scores\nraise Refused()"),
    ],
)
def test_raised_before_it_is_taken_out(taken: str) -> None:
    check(program(KEPT, taken=taken))


@pytest.mark.parametrize(
    ("kept", "failed", "test"),
    [
        (KEPT, "job.status = 'failed'", "job.status == 'failed'"),
        (KEPT, "job.status = 'timed_out'", "job.status in ('failed', 'timed_out')"),
        (KEPT, "job.status = Status.TIMEOUT", "job.status is Status.TIMEOUT"),
        (KEPT, "job.scores = ValueError(str(error))", "isinstance(job.scores, Exception)"),
        ("", "job.status = 'done'", "job.status == 'failed'"),
        ("", TOLD, "job.scores is None"),
        ("", "job.scores = None", "job.error is not None"),
    ],
)
def test_what_says_that_it_failed(kept: str, failed: str, test: str) -> None:
    check(program(kept, failed, TAKEN.replace("job.error is not None", test)))


@pytest.mark.parametrize(
    "taken",
    [
        TAKEN.replace("self.jobs[number]\n        if", "self.jobs.pop(number)\n        if").replace(
            "del self.jobs[number]", "job.status = 'read'"
        ),
        entry(
            "job = self.jobs[number]\ndel self.jobs[number]\nif job.error is not None:\n    raise Refused(job.error)\n"
            "return job.scores",
        ),
        TAKEN.replace("raise", "self.jobs.pop(number)\n            raise"),
        TAKEN.replace("raise", "self.drop(number)\n            raise")
        + "\n\n    def drop(self, number):\n        self.jobs.pop(number)",
        entry(
            "job = self.jobs[number]\ntry:\n    if job.error is not None:\n        raise Refused(job.error)\n"
            "    return job.scores\nfinally:\n    del self.jobs[number]",
        ),
        entry(
            "try:\n    job = self.jobs[number]\n    if job.error is not None:\n        raise Refused(job.error)\n"
            "except Refused:\n    self.jobs.pop(number)\n    raise\nself.jobs.pop(number)\nreturn job.scores",
        ),
    ],
)
def test_taken_out_in_time(taken: str) -> None:
    check(program(taken=taken))


@pytest.mark.parametrize(
    ("kept", "caught"),
    [
        (KEPT, CAUGHT.replace("Refused", "RuntimeError")),
        (KEPT, CAUGHT.replace("Refused", "(ValueError, Exception)")),
        (KEPT, CAUGHT.replace("self.failed += 1", "continue")),
        ("", "print(client.answer_of(number))"),
        ("", CAUGHT.replace("Refused", "KeyError")),
        ("", CAUGHT.replace("self.failed += 1", "client.jobs.pop(number)")),
        ("", CAUGHT.replace("self.failed += 1", "break")),
        (KEPT, CAUGHT.replace("self.failed += 1", "return")),
        ("", CAUGHT.replace("self.failed += 1", "raise SystemExit(1) from None")),
        ("", CAUGHT.replace("self.failed += 1", "sys.exit(1)")),
        ("", CAUGHT.replace("self.failed += 1", "client.resubmit(number)")),
    ],
)
def test_who_catches_it(kept: str, caught: str) -> None:
    check("import sys\n" + program(kept, caught=caught))


@pytest.mark.parametrize(
    "failed",
    [
        f"{TOLD}\n            client.jobs.pop(number)",
        f"{TOLD}\n            client.forget(number)",
    ],
)
def test_who_tells_of_it_takes_it_out(failed: str) -> None:
    forgets = TAKEN + "\n\n    def forget(self, number):\n        self.jobs.pop(number, None)"
    check(program(failed=failed, taken=forgets if "forget" in failed else TAKEN))


def test_tried_once_more() -> None:
    again = "\n\n    def again(self, number):\n        self.jobs[number].error = None\n        self.worker.inbox.put(0)"
    check(program(taken=TAKEN + again))


HANDLER = """
class Handler:
    def __init__(self, client):
        self.client = client

    def scores(self, number):
        return self.client.answer_of(number).tolist()

    def handle(self, number):
        try:
            return {{"scores": self.scores(number)}}
        except Exception as error:
            {caught}
"""
SERVED = "print(Handler(client).handle(number))"


@pytest.mark.parametrize(
    ("kept", "caught"),
    [
        (KEPT, 'return {"error": str(error)}'),
        (KEPT, "print(error)"),
        ("", "raise RuntimeError(number) from error"),
        ("", "return self.client.jobs.pop(number)"),
    ],
)
def test_caught_further_out(kept: str, caught: str) -> None:
    check(HANDLER.format(caught=caught) + program(kept, caught=SERVED))


def test_an_error_that_ends_the_loop() -> None:
    check("""
class Request:
    def __init__(self, rows):
        self.rows = rows
        self.failed = False

class Client:
    def __init__(self):
        self.pending = {}

    def ask(self, number):
        request = Request(torch.randn(64, 64))
        self.pending[number] = request
        return request

    def wait_for_answer(self, number):
        if self.pending[number].failed:
            raise RuntimeError(number)
        return self.pending.pop(number)

def refuse(request):
    request.failed = True

def main(client, numbers):
    try:
        for number in numbers:
            refuse(client.ask(number))
            client.wait_for_answer(number)
    except RuntimeError:
        print("broken off")
""")
