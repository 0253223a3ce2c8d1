"""Tables that have an entry for each name, in the words of everyday code: guilty forms, innocent twins.

A trailing `# TML101` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

# -- an entry that is made where there is none yet ------------------------------------------------

EVALUATOR = """
class Evaluator:
    def update(self, key, stat, metrics):
        {begin}
        metrics[key]["total"] += stat  {mark}
        metrics[key]["count"] += 1
        return metrics

def train(loader, optimizer):
    net, evaluator, metrics = Net(), Evaluator(), {{}}
    for x, y in loader:
        loss = F.l1_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics = evaluator.update("loss", {given}, metrics)
    return {{name: float(entry["total"]) for name, entry in metrics.items()}}
"""
WHERE_MISSING = 'if key not in metrics: metrics[key] = {"total": 0, "count": 0}'


@pytest.mark.parametrize(
    ("begin", "given", "mark"),
    [
        (WHERE_MISSING, "loss", "# TML101"),
        ('metrics[key] = {"total": 0, "count": 0} if key not in metrics else metrics[key]', "loss.item()", ""),
        ('metrics.setdefault(key, {"total": 0, "count": 0})', "loss", "# TML101"),
        ('if not (key in metrics): metrics[key] = {"total": 0, "count": 0}', "loss", "# TML101"),
        (WHERE_MISSING, "loss.item()", ""),
        ('metrics[key] = {"total": 0, "count": 0}', "loss", ""),
    ],
)
def test_an_entry_that_is_made_once(begin: str, given: str, mark: str) -> None:
    check(EVALUATOR.format(begin=begin, given=given, mark=mark))


# -- a total that comes back from what adds to it -------------------------------------------------

TOTALS = """
def add(totals, key, value):
    totals[key] = totals.get(key, 0) + value  {mark}
    return totals

def train(loader, optimizer):
    net, totals = Net(), {{"loss": 0}}
    for x, y in loader:
        loss = F.l1_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals = add(totals, "loss", {given})
    return float(totals["loss"])
"""


@pytest.mark.parametrize(("given", "mark"), [("loss", "# TML101"), ("loss.item()", "")])
def test_a_table_that_comes_back_is_said_once(given: str, mark: str) -> None:
    check(TOTALS.format(given=given, mark=mark))


# -- a list for each name -------------------------------------------------------------------------

BUFFERS = """
class Buffers:
    def __init__(self):
        self.columns = {made}

    def add(self, **values):
        for name, value in values.items():
            self.columns[name].append(value)  {mark}

    def build(self, names):
        return {{name: torch.cat(self.columns[name]) for name in names}}

def learn(loader, optimizer):
    net, critic, buffers = Net(), Net(), Buffers()
    for seen in loader:
        buffers.add(seen=seen, value={value})
    batch = buffers.build(["seen", "value"])
    loss = (net(batch["seen"]) - {target}).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "value", "target", "mark"),
    [
        ("defaultdict(list)", "critic(seen)", 'batch["value"].detach()', "# TML102"),
        ('{"seen": [], "value": []}', "critic(seen)", 'batch["value"].detach()', "# TML102"),
        ("defaultdict(list)", "critic(seen).detach()", 'batch["value"]', ""),
        ("defaultdict(list)", "critic(seen)", 'batch["value"]', ""),
    ],
)
def test_a_list_for_each_name(made: str, value: str, target: str, mark: str) -> None:
    check(BUFFERS.format(made=made, value=value, target=target, mark=mark))


EMPTIED = """
class Trainer:
    def __init__(self, optimizer):
        self.net, self.optimizer, self.log = Net(), optimizer, defaultdict(list)

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for x, y in loader:
                out = self.net(x)
                loss = F.mse_loss(out, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.log["out"].append(out.detach())  {mark}
                self.log["loss"].append(loss.item())
            {end}
"""


@pytest.mark.parametrize(
    ("end", "mark"),
    [
        ("print(len(self.log['out']))", "# TML303"),
        ("for name in self.log: self.log[name] = []", ""),
        ("for name in list(self.log): self.log[name] = []", ""),
        ("for name in sorted(self.log.keys()): self.log[name] = []", ""),
        ("for rows in self.log.values(): rows.clear()", ""),
        ("self.log['out'].clear()", ""),
    ],
)
def test_a_list_for_each_name_that_is_emptied(end: str, mark: str) -> None:
    check(EMPTIED.format(end=end, mark=mark))


# -- tables of tables -----------------------------------------------------------------------------

NESTED = """
def train(loader, optimizer):
    net, log = Net(), defaultdict(lambda: defaultdict(list))
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log["train"]["loss"].append({given})  {mark}
        log["train"]["rate"].append(optimizer.param_groups[0]["lr"])
    return {{name: len(rows) for name, rows in log["train"].items()}}
"""


@pytest.mark.parametrize(("given", "mark"), [("loss", "# TML102"), ("loss.item()", "")])
def test_a_table_of_tables(given: str, mark: str) -> None:
    check(NESTED.format(given=given, mark=mark))


# -- entries that are put anew --------------------------------------------------------------------

PREFIXES = """
from collections import OrderedDict

class Prefixes:
    def __init__(self, capacity):
        self.capacity = capacity
        self.states = OrderedDict()

    def {put}(self, key, value):
        key = tuple(key)
        {drops}
        self.states[key] = value{mark}
        {evicts}

class Server:
    def __init__(self, most):
        self.embed, self.prefixes = nn.Embedding(100, 64), Prefixes(most)

    @torch.inference_mode()
    def answer(self, tokens):
        past = self.embed(torch.tensor(tokens))
        {call}
        return past.mean().item()

def main(prompts):
    server = Server(8)
    for tokens in prompts:
        print(server.answer(tokens))
"""
ITEM, METHOD = ("__setitem__", "self.prefixes[tokens] = past"), ("put", "self.prefixes.put(tokens, past)")
EVICTS = "while len(self.states) > self.capacity: self.states.popitem(last=False)"
FULL = "elif len(self.states) >= self.capacity:\n            self.states.popitem(last=False)"


@pytest.mark.parametrize(("put", "call"), [ITEM, METHOD])
@pytest.mark.parametrize(
    "drops",
    ["pass", "self.states.pop(key, None)", "if key in self.states: del self.states[key]"],
)
def test_who_puts_an_entry_anew_has_not_let_one_go(put: str, call: str, drops: str) -> None:
    check(PREFIXES.format(put=put, call=call, drops=drops, mark="  # TML311", evicts="pass"))
    check_innocent(PREFIXES.format(put=put, call=call, drops=drops, mark="", evicts=EVICTS))


def test_who_drops_another_entry_lets_it_go() -> None:
    put, call = METHOD
    for drops in (
        f"if key in self.states:\n            del self.states[key]\n        {FULL}",
        "self.states.pop(key[:-1], None)",
        "if len(self.states) > self.capacity: del self.states[next(iter(self.states))]",
    ):
        check_innocent(PREFIXES.format(put=put, call=call, drops=drops, mark="", evicts="pass"))
    dropped = "self.states.pop(key, None)\n        if value is None: return"
    check_innocent(PREFIXES.format(put=put, call=call, drops=dropped, mark="", evicts="pass"))


KEY_HELPER = """
_SLABS = {{}}

def slab_key(path, rank):
    return f"{{path}}:{{rank}}"

def build_slab(path, weights, rank):
    key = slab_key({given}, rank)
    if key in _SLABS:
        return _SLABS[key]
    slab = torch.cat([one.reshape(-1) for one in weights])
    _SLABS[key] = slab{mark}
    return slab

def main(requests):
    for request in requests:
        print(build_slab(request.path, [torch.randn(8, 64)], 8).shape)
"""


def test_a_key_that_a_helper_makes_is_as_fresh_as_what_it_is_given() -> None:
    check(KEY_HELPER.format(given="path", mark="  # TML301"))
    check_innocent(KEY_HELPER.format(given="'all'", mark=""))


# -- two tables that hooks fill ---------------------------------------------------------------------

CALIBRATED = """
class Calibration:
    def __init__(self):
        self.products, self.counts = {{}}, {{}}

    def watch(self, layer):
        return [one.register_forward_hook(self.count) for one in layer.modules() if isinstance(one, nn.Linear)]

    def count(self, module, given, _):
        x = given[0].flatten(0, -2)
        if module not in self.counts:
            self.products[module] = x.T @ x{mark}
            self.counts[module] = len(x)

    @torch.no_grad()
    def finish(self):
        for module in list(self.counts):
            {finishes}

def calibrate(layers, x):
    calibration = Calibration()
    with torch.no_grad():
        for layer in layers:
            handles = calibration.watch(layer)
            x = layer(x)
            for handle in handles:
                handle.remove()
            calibration.finish()
    return calibration
"""


@pytest.mark.parametrize(
    ("finishes", "mark"),
    [
        ("module.weight.mul_(self.products[module].mean()); del self.counts[module]", "  # TML311"),
        ("module.weight.mul_(self.products.pop(module).mean()); del self.counts[module]", ""),
        ("module.weight.mul_(self.products[module].mean()); self.done = True", ""),
        ("del self.counts[module]", ""),
    ],
)
def test_a_table_of_hooks_beside_one_that_is_emptied(finishes: str, mark: str) -> None:
    check(CALIBRATED.format(finishes=finishes, mark=mark))


RESIDENT = """
class Resident:
    def __init__(self, most):
        self.most = most
        self.nets = {{}}
        self.order = []

    def get(self, name):
        if name in self.nets:
            return self.nets[name]
        while {test}:
            {evicts}
        self.nets[name] = Net(){mark}
        self.order.append({key})
        return self.nets[name]

def main(steps):
    resident = Resident(2)
    for i in range(steps):
        resident.get(f"tenant-{{i % 9}}")(torch.rand(4, 8))
"""


@pytest.mark.parametrize(
    ("test", "evicts", "key", "mark"),
    [
        ("len(self.order) >= self.most", "self.order.pop(0)", "name", "  # TML311"),
        ("len(self.order) >= self.most", "del self.nets[self.order.pop(0)]", "name", ""),
        ("len(self.order) >= self.most", "self.order.pop(0)", "self.most", ""),
        ("self.order", "print(self.order.pop(0))", "name", ""),
    ],
)
def test_an_order_that_is_cut_beside_a_table_that_is_not(test: str, evicts: str, key: str, mark: str) -> None:
    check(RESIDENT.format(test=test, evicts=evicts, key=key, mark=mark))


NAMED_BY_THE_ROUND = """
class Repository:
    def __init__(self):
        self.nets = {{}}

    def load(self, name):
        net = Net(){named}
        self.nets[{key}] = net{mark}
        return True

    def unload(self, name):
        {unloads}

class Front:
    def __init__(self, repository):
        self.repository = repository

    def load(self, name):
        return {{"name": name, "loaded": self.repository.load(name)}}

def main({steps}):
    front = Front(Repository())
    for i in range({steps}):
        {calls}
        front.repository.unload("first")
"""
FRESH, STOPS, DROPS = 'front.load(f"tenant-{i}")', "self.nets[name].eval()", "del self.nets[name]"


@pytest.mark.parametrize(
    ("calls", "unloads", "key", "steps", "mark"),
    [
        (FRESH, STOPS, "name", "steps", "  # TML311"),
        (FRESH, STOPS, "net.name", "steps", "  # TML311"),
        ('front.load(f"tenant-{i:05d}")', STOPS, "name", "requests", "  # TML311"),
        ('name = f"tenant-{i}"; front.load(name)', STOPS, "name", "steps", "  # TML311"),
        ('front.load(name=f"tenant-{i}")', STOPS, "name", "n_requests", "  # TML311"),
        ('front.load("tenant-{}".format(i))', STOPS, "name", "steps", "  # TML311"),
        (FRESH, DROPS, "name", "steps", ""),
        ('front.load(f"tenant-{i % 3}")', STOPS, "name", "steps", ""),
        (FRESH, STOPS, "name", "n_experts", ""),
        ('front.load("tenant"); print(f"round {i}")', STOPS, "name", "steps", ""),
        (FRESH, "return [net(name) for net in self.nets.values()]", "name", "steps", ""),
    ],
)
def test_names_that_have_the_number_of_the_round(calls: str, unloads: str, key: str, steps: str, mark: str) -> None:
    named = "; net.name = name" if key != "name" else ""
    check(NAMED_BY_THE_ROUND.format(calls=calls, unloads=unloads, key=key, steps=steps, mark=mark, named=named))


REQUESTS = """
import uuid

class Engine:
    def __init__(self, net):
        self.net = net.eval()
        self.outputs = {{}}

    @torch.no_grad()
    def add(self, request_name, x):
        self.outputs[request_name] = self.net(x){mark}

    def serve(self, x, name=None):
        self.add(name or f"request-{{{part}}}", x)

    def work(self, queue):
        while True:
            self.serve(queue.get())
"""


@pytest.mark.parametrize(("part", "mark"), [("uuid.uuid4().hex[:8]", "  # TML311"), ("self.net.kind", "")])
def test_a_name_that_is_drawn_unless_it_is_given(part: str, mark: str) -> None:
    check(REQUESTS.format(part=part, mark=mark))


RECORDINGS = """
class Diarizer:
    def __init__(self, net):
        self.net = net.eval()
        self.embeddings = {{}}

    @torch.no_grad()
    def diarize(self, {key}, audio):
        self.embeddings[{key}] = self.net(audio){mark}
        return self.embeddings[{key}].argmax(-1).tolist()

def main(net, queue):
    diarizer = Diarizer(net)
    while True:
        diarizer.diarize(*queue.get())
"""


@pytest.mark.parametrize(
    ("key", "mark"),
    [("uniq_id", "  # TML311"), ("voice_id", "  # TML311"), ("worker_id", ""), ("voice", ""), ("event", "")],
)
def test_ids_of_which_there_are_ever_more(key: str, mark: str) -> None:
    check(RECORDINGS.format(key=key, mark=mark))


STORE = """
import contextlib

class Store:
    def __init__(self):
        self.params = {{}}

    def forget(self):
        self.params.clear()

    def get(self, name, shape):
        if name not in self.params:
            self.params[name] = torch.zeros(shape){mark}
        return self.params[name]

STORE = Store()

def clear_store():
    STORE.forget()

@contextlib.contextmanager
def fresh_store():
    clear_store()
    yield STORE

def main(steps):
    for i in range(steps):
        {uses}
"""


@pytest.mark.parametrize(
    ("uses", "mark"),
    [
        ('print(STORE.get(f"guide-{i}.loc", (64, 64)).sum().item())', "  # TML311"),
        ('STORE.get(f"guide-{i}.loc", (64, 64)); clear_store()', ""),
        ('with fresh_store() as store: store.get(f"guide-{i}.loc", (64, 64))', ""),
        ('STORE.get(f"guide-{i}.loc", (64, 64)); atexit.register(clear_store)', ""),
    ],
)
def test_a_store_that_only_unused_wrappers_clear(uses: str, mark: str) -> None:
    check(STORE.format(uses=uses, mark=mark))


# An entry that is put empty, and filled from a table whose keys are not seen.
ANSWERED = """
class History:
    def __init__(self):
        self.answers = {{}}

    def done(self, request_id, outputs):
        {bound}
        self.answers[request_id] = {{"id": request_id, "outputs": {{}}}}{mark}
        self.answers[request_id]["outputs"].update(outputs)

    def of(self, request_id):
        return self.answers.get(request_id)

class Runner:
    def __init__(self):
        self.outputs = {{}}

    def run(self, node):
        self.outputs = {{}}
        self.outputs[node] = torch.rand(3, 256, 256)

def main(nodes):
    history, runner = History(), Runner()
    number = 0
    while True:
        runner.run(nodes[number])
        number += 1
        history.done(number, runner.outputs)
"""


@pytest.mark.parametrize(
    ("bound", "mark"),
    [("pass", "  # TML311"), ("while len(self.answers) > 99: self.answers.pop(next(iter(self.answers)))", "")],
)
def test_an_entry_is_filled_after_it_was_put(bound: str, mark: str) -> None:
    check(ANSWERED.format(bound=bound, mark=mark))


# -- two decorators whose tables have one name ------------------------------------------------------

MEMOS = """
def memoized(fn):
    table = {{}}
    {beside}
    def wrapper(*args):
        if args not in table:
            table[args] = fn(*args)  {mark}
        return table[args]
    {given}
    return wrapper

def keyed(size):
    {table}
    def decorate(fn):
        def wrapper(*args):
            value = table[args] = fn(*args)
            if len(table) > size:
                table.popitem()
            return value
        return wrapper
    return decorate

@memoized
def features(x):
    return torch.exp(-x)

def main(steps):
    for _ in range(steps):
        print(features(torch.randn(64, 16)).mean())
"""
FORGETS = """
    def forget():
        nonlocal table
        table = {}
"""


@pytest.mark.parametrize(
    ("table", "beside", "given", "mark"),
    [
        ("table = OrderedDict()", "", "", "# TML311"),  # which the other one evicts from is its own
        ("table = {}", "", "wrapper.table = table", "# TML311"),
        ("table = {}", FORGETS, "wrapper.forget = forget", ""),
        ("table = shared", "", "shared = table", ""),
    ],
)
def test_a_table_that_only_shares_its_name(table: str, beside: str, given: str, mark: str) -> None:
    check(MEMOS.format(table=table, beside=beside, given=given, mark=mark))
