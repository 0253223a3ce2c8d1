"""Exceptions that are filed for later: in helpers, in containers of a loop, of what a function was given to call."""

from __future__ import annotations

import pytest
from snippets import check

WORK = """
import sys, traceback
from functools import partial

class Report:
    def __init__(self):
        self.rows, self.texts, self.last = [], {}, None

    def failed(self, name, info):
        self.rows.append((name, info))
        self.texts[name] = str(info)

    def note(self, name, text):
        self.texts[name] = str(text)

    def trim(self, name, error):
        traceback.clear_frames(error.__traceback__)
        self.rows.append((name, error))

    def latest(self, error):
        self.last = error

ERRORS = {}

def file_under(key, error):
    ERRORS[key] = error

def loss_falls(seed):
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 1))
    assert model(torch.randn(8, 64)).mean() < 0

def adds_up(seed):
    assert sum(range(seed)) > 3

def attempt(size):
    x = torch.randn(size, 64)
    for layer in [nn.Linear(64, 64)]:
        x = layer(x)
    return x.mean().item()

"""
FILED = {
    "given to a method": """
        def run(report, seeds):
            for seed in seeds:
                try:
                    loss_falls(seed)
                except AssertionError as error:
                    report.failed(seed, error)  # TML307
        """,
    "given to a function that fills a global": """
        def run(seeds):
            for seed in seeds:
                try:
                    attempt(seed)
                except RuntimeError as error:
                    file_under(seed, error)  # TML307
        """,
    "of what the function is given to call": """
        def run_one(report, check, seed):
            try:
                check(seed)
            except AssertionError:
                report.failed(check, sys.exc_info())  # TML307

        def main(seeds):
            report = Report()
            for seed in seeds:
                run_one(report, loss_falls, seed)
        """,
    "of what it is given by keyword, bound": """
        def run_one(report, seed, check=None):
            try:
                check()
            except AssertionError as error:
                report.rows.append(error)  # TML307

        def main(report, seeds):
            for seed in seeds:
                run_one(report, seed, check=partial(loss_falls, seed))
        """,
    "of what stands in a table": """
        CHECKS = {"falls": loss_falls, "adds": adds_up}

        class Runner:
            def __init__(self):
                self.failures = {}

            def one(self, name, check):
                try:
                    check(1)
                except AssertionError as error:
                    self.failures[name] = error  # TML307

        def main():
            runner = Runner()
            for name, check in CHECKS.items():
                runner.one(name, check)
        """,
    "in a local that a loop fills": """
        def search(sizes):
            failed = []
            for size in sizes:
                try:
                    attempt(size)
                except RuntimeError as error:
                    failed.append((size, error))  # TML307
            for size, error in failed:
                print(size, error)
        """,
    "of memory, whatever was tried": """
        def search(step, sizes):
            failed = {}
            for size in sizes:
                try:
                    step(size)
                except torch.cuda.OutOfMemoryError as error:
                    failed[size] = error  # TML307
            return failed
        """,
}
NOT_FILED = {
    "a helper that keeps the text": """
        def run(report, seeds):
            for seed in seeds:
                try:
                    loss_falls(seed)
                except AssertionError as error:
                    report.note(seed, error)
        """,
    "a helper that is given the text": """
        def run(report, seeds):
            for seed in seeds:
                try:
                    loss_falls(seed)
                except AssertionError as error:
                    report.failed(seed, str(error))
        """,
    "a helper that takes the frames off": """
        def run(report, seeds):
            for seed in seeds:
                try:
                    loss_falls(seed)
                except AssertionError as error:
                    report.trim(seed, error)
        """,
    "a helper that keeps the last one": """
        def run(report, seeds):
            for seed in seeds:
                try:
                    loss_falls(seed)
                except AssertionError as error:
                    report.latest(error)
        """,
    "what is called has nothing heavy": """
        def run_one(report, check, seed):
            try:
                check(seed)
            except AssertionError as error:
                report.failed(check, error)

        def main(report, seeds):
            for seed in seeds:
                run_one(report, adds_up, seed)
        """,
    "what is called is not seen": """
        def run_one(report, check, seed):
            try:
                check(seed)
            except AssertionError as error:
                report.failed(check, error)
        """,
    "a few attempts at one thing": """
        def load(paths, max_retries):
            errors = []
            for kind in ("cuda", "cpu"):
                try:
                    return attempt(kind)
                except RuntimeError as error:
                    errors.append(error)
            for _ in range(max_retries):
                try:
                    return attempt(8)
                except RuntimeError as error:
                    errors.append(error)
            raise errors[0]
        """,
    "a list for each round": """
        def search(groups):
            for sizes in groups:
                errors = []
                try:
                    attempt(sizes)
                except RuntimeError as error:
                    errors.append(error)
                print(errors)
        """,
}


@pytest.mark.parametrize("case", FILED)
def test_errors_that_are_filed(case: str) -> None:
    check(WORK + "\n".join(line[8:] for line in FILED[case].splitlines()))


@pytest.mark.parametrize("case", NOT_FILED)
def test_errors_that_are_not_filed(case: str) -> None:
    check(WORK + "\n".join(line[8:] for line in NOT_FILED[case].splitlines()))


RAISED_AGAIN = """
class Lazy:
    def __init__(self, build):
        self._build, self._model, self._error = build, None, None

    def get(self):
        if self._error is not None:
            raise {raised}
        if self._model is None:
            try:
                self._model = self._build()
            except OSError as error:
                {stored}
                raise
        return self._model

    def __call__(self, x):
        return self.get()(x)
"""
AGAIN = {
    "itself": ("self._error", "self._error = error  # TML307"),
    "a fresh one from it": ("RuntimeError(str(self._error))", "self._error = error"),
    "without its frames": ("self._error.with_traceback(None)", "self._error = error"),
    "its text": ("OSError(self._error)", "self._error = str(error)"),
}


@pytest.mark.parametrize(("raised", "stored"), AGAIN.values(), ids=AGAIN)
def test_raised_again(raised: str, stored: str) -> None:
    check(RAISED_AGAIN.format(raised=raised, stored=stored))


def test_handed_over_and_raised_once() -> None:
    check("""
    class Worker:
        def __init__(self, model):
            self.model, self._error = model, None

        def run(self, path):
            try:
                self.rows = open(path).readlines()
            except OSError as error:
                self._error = error

        def join(self):
            if self._error is not None:
                raise self._error
    """)


BENCH = """
import sys

class Bench:
    def __init__(self):
        self.broken = []

    def all(self, jobs):
        for job in jobs:
            self.repeat(job)

    def repeat(self, job):
        for _ in range(2):
            self.once(job)

    def once(self, job):
        try:
            job()
        except RuntimeError:
            {}

def product():
    return torch.ones(64, 64) @ torch.ones(32, 32)

def name():
    return "name"

def main(bench):
    bench.all([{}])
"""
CAUGHT = "kind, error, trace = sys.exc_info()\n            self.broken.append({})"


def test_parts_of_what_is_caught_for_callers_of_callers() -> None:
    for kept in ("error", "(kind, trace)"):
        check(BENCH.format(CAUGHT.format(kept + ")  # TML307")[:-1], "product"))
        check(BENCH.format(CAUGHT.format(kept), "name"))
    check(BENCH.format(CAUGHT.format("kind"), "product"))


TIMER = """
class Timer:
    def __init__(self, work, sizes):
        self.work, self.sizes = work, sizes
        self.broken = []

    def _time(self, x, size):
        return [self.work(x, size) for _ in range(2)]

    def __call__(self, x):
        for size in self.sizes:
            try:
                self._time(x, size)
            except ValueError as error:
                self.broken.append(error){}

def tiles(x, size):
    return torch.stack([tile.softmax(-1) for tile in x.split(size)])

def halves(x, size):
    return x // size

timer = Timer({}, [32, 64])
"""


def test_what_a_method_calls_that_the_object_was_made_with() -> None:
    check(TIMER.format("  # TML307", "tiles"))
    check(TIMER.format("", "halves"))


PROBE = """
import importlib

REASON = None

def has_kernels():
    global REASON
    try:
        importlib.import_module("kernels")
    except ImportError as error:
        REASON = {}
        return False
    return True

def pick():
    return Fast if has_kernels() else Slow

def stack(width, depth):
    rows = {}
    return [pick()(row) for row in rows]
"""


def test_callers_that_have_layers_at_hand() -> None:
    check(PROBE.format("error  # TML307", "nn.ModuleList(nn.Linear(width, width) for _ in range(depth))"))
    check(PROBE.format("str(error)", "nn.ModuleList(nn.Linear(width, width) for _ in range(depth))"))
    check(PROBE.format("error", "[width] * depth"))


TOLERANT = """
import contextlib

class Budget:
    def __init__(self):
        self.errors = []

    @contextlib.contextmanager
    def tolerate(self):
        try:
            yield
        except ValueError as error:
            self.errors.append(%s)

def evaluate(model, batches, budget):
    for batch in batches:
        with budget.tolerate():
            %s
"""


@pytest.mark.parametrize(
    ("kept", "work"),
    [
        ("error)  # TML307\n            print(0", "model.forward(batch).item()"),
        ("str(error)", "model.forward(batch)"),
        ("error", "print(int(batch))"),
    ],
)
def test_a_context_manager_that_tolerates_errors(kept: str, work: str) -> None:
    check(TOLERANT % (kept, work))


RUNNER = """
import threading

class Runner(threading.Thread):
    def __init__(self, model, tasks, {params}):
        super().__init__(daemon=True)
        self.model, self.tasks = model.eval(), tasks
        {bound}

    def run(self):
        for x in iter(self.tasks.get, None):
            self.work(x)

    def work(self, x):
        try:
            with torch.no_grad():
                self.model(x)
        except RuntimeError as error:
            {puts}
"""
PUT = "self.failed.put((id(x), error))"


@pytest.mark.parametrize(
    ("params", "bound", "puts"),
    [
        ("failed", "self.failed = failed", PUT),
        ("passed, failed", "self.passed, self.failed = passed, failed", PUT.replace("put", "put_nowait")),
    ],
)
def test_queues_that_others_have_as_well(params: str, bound: str, puts: str) -> None:
    check(RUNNER.format(params=params, bound=bound, puts=puts))


@pytest.mark.parametrize(
    ("bound", "puts"),
    [
        ("self.failed = queue.Queue()", f"{PUT}  # TML307"),
        ("self.failed = failed", "self.failed.append((id(x), error))  # TML307"),
    ],
)
def test_queues_of_ones_own_and_lists(bound: str, puts: str) -> None:
    check(RUNNER.format(params="failed", bound=bound, puts=puts))


BY_NAME = """
class Engine:
    def encode(self, rows):
        x = torch.randn(rows, 64)
        {fails}

    def version(self):
        return 3

class Server:
    def __init__(self):
        self.engine = Engine()
        self.failed = []

    def call(self, name, *args):
        try:
            func = getattr(self.engine, name)
            return func(*args)
        except Exception as error:
            {puts}

def main():
    server = Server()
    for rows in range(1000):
        server.call({given})
"""
FAILS = "raise ValueError(x.shape)"


def test_methods_that_are_asked_for_by_name() -> None:
    puts = "self.failed.append(error)  # TML307"
    check(BY_NAME.format(fails=FAILS, puts=puts, given="'encode', rows"))


@pytest.mark.parametrize(
    ("puts", "given"),
    [
        ("self.failed.append(str(error))", "'encode', rows"),
        ("self.failed.append(error.with_traceback(None))", "'encode', rows"),
        ("self.failed = [error]", "'encode', rows"),
        ("self.failed.append(error)", "'version'"),
    ],
)
def test_methods_whose_frames_go_or_have_no_tensors(puts: str, given: str) -> None:
    check(BY_NAME.format(fails=FAILS, puts=puts, given=given))
