"""Objects with workers that go on until they are told to stop, and that nobody tells: `# TML408` says what is due."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

PARTS = """
import multiprocessing as mp

CONTEXT = mp.get_context("spawn")

def serve(tasks, answers):
    while True:
        task = tasks.get()
        if task is None:
            return
        answers.put(task + 1)

class Worker:
    def __init__(self):
        self.tasks, self.answers = CONTEXT.Queue(), CONTEXT.Queue()
        self.process = CONTEXT.Process(target=serve, args=(self.tasks, self.answers))
        self.process.start()

    def ask(self, task):
        self.tasks.put(task)
        return self.answers.get()

    def close(self):
        self.tasks.put(None)
        self.process.join()

class Decoder(mp.Process):
    def __init__(self, tasks):
        super().__init__(daemon=True)
        self.tasks = tasks

    def run(self):
        for task in iter(self.tasks.get, None):
            print(task)

class Listed:
    def __init__(self, n):
        self.workers = [Worker() for _ in range(n)]

    def ask(self, task):
        return sum(worker.ask(task) for worker in self.workers)

    def close(self):
        for worker in self.workers:
            worker.close()

class Filled(Listed):
    def __init__(self, n):
        self.workers = []
        for _ in range(n):
            self.workers.append(Worker())

class Decoding:
    def __init__(self):
        self.tasks = mp.Queue()
        self.decoder = Decoder(self.tasks)
        self.decoder.start()

    def ask(self, task):
        self.tasks.put(task)

    def stop(self):
        self.tasks.put(None)

def make(n):
    return Listed(n)

def make_warm(n):
    env = Filled(n)
    env.ask(0)
    return env

"""
LEFT = {
    "a list of parts": "env = Listed(2)  # TML408\nself.seen += env.ask(1)",
    "a list that is filled": "env = Filled(2)  # TML408\nself.seen += env.ask(1)",
    "a process class": "env = Decoding()  # TML408\nenv.ask(1)",
    "from a function": "env = make(2)  # TML408\nself.seen += env.ask(1)",
    "from a function that uses it": "env = make_warm(2)  # TML408\nself.seen += env.ask(1)",
    "from a method": "env = self.new()  # TML408\nself.seen += env.ask(1)",
    "in an attribute": "self.env = Listed(2)  # TML408\nself.seen += self.env.ask(1)",
    "in an attribute, from a function": "self.env = make(2)  # TML408\nself.seen += self.env.ask(1)",
}
ENDED = {
    "closed": "env = Listed(2)\nself.seen += env.ask(1)\nenv.close()",
    "closed in the end": "env = make(2)\ntry:\n    self.seen += env.ask(1)\nfinally:\n    env.close()",
    "handed over": "env = make(2)\nself.use(env)",
    "an attribute that is closed first": "if self.env is not None:\n    self.env.close()\nself.env = make(2)",
    "an attribute that is handed over": "self.env = make(2)\nself.use(self.env)",
}
USER = """
class User:
    def __init__(self):
        self.seen, self.env = 0, None

    def use(self, env):
        self.seen += env.ask(1)
        env.close()

    def new(self):
        return Listed(2)

    def work(self):
{}

def main(epochs):
    user = User()
    for _ in range(epochs):
        user.work()
"""


def program(body: str) -> str:
    return PARTS + USER.format(textwrap.indent(body, "        "))


@pytest.mark.parametrize("case", LEFT)
def test_parts_that_are_left_running(case: str) -> None:
    check(program(LEFT[case]))


@pytest.mark.parametrize("case", ENDED)
def test_parts_that_are_ended(case: str) -> None:
    check(program(ENDED[case]))


def test_parts_that_are_made_once() -> None:
    for case in LEFT.values():
        once = program(case).replace("    for _ in range(epochs):", "    if epochs:").replace("  # TML408", "")
        check(once)


def test_workers_that_end_with_their_pipe() -> None:
    piped = program(LEFT["a list of parts"]).replace("task = tasks.get()", "task = tasks.recv()")
    check(piped)
    piped = piped.replace("  # TML408", "")
    check(piped.replace("    while True:\n", "    answers.close()\n    while True:\n"))


ENVIRONMENTS = """
import multiprocessing as mp
from multiprocessing import Pipe, Process

def serve(remote, parent, seed):
    parent.close()
    while True:
        command, data = remote.recv()
        if command == "close":
            remote.close()
            break
        remote.send(data + seed)

class Envs:
    def __init__(self, seeds):
        %s

    def step(self, data):
        for remote in self.remotes:
            remote.send(("step", data))
        return [remote.recv() for remote in self.remotes]

    def close(self):
        for remote in self.remotes:
            remote.send(("close", None))
        for process in self.processes:
            process.join()

def evaluate(policy, seed):
    envs = Envs([seed, seed + 1])%s
    score = sum(envs.step(policy))
    return score

for number in range(100):
    print(evaluate(number, number))
"""
ALL_PIPES_FIRST = {
    "zip": """self.remotes, ends = zip(*[mp.Pipe() for _ in seeds])
        self.processes = [mp.Process(target=serve, args=(e, r, s)) for e, r, s in zip(ends, self.remotes, seeds)]
        for process in self.processes:
            process.start()""",
    "two loops": """self.remotes, self.processes, ends = [], [], []
        for _ in seeds:
            remote, end = Pipe()
            self.remotes.append(remote)
            ends.append(end)
        for remote, end, seed in zip(self.remotes, ends, seeds):
            process = Process(target=serve, args=(end, remote, seed), daemon=True)
            process.start()
            self.processes.append(process)""",
    "started later": """self.remotes, self.processes = [], []
        for seed in seeds:
            remote, end = mp.Pipe()
            self.remotes.append(remote)
            self.processes.append(Process(target=serve, args=(end, remote, seed)))
        for process in self.processes:
            process.start()""",
    "pipes kept": """pipes = [Pipe() for _ in range(len(seeds))]
        self.remotes = [pipe[0] for pipe in pipes]
        self.processes = [Process(target=serve, args=(p[1], p[0], s)) for p, s in zip(pipes, seeds)]
        [process.start() for process in self.processes]""",
}
ONE_BY_ONE = {
    "one loop": """self.remotes, self.processes = [], []
        for seed in seeds:
            remote, end = mp.Pipe()
            process = mp.Process(target=serve, args=(end, remote, seed))
            process.start()
            self.remotes.append(remote)
            self.processes.append(process)""",
    "spawned": """self.remotes, ends = zip(*[mp.Pipe() for _ in seeds])
        context = mp.get_context("spawn")
        self.processes = [context.Process(target=serve, args=(e, r, s)) for e, r, s in zip(ends, self.remotes, seeds)]
        for process in self.processes:
            process.start()""",
    "one": """remote, end = Pipe()
        self.remotes, self.processes = [remote], [Process(target=serve, args=(end, remote, seeds[0]))]
        self.processes[0].start()""",
}


@pytest.mark.parametrize("name", ALL_PIPES_FIRST)
def test_forked_workers_that_hold_each_others_pipes(name: str) -> None:
    check(ENVIRONMENTS % (ALL_PIPES_FIRST[name], "  # TML408"))
    closed = (ENVIRONMENTS % (ALL_PIPES_FIRST[name], "")).replace(
        "    return score", "    envs.close()\n    return score"
    )
    check(closed)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_workers_that_end_with_their_own_pipe(name: str) -> None:
    check(ENVIRONMENTS % (ONE_BY_ONE[name], ""))


@pytest.mark.parametrize(("method", "due"), [('"fork"', "  # TML408"), ('"forkserver"', ""), ("", "")])
def test_workers_of_a_context(method: str, due: str) -> None:
    made = ALL_PIPES_FIRST["zip"].replace("mp.Process", f"mp.get_context({method}).Process")
    named = made.replace(f"mp.get_context({method})", "ctx")
    check(ENVIRONMENTS % (f"ctx = mp.get_context({method})\n        {named}", due))


@pytest.mark.parametrize(
    ("made", "given", "due"),
    [
        ("", "", "  # TML408"),
        ("", ", start_method='spawn'", ""),
        ("if len(seeds) > 8:\n            start_method = 'spawn'\n        ", "", ""),
    ],
)
def test_workers_of_a_context_by_default(made: str, given: str, due: str) -> None:
    made += "ctx = mp.get_context(start_method)\n        "
    made += ALL_PIPES_FIRST["zip"].replace("mp.Process", "ctx.Process")
    program = (ENVIRONMENTS % (made, due)).replace("(self, seeds)", "(self, seeds, start_method='fork')")
    check(program.replace("seed + 1])", f"seed + 1]{given})"))


FACTORY = """
def make_envs(seed, count=2, env_cls=Envs):
    {}

def evaluate"""


@pytest.mark.parametrize(
    "body",
    ["return env_cls([seed + n for n in range(count)])", "envs = env_cls([seed, count])\n    return envs"],
)
@pytest.mark.parametrize(
    ("given", "due"), [("", "  # TML408"), (", 3", "  # TML408"), (", 3, list", ""), (", env_cls=list", "")]
)
def test_workers_of_a_class_by_default(body: str, given: str, due: str) -> None:
    program = (ENVIRONMENTS % (ALL_PIPES_FIRST["zip"], due)).replace("\ndef evaluate", FACTORY.format(body))
    program = program.replace("Envs([seed, seed + 1])", f"make_envs(seed{given})")
    check(program)
    check(program.replace("  # TML408", "").replace("    return score", "    envs.close()\n    return score"))


POLLERS = """
import threading

class Poller(threading.Thread):
    def __init__(self, model):
        super().__init__(daemon=True)
        self.model, self.done = model, threading.Event()

    def run(self):
        while not self.done.is_set():
            self.done.wait(1.0)

    def stop(self):
        self.done.set()

class Watch:
    def __init__(self, model):
        self.poller = Poller(model)
        self.poller.start()

    def close(self):
        self.poller.stop()
        self.poller.join()

def evaluate(model, x):
    {made}
    score = model(x).mean().item()
    {end}
    return score

def main(batches):
    model = Net().eval().requires_grad_(False)
    for x in batches:
        print(evaluate(model, x))
"""


def test_threads_by_their_class() -> None:
    started = "poller = Poller(model)%s\n    poller.start()"
    check(POLLERS.format(made=started % "  # TML505", end="pass"))
    check(POLLERS.format(made=started % "", end="poller.stop()"))
    check(POLLERS.format(made="watch = Watch(model)  # TML505", end="pass"))
    check(POLLERS.format(made="watch = Watch(model)", end="watch.close()"))


SUPPLIED = """
import multiprocessing as mp

def read_on(paths, out):
    while True:
        for path in paths:
            {reads}

class Reader:
    def __init__(self, paths):
        self.out = mp.Queue(2)
        self.process = mp.Process(target=read_on, args=(paths, self.out), daemon=True)
        self.process.start()

    def take(self):
        return self.out.get()

    def stop(self):
        self.process.terminate()

class Shards:
    def __init__(self, paths):
        self.paths, self.reader = paths, None

    def __iter__(self):
        {made}
        for _ in range(4):
            yield self.reader.take()
        {after}
"""


@pytest.mark.parametrize(
    ("made", "reads", "after"),
    [
        ("self.reader = Reader(self.paths)  # TML408", "out.put(path)", "pass"),
        ("self.reader = Reader(self.paths)", "out.put(path)", "self.reader.stop()"),
        ("self.reader = self.reader or Reader(self.paths)", "out.put(path)", "pass"),
        ("if self.reader is None: self.reader = Reader(self.paths)", "out.put(path)", "pass"),
        ("self.reader = Reader(self.paths)", "out.put(path)\n        return", "pass"),
        ("self.reader = Reader(self.paths)", "print(path)", "pass"),
    ],
)
def test_processes_that_supply_what_is_gone_through(made: str, reads: str, after: str) -> None:
    check(SUPPLIED.format(made=made, reads=reads, after=after))


GONE_OVER = SUPPLIED.replace(
    "    def stop(self):", "    def __iter__(self):\n        {over}\n\n    def stop(self):", 1
).replace("for _ in range(4):\n            yield self.reader.take()", "{goes}")
TAKES = "yield self.take()"
LAST = "yield self.take()\n        self.process.terminate()"
TOLD = "yield self.take()\n        self.told.put(None)"
OVER = "yield from self.reader"
EACH = "for item in self.reader: yield item"
ROUNDS = "for _ in range(3):\n            {}\n            yield from reader"
DUE = "self.reader = Reader(self.paths)  # TML408"
FINE = "self.reader = Reader(self.paths)"


@pytest.mark.parametrize(
    ("made", "over", "goes"),
    [
        (DUE, TAKES, OVER),
        (DUE, TAKES, EACH),
        ("pass", TAKES, ROUNDS.format("reader = Reader(self.paths)  # TML408")),
        (FINE, LAST, OVER),
        (FINE, TOLD, EACH),
        (FINE, TAKES, "yield from take_all(self.reader)"),
        (f"{FINE}; self.all.append(self.reader)", TAKES, OVER),
        ("pass", LAST, ROUNDS.format("reader = Reader(self.paths)")),
    ],
)
def test_processes_of_what_is_only_gone_over(made: str, over: str, goes: str) -> None:
    check(GONE_OVER.format(made=made, over=over, goes=goes, reads="out.put(path)", after="pass"))


WRAPPED = """
class Tensors:
    def __init__(self, env):
        self.env = env

    def ask(self, task):
        return torch.tensor(self.env.ask(task))

    {end}

def make_tensors(n):
    return Tensors(Listed(n))

def evaluate(n):
    env = {made}
    found = env.ask(n)
    {after}
    return found

for n in range(9):
    evaluate(n)
"""


@pytest.mark.parametrize(
    ("made", "after", "end"),
    [
        ("make_tensors(2)  # TML408", "pass", "def close(self): self.env.close()"),
        ("Tensors(Listed(2))  # TML408", "pass", "def close(self): self.env.close()"),
        ("make_tensors(2)", "env.close()", "def close(self): self.env.close()"),
        ("make_tensors(2)", "pass", "def __del__(self): self.env.close()"),
    ],
)
def test_what_is_given_workers_where_they_are_made(made: str, after: str, end: str) -> None:
    check(PARTS + WRAPPED.format(made=made, after=after, end=end))
