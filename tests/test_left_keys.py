"""What stays as a key when its successor has come, and what is kept by the finalizer that waits for its end."""

import pytest
from snippets import check

IN_LOOPS = {
    "first of a group": """
        for group in self.optimizer.param_groups:
            moved = self.optimizer.state.get(group["params"][0])  # TML317
            if moved is None:
                continue
            moved["exp_avg"] = torch.cat((moved["exp_avg"], torch.zeros_like(rows)))
            group["params"][0] = nn.Parameter(torch.cat((group["params"][0], rows)))
            self.optimizer.state[group["params"][0]] = moved""",
    "first of a group, taken out": """
        for group in self.optimizer.param_groups:
            moved = self.optimizer.state.get(group["params"][0])
            if moved is None:
                continue
            moved["exp_avg"] = torch.cat((moved["exp_avg"], torch.zeros_like(rows)))
            del self.optimizer.state[group["params"][0]]
            group["params"][0] = nn.Parameter(torch.cat((group["params"][0], rows)))
            self.optimizer.state[group["params"][0]] = moved""",
    "numbered groups": """
        optimizer = self.optimizers["points"]
        for number in range(len(optimizer.param_groups)):
            old = optimizer.param_groups[number]["params"][0]
            new = nn.Parameter(torch.cat((old, rows)))
            optimizer.param_groups[number]["params"] = [new]
            optimizer.state[new] = {k: longer(v) for k, v in optimizer.state[old].items()}  # TML317""",
    "numbered groups, taken out": """
        optimizer = self.optimizers["points"]
        for number in range(len(optimizer.param_groups)):
            old = optimizer.param_groups[number]["params"][0]
            new = nn.Parameter(torch.cat((old, rows)))
            optimizer.param_groups[number]["params"] = [new]
            optimizer.state[new] = {k: longer(v) for k, v in optimizer.state.pop(old).items()}""",
    "one by one": """
        states = self.optimizer.state
        for old, new in rows:
            for group in self.optimizer.param_groups:
                group["params"] = [new if one is old else one for one in group["params"]]
            states[new]["exp_avg"] = states[old]["exp_avg"][:4]  # TML317
            states[new]["exp_avg_sq"] = states[old]["exp_avg_sq"][:4]""",
    "one by one, by an alias": """
        states = self.optimizer.state
        for old, new in rows:
            for group in self.optimizer.param_groups:
                group["params"] = [new if one is old else one for one in group["params"]]
            states[new]["exp_avg"] = states[old]["exp_avg"][:4]
            states.pop(old)""",
    "taken out by a helper": """
        for old, new in rows:
            self.optimizer.param_groups[0]["params"] = [new]
            self.optimizer.state[new] = self.optimizer.state[old]
            self.forget(old)

    def forget(self, old):
        self.optimizer.state.pop(old, None)""",
    "beside the old one": """
        for group in self.optimizer.param_groups:
            new = nn.Parameter(rows)
            moved = self.optimizer.state[group["params"][0]]
            group["params"] = group["params"] + [new]
            self.optimizer.state[new] = {k: torch.zeros_like(v) for k, v in moved.items()}""",
    "taking turns": """
        for group in self.optimizer.param_groups:
            group["params"] = self.half
        for whole, half in zip(self.whole, self.half):
            self.optimizer.state[half] = self.optimizer.state[whole]""",
    "still asked for": """
        for group in self.optimizer.param_groups:
            for number, old in enumerate(group["params"]):
                stand_in = torch.fx.Proxy(rows[number])
                self.optimizer.state[stand_in] = self.optimizer.state[old].copy()
                for key, value in self.optimizer.state[old].items():
                    rows.append(key)
                group["params"][number] = stand_in""",
    "a new optimizer": """
        for old, new in rows:
            self.optimizer.param_groups[0]["params"] = [new]
            self.optimizer.state[new] = self.optimizer.state[old]
        self.optimizer = torch.optim.Adam([new for _, new in rows])""",
    "another optimizer": """
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            group["params"] = [nn.Parameter(rows)]
            self.second_optimizer.state[group["params"][0]] = self.second_optimizer.state[old]""",
}
GROWS = """
def longer(value):
    return torch.cat((value, value))


class Points:
    def grow(self, rows):%s
"""


@pytest.mark.parametrize("name", IN_LOOPS)
def test_parameters_that_are_replaced(name: str) -> None:
    check(GROWS % IN_LOOPS[name])


TRAINED = """
def train(weight):
    optimizer = torch.optim.Adam([weight])
    for step in range(100):
        loss = (weight ** 2).sum()
        loss.backward()
%s
        cut = nn.Parameter(weight.detach()[:-1])
        optimizer.param_groups[0]["params"][0] = cut
        optimizer.state[cut] = {k: v[:-1] for k, v in optimizer.state%s.items()}%s
        weight = cut
"""


def test_parameters_that_are_replaced_between_steps() -> None:
    step = "        optimizer.step()"
    check(TRAINED % (step, "[weight]", "  # TML317"))
    check(TRAINED % (step, ".pop(weight)", ""))
    check(TRAINED % ("        optimizer = torch.optim.Adam([weight])\n" + step, "[weight]", ""))


WATCHED = {
    "a table": """
        self.live[id(%(thing)s)] = %(thing)s
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))  # TML314""",
    "an entry": """
        self.live[id(%(thing)s)] = Entry(%(thing)s)
        weakref.finalize(%(thing)s, lambda key=id(%(thing)s): self.forget(key))  # TML314""",
    "pairs": """
        pair = (%(thing)s, 17)
        self.live[len(self.live)] = pair
        weakref.finalize(%(thing)s, functools.partial(self.forget, 3))  # TML314""",
    "the table's method": """
        self.live[id(%(thing)s)] = %(thing)s
        weakref.finalize(%(thing)s, self.live.pop, id(%(thing)s), None)  # TML314""",
    "bound and left": """
        self.live[id(%(thing)s)] = %(thing)s
        closer = weakref.finalize(%(thing)s, self.forget, id(%(thing)s))  # TML314
        closer.atexit = False""",
    "weakly": """
        self.live[id(%(thing)s)] = weakref.ref(%(thing)s)
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))""",
    "another object": """
        first, last = %(thing)s.chunk(2)
        self.live[id(%(thing)s)] = first.transpose(-1, -2).contiguous()
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))""",
    "numbers": """
        self.live[id(%(thing)s)] = str(%(thing)s)
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))""",
    "weak values": """
        self.weak[id(%(thing)s)] = %(thing)s
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))""",
    "weak keys": """
        self.notes[%(thing)s] = 17
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))""",
    "a static method": """
        self.recent.append(%(thing)s)
        weakref.finalize(%(thing)s, self.say, id(%(thing)s))""",
    "a plain function": """
        self.recent.append(%(thing)s)
        weakref.finalize(%(thing)s, print, id(%(thing)s))""",
    "the last one": """
        self.last = %(thing)s
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))""",
    "weak owner": """
        self.live[id(%(thing)s)] = Entry(%(thing)s)
        own = weakref.ref(self)
        weakref.finalize(%(thing)s, lambda key=id(%(thing)s): own().forget(key))

    def release(self, thing):
        self.live.pop(id(thing))""",
    "by hand": """
        self.live[id(%(thing)s)] = %(thing)s
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))

    def release(self, thing):
        self.forget(id(thing))""",
    "evicted": """
        self.live[id(%(thing)s)] = %(thing)s
        weakref.finalize(%(thing)s, self.forget, id(%(thing)s))
        if len(self.live) > 8:
            self.live.popitem()""",
    "detached": """
        self.live[id(%(thing)s)] = %(thing)s
        self.closer = weakref.finalize(%(thing)s, self.forget, id(%(thing)s))

    def close(self):
        self.closer()""",
}
WATCHER = """
import weakref


class Entry:
    def __init__(self, source):
        self.source = source


class Watcher:
    def __init__(self):
        self.live = {}
        self.weak = weakref.WeakValueDictionary()
        self.notes = weakref.WeakKeyDictionary()
        self.recent = deque(maxlen=4)

    def watch(self, %(thing)s):%(body)s

    def forget(self, key):
        self.live.pop(key, None)

    @staticmethod
    def say(key):
        print(key)


watcher = Watcher()
for _ in range(100):
    watcher.watch(%(made)s)
"""


@pytest.mark.parametrize("name", WATCHED)
@pytest.mark.parametrize(("thing", "made"), [("tensor", "torch.rand(8, 8)"), ("model", "Net()")])
def test_finalizers_of_what_their_object_holds(name: str, thing: str, made: str) -> None:
    check(WATCHER % {"thing": thing, "made": made, "body": WATCHED[name] % {"thing": thing}})


OF_THE_OWNER = """
import weakref


class Buffer:
    def __init__(self, shape):
        self.data = torch.zeros(shape)
        weakref.finalize(self.data, %s)%s

    def close(self):
        print(%s)

    @staticmethod
    def report(size):
        print(size)


for _ in range(100):
    Buffer((64, 64))
"""


def test_finalizers_of_an_attribute() -> None:
    check(OF_THE_OWNER % ("self.close", "  # TML314", "17"))
    check(OF_THE_OWNER % ("self.report, 64", "", "17"))
    check((OF_THE_OWNER % ("self.close", "", "17")).replace("        print(17)", "        self.data = None"))
