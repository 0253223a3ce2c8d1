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
