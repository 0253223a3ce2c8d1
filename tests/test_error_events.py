"""Exceptions in records of a class that one function returns and another one, by its annotation, is given."""

import pytest
from snippets import check

EVENTS = """
import sys
from dataclasses import dataclass

@dataclass
class Job:
    name: str
    function: object

@dataclass
class Event:
    name: str
    error: object = None

def run_job(job: Job) -> Event:
    event = Event(job.name)
    try:
        job.function(512)
    except Exception as error:
        event.error = {caught}
    return event

class Page:
    def __init__(self):
        self.failures = []

    def on_event(self, event: {hint}):
        self.failures.append({kept}){mark}

def calibrate(size):
    logits = torch.randn(size, size)
    if logits.sum() > 0:
        raise ValueError(size)

def main(pool, steps):
    page = Page()
    for step in range(steps):
        pool.submit(run_job, Job(str(step), calibrate)).add_done_callback(page.on_event)
"""


@pytest.mark.parametrize(
    ("caught", "hint", "kept", "mark"),
    [
        ("error", "Event", "event", "  # TML307"),
        ("sys.exc_info()[1]", "Event", "event", "  # TML307"),
        ("error", "Event", "event.error", "  # TML307"),
        ("str(error)", "Event", "event", ""),
        ("error.with_traceback(None)", "Event", "event", ""),
        ("error", "Event", "event.name", ""),
        ("error", "Job", "event", ""),
    ],
)
def test_records_by_annotation(caught: str, hint: str, kept: str, mark: str) -> None:
    check(EVENTS.format(caught=caught, hint=hint, kept=kept, mark=mark))


TASKS = """
import sys

class Outcome:
    def __init__(self, name):
        self.name, self.caught, self.value = name, None, None

    def fail(self):
        self.caught = {caught}
        return self

class Worker:
    def __init__(self):
        self.tasks, self.failed = {{}}, []

    def task(self, function):
        self.tasks[function.__name__] = function
        return function

    def execute(self, name, *args):
        outcome = Outcome(name)
        try:
            outcome.value = self.tasks[name](*args)
        except Exception:
            {kept}{mark}
        return outcome.value

worker = Worker()

@worker.task
def embed(rows):
    return (torch.randn(rows, 512) @ torch.randn(500, 256)).mean().item()

def main(steps):
    for step in range(steps):
        worker.execute("embed", step)
"""


@pytest.mark.parametrize(
    ("caught", "kept", "mark"),
    [
        ("sys.exc_info()", "self.failed.append(outcome.fail())", "  # TML307"),
        ("repr(sys.exc_info()[1])", "self.failed.append(outcome.fail())", ""),
        ("sys.exc_info()", "print(outcome.fail())", ""),
    ],
)
def test_records_that_find_out_by_themselves(caught: str, kept: str, mark: str) -> None:
    check(TASKS.format(caught=caught, kept=kept, mark=mark))
