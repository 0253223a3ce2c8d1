"""Whose frames a kept traceback keeps: that of the clause itself, of generators that are gone on with, of fallbacks."""

import pytest
from snippets import check

KEPT = {
    "the frame of the clause has tensors": """
        @dataclass
        class Tuner:
            fn: object
            failures: dict = field(default_factory=dict)

            def bench(self, name, size):
                a = torch.randn(size, size)
                try:
                    self.fn(a)
                except ValueError as error:
                    self.failures[name] = error  # TML307
        """,
    "a function that a dataclass is made with": """
        @dataclass
        class Tuner:
            fn: object
            failures: dict = field(default_factory=dict)

            def bench(self, name, size):
                try:
                    self.fn(size)
                except ValueError as error:
                    self.failures[name] = error  # TML307

        def attempt(size):
            return Net()(torch.randn(size, 8))

        tuner = Tuner(attempt)
        """,
    "a generator that the object was made with": """
        class Task:
            def __init__(self, steps):
                self.steps, self.error = steps, None

            def advance(self):
                try:
                    next(self.steps)
                except Exception as error:
                    self.finish(error)  # TML307

            def finish(self, error):
                self.error = error

        def embed(model, rows):
            x = torch.rand(rows, 8)
            yield
            return model(x)

        def run(model, requests):
            tasks = []
            for rows in requests:
                tasks.append(Task(embed(model, rows)))
            for task in tasks:
                task.advance()
            return [task.error is None for task in tasks]
        """,
}
NOT_KEPT = {
    "the frame of the clause has numbers": """
        @dataclass
        class Tuner:
            fn: object
            failures: dict = field(default_factory=dict)

            def bench(self, name, size):
                try:
                    self.fn(size)
                except ValueError as error:
                    self.failures[name] = error
        """,
    "one task at a time": """
        class Task:
            def __init__(self, steps):
                self.steps, self.error = steps, None

            def advance(self):
                try:
                    next(self.steps)
                except Exception as error:
                    self.finish(error)

            def finish(self, error):
                self.error = error

        def embed(model, rows):
            yield
            return model(torch.rand(rows, 8))

        def run(model, requests):
            for rows in requests:
                Task(embed(model, rows)).advance()
        """,
    "a generator of lines": """
        class Task:
            def __init__(self, steps):
                self.steps, self.errors = steps, []

            def advance(self):
                try:
                    next(self.steps)
                except Exception as error:
                    self.errors.append(error)

        def lines(path):
            for line in open(path):
                yield int(line)

        tasks = [Task(lines(path)) for path in ("a", "b")]
        """,
}
FALLBACK = """
class Service:
    def __init__(self, model):
        self.model = model

    def tiled(self, image, tile):
        with torch.no_grad():
            return torch.cat([self.model(part) for part in image.split(tile)])%s

    def handle(self, image):
        out = None
        try:
            with torch.no_grad():
                out = self.model(image)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            %s
        return self.tiled(image, 8) if out is None else out
"""


@pytest.mark.parametrize("case", KEPT)
def test_frames_that_are_kept(case: str) -> None:
    check("from dataclasses import dataclass, field\n" + "\n".join(line[8:] for line in KEPT[case].splitlines()))


@pytest.mark.parametrize("case", NOT_KEPT)
def test_frames_that_are_not(case: str) -> None:
    check("from dataclasses import dataclass, field\n" + "\n".join(line[8:] for line in NOT_KEPT[case].splitlines()))


@pytest.mark.parametrize(
    ("made", "clause"),
    [
        ("", "out = self.tiled(image, 8)  # TML307"),
        ("", "print(error)"),
        (".cpu()", "out = self.tiled(image, 8)"),  # another device has room
        ("", "out = self.model.cpu() and self.tiled(image, 8)"),
        ("", "raise ValueError(self.tiled) from error"),
    ],
)
def test_another_way_inside_the_clause(made: str, clause: str) -> None:
    check(FALLBACK % (made, clause))


NAMED = """
OUT_OF_ROOM = (torch.cuda.OutOfMemoryError, MemoryError)
MISSING = (KeyError, IndexError)

class Decoder:
    def __init__(self, model):
        self.model = model

    def tiled(self, image, n):
        return torch.cat([self.model(part) for part in image.split(n)])

    def run(self, image):
        try:
            out = self.model(image)
        except %s:
            out = self.tiled(image, 8)%s
        return out
"""


@pytest.mark.parametrize(
    ("caught", "mark"),
    [
        ("OUT_OF_ROOM", "  # TML307"),
        ("memory.OOM_EXCEPTION", "  # TML307"),
        ("OomError", "  # TML307"),
        ("MISSING", ""),
        ("RoomError", ""),
    ],
)
def test_names_that_stand_for_an_error_about_memory(caught: str, mark: str) -> None:
    check(NAMED % (caught, mark))


CALLED = """
def first_failure(calls):
    for call in calls:
        try:
            call()
        except ValueError as error:
            return False, error
    return True, None

def prepare(worker):
    return worker.open()

class Group:
    def __init__(self, model, workers):
        self.model, self.workers, self.last = model, workers, None

    def step(self, x):
        if len(x) > 8:
            raise ValueError(x)
        return self.model(x)

    def run(self, batch):
        calls = [%s for worker in self.workers]
        ok, error = first_failure(calls)
        self.last = error%s
"""


@pytest.mark.parametrize(
    ("call", "mark"),
    [("lambda: self.step(batch)", "  # TML307"), ("lambda: prepare(worker)", "")],
)
def test_a_list_of_functions_that_is_handed_in(call: str, mark: str) -> None:
    check(CALLED % (call, mark))


READ = """
class Shards:
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        while True:
            yield %s

class Prefetcher:
    def __init__(self, source):
        self.source, self.errors = source, []

    def work(self, out):
        try:
            for batch in self.source:
                out.send(batch)
        except Exception as error:
            self.errors.append(error)%s

prefetcher = Prefetcher(Shards(64))
"""


@pytest.mark.parametrize(("item", "mark"), [("torch.rand(self.rows, 64)", "  # TML307"), ("str(self.rows)", "")])
def test_an_object_that_is_gone_through(item: str, mark: str) -> None:
    check(READ % (item, mark))


def test_a_ticket_that_goes_through_a_queue() -> None:
    text = """
    class Ticket:
        def fail(self, error):
            self.error = error

    class Server:
        def __init__(self, model, inbox):
            self.model, self.inbox = model, inbox

        def submit(self, x):
            ticket = Ticket()
            self.inbox.put((x, ticket))
            return ticket

        def serve_one(self, x, ticket):
            try:
                ticket.value = self.model(x).item()
            except ValueError as error:
                ticket.fail(error)
    """
    check(text)


FIRST_THAT_FITS = """
def first_that_fits(run, plans):
    last = None
    for plan in plans:
        try:
            return run(plan)
        except RuntimeError as error:
            last = error{told}
    raise RuntimeError("nothing fits") from last

def attempt(model, x, rows):
    return model(x[:rows]).sum()

def parse(text):
    return int(text)

def main(model, x, plans):
    return first_that_fits(lambda plan: {given}, plans)
"""


@pytest.mark.parametrize(("given", "told"), [("attempt(model, x, plan)", "  # TML307"), ("parse(plan)", "")])
def test_the_last_error_of_a_function_that_is_handed_in(given: str, told: str) -> None:
    check(FIRST_THAT_FITS.format(given=given, told=told))


ON_THE_WRAPPER = """
import sys

def noting(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        try:
            return fn(*args)
        except OSError as error:
            wrapper.failures.append({kept}){told}
            return None

    wrapper.failures = []
    return wrapper

@noting
def embed(model, path):
    return model(torch.load(path)).mean().item()

def forget():
    {forgotten}

def main(model, paths):
    return [embed(model, path) for path in paths]
"""


@pytest.mark.parametrize(
    ("kept", "forgotten", "told"),
    [
        ("sys.exc_info()", "pass", "  # TML307"),
        ("error", "pass", "  # TML307"),
        ("str(error)", "pass", ""),
        ("error", "embed.failures = []", ""),
    ],
)
def test_errors_on_what_a_decorator_makes(kept: str, forgotten: str, told: str) -> None:
    check(ON_THE_WRAPPER.format(kept=kept, forgotten=forgotten, told=told))


HANDED_ON = """
def in_pieces(function, boxes, others):
    return torch.cat([function(part, others) for part in boxes.chunk(4)])

def describe(function, boxes, others):
    print(function.__name__, len(boxes), len(others))

def retry_when_full(function):
    @functools.wraps(function)
    def wrapped(*args):
        try:
            return function(*args)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            torch.cuda.empty_cache()
            {clause}
        {below}
    return wrapped
"""


@pytest.mark.parametrize(
    ("clause", "below"),
    [
        ("return in_pieces(function, *args)  # TML307", "pass"),
        ("pass", "return in_pieces(function, *args)"),
        ("describe(function, *args)", "return in_pieces(function, *args)"),
        ("failed.append(function)", "return in_pieces(function, *args)"),
        ("return in_pieces(function, *(part.cpu() for part in args))", "pass"),
        ("return in_pieces(function, *map_to_cpu(args))", "pass"),  # where there is room
    ],
)
def test_what_was_tried_is_handed_on(clause: str, below: str) -> None:
    check(HANDED_ON.format(clause=clause, below=below))


ROUTES = """
from typing import NamedTuple

class Route(NamedTuple):
    name: str
    run: object

def exact(x: torch.Tensor):
    wide = x.repeat(4, 1)
    if len(wide) > 64:
        raise ValueError(wide.shape)
    return wide

def sketched(x: torch.Tensor):
    return x @ x.T

def whole(text):
    return int(text)

def broken(text):
    return float(text)

LISTED: tuple = (Route("exact", exact), Route("sketched", sketched))
NAMED = {{"exact": exact, "sketched": sketched}}
READERS = (Route("whole", whole), Route("broken", broken))

def first(routes, x):
    failed = None
    here = [exact, sketched]
    for {routes}:
        try:
            return name, run(x)
        except ValueError as error:
            {kept}
    raise TypeError("none of them does") from failed

def main(steps, text):
    for _ in range(steps):
        first({given})
"""
TENSORS = {
    "of the module": ("name, run in LISTED", "None, torch.randn(4, 8)"),
    "that it is given": ("name, run in routes", "LISTED, torch.randn(4, 8)"),
    "numbered": ("i, (name, run) in enumerate(routes)", "LISTED, torch.randn(4, 8)"),
    "by name": ("name, run in NAMED.items()", "None, torch.randn(4, 8)"),
    "of its own": ("name, run in enumerate(here)", "None, torch.randn(4, 8)"),
}
TEXTS = {
    "of the module": ("name, run in READERS", "None, text"),
    "that it is given": ("name, run in routes", "READERS, text"),
    "numbered": ("i, (name, run) in enumerate(routes)", "READERS, text"),
}


@pytest.mark.parametrize("routes, given", TENSORS.values(), ids=TENSORS)
def test_one_of_several_functions_in_a_table(routes: str, given: str) -> None:
    check(ROUTES.format(routes=routes, given=given, kept="failed = error  # TML307"))
    check(ROUTES.format(routes=routes, given=given, kept="failed = error.with_traceback(None)"))
    check(ROUTES.format(routes=routes, given=given, kept="failed = TypeError(str(error))"))


@pytest.mark.parametrize("routes, given", TEXTS.values(), ids=TEXTS)
def test_one_of_several_functions_without_tensors(routes: str, given: str) -> None:
    check(ROUTES.format(routes=routes, given=given, kept="failed = error").replace("[exact, sketched]", "[whole]"))
