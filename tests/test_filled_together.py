"""Tables that are filled together, of which one way out empties only some."""

import pytest
from snippets import check

SCHEDULER = """
class Scheduler:
    def __init__(self):
        self.running, self.states = [], {{}}

    def add(self, request):
        self.running.append(request)

    def keep(self, rid, state):
        self.states[rid] = state{mark}

    def finish(self, request):
        self.running.remove(request)
        self.states.pop(request.rid)

    def {name}(self, rid):
        {ends}

def main(requests):
    net, scheduler = Net().eval(), Scheduler()
    for request in requests:
        scheduler.add(request)
        with torch.no_grad():
            scheduler.keep(request.rid, net(request.x))
        if request.{name}ed:
            scheduler.{name}(request.rid)
        else:
            scheduler.finish(request)
"""
ALONE = "self.running = [r for r in self.running if r.rid != rid]"


def test_who_gives_up_is_taken_out_of_one_table_only() -> None:
    check(SCHEDULER.format(name="abort", ends=ALONE, mark="  # TML311"))
    check(SCHEDULER.format(name="abort", ends=ALONE + "; self.states.pop(rid, None)", mark=""))
    check(SCHEDULER.format(name="abort", ends=ALONE + "; self.forget(rid)\n"
                           "\n    def forget(self, rid):\n        del self.states[rid]", mark=""))  # fmt: skip


def test_an_entry_that_only_waits_or_goes_on_elsewhere() -> None:
    check(SCHEDULER.format(name="preempt", ends=ALONE, mark=""))
    check(SCHEDULER.format(name="abort", ends=ALONE + "; self.later.append(rid)", mark=""))
    check(SCHEDULER.format(name="abort", ends=ALONE + "; return self.states[rid]", mark=""))
    check(SCHEDULER.format(name="abort", ends="self.running = [r for r in self.running if r.alive]", mark=""))


MODELS = """
LOADED, SAMPLERS = {{}}, {{}}

def sample(net, x):
    return x - net(x)

def load(name):
    net = Net().eval()
    LOADED[name] = net
    SAMPLERS[name, "euler"] = functools.partial(sample, net){mark}

def unload(name):
    {unload}

def main(names):
    for name in names:
        load(name)
        unload(name)
"""


def test_names_of_what_is_unloaded_again() -> None:
    check(MODELS.format(unload="LOADED.pop(name)", mark="  # TML301"))
    check(MODELS.format(unload="del LOADED[name]", mark="  # TML301"))
    check(MODELS.format(unload="LOADED.pop(name); del SAMPLERS[name, 'euler']", mark=""))
    check(MODELS.format(unload="LOADED[name].cpu()", mark=""))  # one entry for each name, and the names stay few


BESIDE = """
class Streams:
    def __init__(self):
        self.states, self.rates = {{}}, {{}}

    def begin(self, stream, rate):
        self.rates[stream] = rate
        self.states[stream] = torch.zeros(64, rate){told}

    def end(self, stream):
        del self.rates[{ended}]

def main():
    streams = Streams()
    for stream in range(1000):
        streams.begin(stream, 16)
        streams.end(stream)
"""


@pytest.mark.parametrize(("key", "told"), [("stream", "  # TML311"), ("self", "")])
def test_keys_that_go_from_the_table_beside(key: str, told: str) -> None:
    text = BESIDE if key == "stream" else BESIDE.replace("del self.rates[{ended}]", "print(self.rates)")
    check(text.format(told=told, ended=key))


MOVED = """
class Job:
    def __init__(self, {key}, rows):
        self.{key}, self.rows, self.steps = {key}, rows, 0

class Scheduler:
    def __init__(self):
        self.running, self.finished = {{}}, {{}}

    def add(self, job: Job):
        self.running[job.{key}] = job

    def step(self):
        for {key} in [one for one, job in self.running.items() if job.steps > 3]:
            {moves}
        for job in self.running.values():
            job.steps += 1
        {after}

def main(starts):
    scheduler = Scheduler()
    for {key} in starts:
        scheduler.add(Job({key}, torch.randn(64, 64)))
        scheduler.step()
"""


@pytest.mark.parametrize(
    "moves",
    [
        "self.finished[ident] = self.running.pop(ident)  # TML311",
        "done = self.running.pop(ident); self.finished[ident] = done  # TML311",
        "self.finished[ident] = self.running[ident]; del self.running[ident]  # TML311",
    ],
)
def test_what_goes_from_one_table_into_another_comes_and_goes(moves: str) -> None:
    check(MOVED.format(key="ident", moves=moves, after="pass"))


def test_what_goes_into_another_table_and_on_from_there() -> None:
    moves = "self.finished[ident] = self.running.pop(ident)"
    check(MOVED.format(key="ident", moves=moves, after="self.finished.clear()"))
    check(MOVED.format(key="ident", moves="self.finished[ident] = self.running.pop(ident).steps", after="pass"))
    check(MOVED.format(key="stage", moves=moves.replace("ident", "stage"), after="pass"))
