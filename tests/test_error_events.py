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


CALLS = """
import traceback
from dataclasses import dataclass, field

class Failed(RuntimeError):
    pass

@dataclass
class Call:
    name: str
    error: object = None

@dataclass
class Session:
    calls: list = field(default_factory=list)

def forget(error):
    if error is not None:
        error.__traceback__ = None
        forget(error.__context__)

def file(session, call):
    {clear}
    session.calls.append(call){told}

def run_one(session, name, check):
    call = Call(name)
    try:
        print(check())
    except Failed as error:
        call.error = {caught}
    file(session, call)

def too_large():
    rows = torch.randn(4096, 64)
    if len(rows) > 64:
        raise Failed("too many")
    return rows.sum().item()

def main(steps):
    session = Session()
    for step in range(steps):
        for name, check in [("too large", too_large)]:
            run_one(session, name, check)
    {after}
"""
CALL = {"clear": "pass", "told": "", "caught": "error", "after": "print(session.calls[-1].error)"}


def test_a_record_with_an_error_is_filed_by_a_helper() -> None:
    check(CALLS.format(**{**CALL, "told": "  # TML307"}))
    check(CALLS.format(**{**CALL, "caught": "str(error)"}))
    check(CALLS.format(**{**CALL, "clear": "traceback.clear_frames(call.error.__traceback__)"}))
    check(CALLS.format(**{**CALL, "clear": "forget(call.error)"}))
    check(CALLS.format(**{**CALL, "clear": "session.calls.clear()"}))
