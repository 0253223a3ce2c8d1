"""What reaches a table by a way of its own: `__missing__`, and a second table beside the one that is emptied."""

from snippets import check

ON_DEMAND = """
import multiprocessing

class Tiles(dict):
    def __missing__(self, key):
        {}
        tile = self[key] = torch.rand(3, 64, 64){}
        return tile

class Codes(dict):
    def __missing__(self, label):
        self[label] = code = len(self)
        return code

TILES, CODES = Tiles(), Codes()

def work(index):
    return float(TILES[index].mean()) + CODES[str(index % 3)]

def main(steps):
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.imap(work, range(steps))))
"""


def test_a_table_that_makes_what_is_missing() -> None:
    check(ON_DEMAND.format("pass", "  # TML401"))
    check(ON_DEMAND.format("if len(self) > 8:\n            self.clear()", ""))


BESIDE = """
class Processor:
    def __init__(self, net):
        self.net = net.eval()

    def stop(self):
        self.net = None

class Manager:
    def __init__(self):
        self.nets, self.processors = {{}}, {{}}

    def load(self, model_id):
        net = Net()
        self.nets[model_id] = net
        self.processors[model_id] = Processor(net){mark}
        return self.processors[model_id]

    def unload(self, model_id):
        net = self.nets.pop(model_id)
        {unload}
        del net

def main(steps):
    manager = Manager()
    for step in range(steps):
        manager.load("net-%d" % step)
        manager.unload("net-%d" % step)
"""


def test_a_second_table_keeps_what_the_first_lets_go() -> None:
    check(BESIDE.format(unload="pass", mark="  # TML311"))
    check(BESIDE.format(unload="self.processors.pop(model_id).stop()", mark=""))


FEEDS = """
from torch.utils.data import DataLoader

class Feed:
    def __init__(self, loader):
        self.loader = loader
        self.batches = iter(loader)

    def stop(self):
        self.loader = self.batches = None

class Study:
    def __init__(self, data):
        self.data, self.feeds = data, {{}}
        self.shared = DataLoader(data, num_workers=2, persistent_workers=True)

    def fold(self, index):
        loader = {made}
        self.feeds[index] = Feed(loader){mark}
        return next(self.feeds[index].batches)

def main(data, folds):
    study = Study(data)
    for index in range(folds):
        study.fold(index)
    {end}
"""
OWN = "DataLoader(self.data, num_workers=2, persistent_workers=True)"


def test_loaders_inside_of_objects_that_pile_up() -> None:
    check(FEEDS.format(made=OWN, mark="  # TML408", end="pass"))
    check(FEEDS.format(made=OWN, mark="", end="for feed in study.feeds.values():\n        feed.stop()"))
    check(FEEDS.format(made="self.shared", mark="", end="pass"))
    check(FEEDS.format(made="DataLoader(self.data, num_workers=2)", mark="", end="pass"))


REDUCED = """
import torch.distributed as dist

class Reducer:
    def __init__(self, module):
        self.pending, self.sizes = [], []
        for param in module.parameters():
            param.{register}(self.reduce)

    def reduce(self, param):
        flat = param.grad.detach().double()
        self.sizes.append(flat.numel())
        self.pending.append((dist.all_reduce(flat, async_op=True), flat)){mark}

    def finish(self):
        for work, flat in self.pending:
            work.wait()
        {end}
"""


def test_what_a_hook_of_each_pass_adds() -> None:
    hook = "register_post_accumulate_grad_hook"
    check(REDUCED.format(register=hook, mark="  # TML303", end="pass"))
    check(REDUCED.format(register=hook, mark="", end="self.pending = []"))
    check(REDUCED.format(register="remember", mark="", end="pass"))


GATHERED = """
import torch.distributed as dist

class Evaluator:
    def __init__(self, model, world):
        self.model, self.world, self.outputs = model.eval(), world, []

    def gather(self, value):
        parts = [None] * self.world
        dist.all_gather_object(parts, value)
        return parts

    @torch.no_grad()
    def evaluate(self, batches):
        for batch in batches:
            scores = self.model(batch).softmax(-1)
            self.outputs += [{kept} for part in self.gather(scores)]{mark}

def main(model, epochs, batches):
    evaluator = Evaluator(model, 4)
    for epoch in range(epochs):
        evaluator.evaluate(batches)
        {end}
"""


def test_what_the_ranks_have_sent() -> None:
    check(GATHERED.format(kept="part.cpu()", mark="  # TML303", end="print(epoch)"))
    check(GATHERED.format(kept="part.mean().item()", mark="", end="print(epoch)"))
    check(GATHERED.format(kept="part.cpu()", mark="", end="evaluator.outputs.clear()"))


GATHERED_WHOLE = """
class Store:
    def __init__(self):
        self.full, self.count = {{}}, 0

class Whole:
    def __init__(self, store, parts, writes=False):
        self.store, self.parts, self.writes = store, parts, writes

    def __enter__(self):
        self.store.count += 1
        self.token = self.store.count
        self.store.full[self.token] = torch.cat(self.parts){mark}
        return self.store.full[self.token]

    def __exit__(self, *exc):
        {leave}

def main(store, parts, steps):
    store = Store()
    for step in range(steps):
        with Whole(store, [torch.randn(64) for _ in range(4)]) as whole:
            print(whole.norm().item())
"""
RETURNS = "if not self.writes:\n            return"
POPS = "whole = self.store.full.pop(self.token)"


def test_entries_of_a_block_that_its_end_returns_before() -> None:
    check(GATHERED_WHOLE.format(mark="  # TML311", leave=f"{RETURNS}\n        {POPS}"))
    check(GATHERED_WHOLE.format(mark="", leave=f"{POPS}\n        {RETURNS}"))
    check(GATHERED_WHOLE.format(mark="", leave=f"if not self.token:\n            return\n        {POPS}"))


REBUILT = """
class Shards:
    def __init__(self):
        self.shards = {}

    def scatter(self, name, full):
        self.shards[name] = [part.clone() for part in full.flatten().chunk(2)]

def main(steps):
    store = Shards()
    for _ in range(steps):
        for name in ("weight", "bias"):
            store.scatter(name, torch.randn(64))
"""


def test_lists_that_replace_those_of_a_table() -> None:
    check(REBUILT)
