"""Exceptions that get somewhere else: in a record that a helper returns, or raised as they were put away."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

FARM = """
import asyncio, copy, pickle, sys, traceback
from dataclasses import dataclass
from functools import partial

@dataclass
class Job:
    name: str
    error: object = None
    trace: object = None
    text: str = ""

@dataclass
class Outcome:
    value: object = None
    error: object = None

def invert(size):
    a = torch.randn(size, size)
    return torch.linalg.inv(a @ a.T)

def whatever(make):
    return make()

"""
DESCRIBED = """
def told(error):
    return dict(kind="failed", error=error, trace=sys.exc_info()[2], text=repr(error))

def attempt(work, size):
    try:
        answer = {"kind": "done", "value": work(size).sum().item()}
    except RuntimeError as error:
        answer = told(error)
    return answer

class Farm:
    def __init__(self):
        self.jobs, self.broken, self.values = {}, [], []

    def run(self, name, work, size):
        answer = attempt(work, size)
        BODY

def main(farm, sizes):
    for i, size in enumerate(sizes):
        farm.run(i, invert, size)
"""
IN_RECORDS = {
    "a part of a dictionary, in an object of a table": """
        job = self.jobs.setdefault(name, Job(name))
        if answer["kind"] == "failed":
            job.error = answer["error"]  # TML307
            job.trace = answer.get("trace")  # TML307
            job.text = answer["text"]
    """,
    "in an object that goes into a table afterwards": """
        job = Job(name)
        job.error = answer.get("error")  # TML307
        self.jobs[name] = job
    """,
    "under a key": """
        self.jobs[name] = answer["trace"]  # TML307
    """,
    "in a list": """
        if "error" in answer:
            self.broken.append(answer["error"])  # TML307
    """,
    "in a pair in a list": """
        self.broken.append((name, answer["error"]))  # TML307
    """,
    "by a method that is given the object and the record": """
        self.note(self.jobs[name], answer)

    def note(self, job, answer):
        job.error = answer["error"]  # TML307
    """,
    "the record itself": """
        self.broken.append(answer)  # TML307
    """,
}
NOT_IN_RECORDS = {
    "the text in a pair": """
        self.broken.append((name, answer["text"]))
    """,
    "the text": """
        self.jobs[name].text = answer["text"]
    """,
    "raised again": """
        if "error" in answer:
            raise answer["error"]
    """,
    "sent, logged, returned": """
        self.pipe.send(pickle.dumps(answer))
        print(answer["error"])
        return answer["error"]
    """,
    "its text": """
        self.jobs[name].text = str(answer["error"])
        self.jobs[name].trace = traceback.format_tb(answer["trace"])
    """,
    "without frames": """
        self.jobs[name].error = answer["error"].with_traceback(None)
    """,
    "frames that are cleared": """
        traceback.clear_frames(answer["trace"])
        self.jobs[name].error = answer["error"]
    """,
    "an object that goes with the function": """
        job = Job(name)
        job.error = answer["error"]
        return job.error is None
    """,
    "a table that is emptied": """
        self.jobs[name].error = answer["error"]

    def forget(self, name):
        del self.jobs[name]
    """,
    "a part that is taken off": """
        self.jobs[name].error = answer["error"]

    def settle(self, name):
        self.jobs[name].error = None
    """,
    "a future": """
        self.jobs[name].set_exception(answer["error"])
    """,
}


@pytest.mark.parametrize("body", [*IN_RECORDS.values(), *NOT_IN_RECORDS.values()], ids=[*IN_RECORDS, *NOT_IN_RECORDS])
def test_parts_of_records(body: str) -> None:
    check(FARM + DESCRIBED.replace("        BODY\n", body.strip("\n") + "\n"))


CAUGHT = """
def attempt(work, size):
    try:
        return RESULT
    except RuntimeError as error:
        return FAILED

class Farm:
    def __init__(self):
        self.jobs = {}

    def run(self, name, work, size):
        KEPT

def main(farm, sizes):
    for i, size in enumerate(sizes):
        farm.run(i, WORK, size)
"""
PAIR = "value, error = attempt(work, size)\n        self.jobs[name].error = error"
TRACE = "value, trace = attempt(work, size)\n        self.jobs[name].trace = trace"
OBJECT = "outcome = attempt(work, size)\n        self.jobs[name].error = outcome.error"
HELPERS = {
    "a tuple": ("work(size), None", "None, error", PAIR + "  # TML307", "invert"),
    "a traceback": ("work(size), None", "None, error.__traceback__", TRACE + "  # TML307", "invert"),
    "an object": ("Outcome(work(size))", "Outcome(error=error)", OBJECT + "  # TML307", "invert"),
    "a tuple with its text": ("work(size), None", "None, repr(error)", PAIR, "invert"),
    "a tuple with its type": ("work(size), None", "None, sys.exc_info()[0]", PAIR, "invert"),
    "an object with its text": ("Outcome(work(size))", "Outcome(error=str(error))", OBJECT, "invert"),
    "of work without tensors": ("work(size), None", "None, error", PAIR, "whatever"),
}


@pytest.mark.parametrize(("result", "failed", "kept", "work"), HELPERS.values(), ids=HELPERS)
def test_what_helpers_return(result: str, failed: str, kept: str, work: str) -> None:
    filled = CAUGHT.replace("RESULT", result).replace("FAILED", failed).replace("KEPT", kept).replace("WORK", work)
    check(FARM + filled)


PLANS = """
import copy
from functools import partial

class Unfit(RuntimeError):
    def again(self):
        return Unfit(*self.args)

class DoesNotFit(Unfit):
    pass

def refuse(error, *given):
    raise error

def refuse_anew(error, *given):
    raise copy.copy(error)

class Plan:
    def __init__(self, steps):
        self.steps, self.problems, self.last = steps, {}, None

    def check(self, x, limit):
        if x.shape[0] > limit:
            BODY
        return x

PLANS = {}

class Planned(nn.Module):
    def forward(self, x):
        plan = PLANS["a"] = Plan(3)
        return plan.check(x, 8)
"""
MADE = {
    "bound by partial": """
        problem = DoesNotFit(limit)
        self.check = partial(refuse, problem)  # TML307
        raise problem
    """,
    "in a lambda": """
        problem = DoesNotFit(limit)
        self.check = lambda x: refuse(problem)  # TML307
    """,
    "by a function that is kept": """
        problem = ValueError(limit)
        def fail(x, limit):
            raise problem
        self.check = fail  # TML307
    """,
    "by an inner function that is told of it": """
        def give_up(problem):
            self.check = partial(refuse, problem)  # TML307
            raise problem
        if limit > 2:
            give_up(DoesNotFit(limit))
    """,
    "by an inner function that is told what it says": """
        def give_up(problem):
            self.check = partial(refuse_anew, copy.copy(problem))
            raise problem
        if limit > 2:
            give_up(DoesNotFit(limit))
    """,
    "in a table of what stays": """
        problem = DoesNotFit(limit)
        self.problems[limit] = problem  # TML307
        raise problem
    """,
    "in an attribute of what stays": """
        self.last = DoesNotFit(limit)  # TML307
        raise self.last
    """,
    "bound, and a new one is raised": """
        problem = DoesNotFit(limit)
        self.check = partial(refuse_anew, problem)
        raise problem.again()
    """,
    "by a function that makes it": """
        def fail(x, limit):
            problem = ValueError(limit)
            raise problem
        self.check = fail
    """,
    "what it says": """
        problem = DoesNotFit(limit)
        self.problems[limit] = str(problem)
        raise problem
    """,
    "only put away": """
        self.problems[limit] = DoesNotFit(limit)
    """,
    "the class": """
        self.last = DoesNotFit
        raise self.last(limit)
    """,
    "without the frames": """
        problem = DoesNotFit(limit)
        self.check = partial(refuse, problem.with_traceback(None))
    """,
    "a future": """
        problem = DoesNotFit(limit)
        self.steps.set_exception(problem)
        raise problem
    """,
    "on its way": """
        problem = DoesNotFit(limit)
        self.steps.put(problem)
        raise problem
    """,
}


def _in_plan(body: str) -> str:
    return PLANS.replace("            BODY", "\n".join("    " + line for line in body.strip("\n").splitlines()))


@pytest.mark.parametrize("body", MADE.values(), ids=MADE)
def test_made_put_away_and_raised(body: str) -> None:
    check(_in_plan(body))


def test_made_once_for_all_who_ask() -> None:
    check("""
    class Absent(nn.Module):
        def __init__(self, name):
            super().__init__()
            self._problem = ImportError(name)  # TML307
            self._reason = ImportError(name)

        def forward(self, x):
            if x.numel() > 2:
                raise self._problem
            raise ImportError(str(self._reason))
    """)


def test_made_where_no_tensors_are() -> None:
    text = _in_plan(MADE["bound by partial"].replace("  # TML307", ""))
    check(text.partition("PLANS = {}")[0])


def test_made_by_what_nobody_keeps() -> None:
    check("""
    class Request:
        def __init__(self, body):
            self.body, self.error = body, None

        def parse(self, x: torch.Tensor):
            if not self.body:
                self.error = ValueError("no body")
                raise self.error
            return x

    def handle(body, x):
        request = Request(body)
        return request.parse(x)
    """)


TABLE = """
class Task:
    def __init__(self, work, seed):
        self.work, self.seed = work, seed
        self.error = None

class Board:
    def __init__(self):
        self.tasks = {{}}

    def add(self, work, seed):
        self.tasks[len(self.tasks)] = Task(work, seed)

    def run(self):
        for task in self.tasks.values():
            try:
                task.work(task.seed)
            except ValueError as error:
                task.error = {kept}

def evaluate(seed):
    {work}

def main(count):
    board = Board()
    for seed in range(count):
        board.add(evaluate, seed)
    board.run()
"""
TENSORS = "x = torch.randn(64, 4096)\n    assert x.mean() > seed"


def test_what_the_tasks_of_a_table_were_made_to_call() -> None:
    check(TABLE.format(kept="error  # TML307", work=TENSORS))
    check(TABLE.format(kept="str(error)", work=TENSORS))
    check(TABLE.format(kept="error", work="print(seed)"))


LOGGED = """
import logging

log = logging.getLogger("work")

class Recent(logging.Handler):
    def __init__(self):
        super().__init__()
        self.found = {found}

    def emit(self, record):
        if record.levelno >= logging.ERROR:
            {keep}

def work(model, x: torch.Tensor):
    try:
        return model(x)
    except ValueError as error:
        {tell}
"""


@pytest.mark.parametrize(
    ("found", "keep", "tell"),
    [
        ("[]", "self.found.append(record)  # TML307", 'log.exception("failed")'),
        ("[]", "self.found.append(record)  # TML307", 'log.error("failed", exc_info=True)'),
        ("[]", "self.found.append(record)", 'log.error("failed: %s", error)'),
        ("[]", "self.found.append(self.format(record))", 'log.exception("failed")'),
        ("[]", "record.exc_info = None; self.found.append(record)", 'log.exception("failed")'),
        ("[]", "self.found.append(record); self.found = self.found[-9:]", 'log.exception("failed")'),
        ("deque(maxlen=9)", "self.found.append(record)", 'log.exception("failed")'),
    ],
)
def test_records_of_a_logger(found: str, keep: str, tell: str) -> None:
    check(LOGGED.format(found=found, keep=keep, tell=tell))


RING = """
import logging
from collections import deque

log = logging.getLogger("work")
ENOUGH = 300

class Recent(logging.Handler):
    def __init__(self, keep={default}, level=logging.ERROR):
        super().__init__(level)
        self.found = deque({most})

    def emit(self, record):
        {keep}

def work(model, x: torch.Tensor):
    try:
        return model(x)
    except ValueError as error:
        log.exception("failed")

def main(limit):
    log.addHandler(Recent({made}))
"""
MANY = {
    "of a number": ("9", "maxlen=200", "self.found.append(record)", ""),
    "of a constant": ("9", "maxlen=ENOUGH", "self.found.append(record)", ""),
    "by default": ("256", "maxlen=keep", "self.found.append((record.created, record))", ""),
    "of who makes it": ("9", "[], keep", "self.found.appendleft(record)", "1000"),
}
FEW = {
    "of a number": ("9", "maxlen=5", "self.found.append(record)", ""),
    "of who makes it": ("500", "maxlen=keep", "self.found.append(record)", "keep=8"),
    "of who knows": ("500", "maxlen=keep", "self.found.append(record)", "limit"),
    "of a text": ("500", "maxlen=keep", "self.found.append((record.created, self.format(record)))", ""),
}


@pytest.mark.parametrize("default, most, keep, made", MANY.values(), ids=MANY)
def test_the_last_hundreds_of_records(default: str, most: str, keep: str, made: str) -> None:
    check(RING.format(default=default, most=most, keep=keep + "  # TML307", made=made))


@pytest.mark.parametrize("default, most, keep, made", FEW.values(), ids=FEW)
def test_the_last_few_records(default: str, most: str, keep: str, made: str) -> None:
    check(RING.format(default=default, most=most, keep=keep, made=made))


SHARED = """
import copy
import functools

class Busy(Exception):
    pass

class Lines(nn.Module):
    full = Busy("full")
    late: Exception = Busy("late")
    kind = Busy

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

BY_CODE = {1: Busy("one"), 2: Busy("two")}
KINDS = {1: Busy, 2: ValueError}

@functools.lru_cache(maxsize=None)
def remembered():
    return Busy("once")

def made():
    return Busy("each time")

class Gate(Lines):
    @functools.cached_property
    def worn(self):
        return Busy("worn out")

    @property
    def new(self):
        return Busy("new")

    def forward(self, x, error=Busy("given"), cls=Busy):
        y = self.layer(x)
        if y.mean() < 0:
            RAISE
        return y
"""
MADE_ONCE = {
    "by the body of a class": "raise self.full  # TML307",
    "by the body of a class, with an annotation": "raise Gate.late  # TML307",
    "asked of the class": "raise type(self).full from None  # TML307",
    "asked of the class by its attribute": "raise self.__class__.full  # TML307",
    "in a table": "raise BY_CODE[1]  # TML307",
    "in a table that is asked": "raise BY_CODE.get(2)  # TML307",
    "as a default": "raise error  # TML307",
    "by a function that remembers it": "raise remembered()  # TML307",
    "by a property that remembers it": "raise self.worn  # TML307",
    "under a local name": "problem = self.full\n            raise problem  # TML307",
}
MADE_EACH_TIME = {
    "its class": "raise self.kind",
    "by its class": "raise self.kind('full')",
    "by the class in a table": "raise KINDS[1]('one')",
    "the class in a table": "raise KINDS[2]",
    "by a function": "raise made()",
    "by a property": "raise self.new",
    "as a copy": "raise copy.copy(self.full)",
    "a class by default": "raise cls",
    "a default that is told": "error = Busy(str(error))\n            raise error",
}


@pytest.mark.parametrize("line", [*MADE_ONCE.values(), *MADE_EACH_TIME.values()], ids=[*MADE_ONCE, *MADE_EACH_TIME])
def test_one_object_that_is_raised_again_and_again(line: str) -> None:
    check(SHARED.replace("RAISE", line))


def test_an_attribute_that_an_object_may_have_of_its_own() -> None:
    text = SHARED.replace("self.layer =", "self.full, self.layer = take_error(),")
    check_innocent(text.replace("RAISE", "raise self.full"))
