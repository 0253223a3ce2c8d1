"""Holders that live long, in the words of everyday code: each guilty form, and an innocent one like it.

A trailing `# TML315` in a snippet says what must be reported on that line; nothing else may be.
"""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

# -- functions that a part of an object is given ---------------------------------------------------

SESSION = """
class Lane:
    def __init__(self):
        self.calls = []

    def after(self, call):
        self.calls.append(call)

class Pool:
    def __init__(self, width):
        self.blocks = torch.zeros(256, width)
        self.name = str(width)
        self.lane = Lane()
        {given}

class Desk:
    def __init__(self):
        self.pools = {{}}

    def open(self, key, width):
        self.pools[key] = Pool(width)

    def close(self, key):
        {ends}

def main(steps):
    desk = Desk()
    for step in range(steps):
        desk.open(step, 64)
        desk.close(step)
"""


def test_a_part_that_keeps_a_function_of_its_whole() -> None:
    guilty = "self.lane.after(lambda: print(self.name))  # TML315"
    check(SESSION.format(given=guilty, ends="del self.pools[key]"))
    check(SESSION.format(given=guilty, ends="return self.pools.pop(key).name"))


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ("name = self.name; self.lane.after(lambda: print(name))", "del self.pools[key]"),
        ("self.lane.after(print)", "del self.pools[key]"),
    ],
)
def test_a_part_that_keeps_a_function_of_nobody(given: str, ends: str) -> None:
    check_innocent(SESSION.format(given=given, ends=ends))


FOLD = """
class Ticker:
    def __init__(self, on_tick):
        self.on_tick = on_tick

    def tick(self, x):
        return self.on_tick(x)

def total(x):
    return x.sum().item()

class Fold:
    def __init__(self, width):
        self.model = nn.Linear(width, width)
        {made}

    @torch.no_grad()
    def score(self, x):
        return self.model(x).sum().item()

{runs}
"""
EACH = "def run(widths):\n    return [Fold(width).ticker.tick(torch.rand(4, width)) for width in widths]"


@pytest.mark.parametrize(
    ("made", "runs"),
    [
        ("self.ticker = Ticker(self.score)  # TML315", EACH),
        ("self.ticker = Ticker(lambda x: self.score(x))  # TML315", EACH),
        ("self.ticker = Ticker(total)", EACH),
        (
            "self.ticker = Ticker(self.score)",
            "def run(width):\n    return Fold(width).ticker.tick(torch.rand(4, width))",
        ),
    ],
)
def test_a_part_that_is_made_with_a_method_of_its_whole(made: str, runs: str) -> None:
    check(FOLD.format(made=made, runs=runs))


# -- loaders and hooks ----------------------------------------------------------------------------

ENDLESS = """
import itertools

def endless(source):
    while True:
        {split}
        yield from current

def train(net, loader, optimizer):
    for x, y in endless({given}):
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("split", "given"),
    [
        ("source, current = itertools.tee(source)  # TML308", "iter(loader)"),
        ("current, source = itertools.tee(source)  # TML308", "iter(loader)"),
        ("source, current = itertools.tee(source)", "[(net.x, net.y)]"),
        ("current = iter(source)", "loader"),
    ],
)
def test_an_iterator_that_each_pass_splits_anew(split: str, given: str) -> None:
    check(ENDLESS.format(split=split, given=given))


READER = """
class Reader:
    def __init__(self, net):
        self.net = net
        self.seen = {{}}

    def _hook(self, name):
        def keep(module, inputs, output):
            {keeps}

        return keep

    @torch.no_grad()
    def read(self, x, wanted):
        for name, module in self.net.named_modules():
            if name == wanted:
                handle = module.register_forward_hook(self._hook(name)){mark}
        self.net(x)
        handle.remove()
        return self.seen.pop(wanted)
"""


@pytest.mark.parametrize(
    ("keeps", "mark"),
    [
        ("self.seen[name] = output.clone()", ""),
        ("self.seen[id(output)] = output.clone()", "  # TML304"),
    ],
)
def test_a_hook_of_an_own_module_that_an_error_leaves(keeps: str, mark: str) -> None:
    check(READER.format(keeps=keeps, mark=mark))


# -- models that are made anew --------------------------------------------------------------------

LEARNER = """
class Learner:
    def __init__(self, width):
        self.width = width
        self.net = nn.Linear(width, width)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def fit(self, loader):
        for x, y in loader:
            F.mse_loss(self.net(x), y).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def reset(self):
        {first}
        {then}
"""


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("self.net = nn.Linear(self.width, self.width)  # TML317", ""),
        ("self.net = nn.Linear(self.width, self.width).to('cuda')  # TML317", "self.net.train()"),
        ("self.net = nn.Linear(self.width, 8)", "self.optimizer = torch.optim.Adam(self.net.parameters())"),
        ("self.net = nn.Linear(self.width, 8)", "self.__init__(8)"),
        ("self.net = nn.Linear(self.width, 8)", "self.optimizer.add_param_group({'params': self.net.parameters()})"),
        ("self.net = nn.DataParallel(self.net)", ""),
        ("self.net = torch.compile(self.net)", ""),
    ],
)
def test_a_model_that_is_made_anew(first: str, then: str) -> None:
    check(LEARNER.format(first=first, then=then))


# -- weak tables ----------------------------------------------------------------------------------

ADAPTERS = """
import weakref

class Adapter:
    def __init__(self, base, rank):
        {keeps}
        self.down = nn.Linear(64, rank)

class Pool:
    def __init__(self, rank):
        self.rank = rank
        self.table = weakref.WeakKeyDictionary()

    def get(self, layer):
        adapter = self.table.get(layer)
        if adapter is None:
            adapter = {made}
            self.table[layer] = adapter{mark}
        return adapter
"""


@pytest.mark.parametrize(
    ("keeps", "made", "mark"),
    [
        ("self.base = base", "Adapter(layer, self.rank)", "  # TML316"),
        ("self.base = base", "Adapter(rank=self.rank, base=layer)", "  # TML316"),
        ("self.base = base", "(Adapter(layer, 4), 0)", "  # TML316"),
        ("self.base = base", "functools.partial(Adapter, layer)", "  # TML316"),
        ("self.base = base", "lambda x: layer(x)", "  # TML316"),
        ("self.base = weakref.ref(base)", "Adapter(layer, self.rank)", ""),
        ("self.width = base.in_features", "Adapter(layer, self.rank)", ""),
        ("self.base = base", "Adapter(None, self.rank)", ""),
        ("self.base = base", "Adapter(self.other, layer)", ""),
    ],
)
def test_the_value_of_a_weak_key_of_which_nothing_is_seen(keeps: str, made: str, mark: str) -> None:
    check(ADAPTERS.format(keeps=keeps, made=made, mark=mark))


# -- lists that are only drawn from ---------------------------------------------------------------

MEMORY = """
import random

def play(env, steps):
    policy = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(policy.parameters())
    memory = {made}
    state = torch.zeros(4)
    for step in range(steps):
        with torch.no_grad():
            action = policy(state).argmax().item()
        state = torch.tensor(env.step(action), dtype=torch.float32)
        {adds}
        {reads}
        optimizer.zero_grad()
        policy(rows).sum().backward()
        optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("made", "adds", "reads", "after"),
    [
        ("[]", "memory.append(state)  # TML311", "rows = torch.stack(random.sample(memory, 8))", ""),
        (
            "deque()",
            "memory.append(state)  # TML311",
            "rows = torch.stack(random.choices(memory, k=8))",
            "print(len(memory))",
        ),
        ("[]", "memory.append(state)  # TML311", "rows = torch.stack(memory[-8:])", ""),
        ("deque(maxlen=500)", "memory.append(state)", "rows = torch.stack(random.sample(memory, 8))", ""),
        ("[]", "memory.append(state)", "rows = torch.stack(random.sample(memory, 8))", "return memory"),
        ("[]", "memory.append(state)", "rows = torch.stack(memory)", ""),
        ("[]", "memory.append(state); memory = memory[-99:]", "rows = torch.stack(random.sample(memory, 8))", ""),
        ("[]", "memory.append(action)", "rows = torch.ones(1, 4) * random.choice(memory)", ""),
    ],
)
def test_a_list_that_its_loop_draws_from(made: str, adds: str, reads: str, after: str) -> None:
    check(MEMORY.format(made=made, adds=adds, reads=reads, after=after))


def test_a_list_that_is_filled_up_to_its_limit() -> None:
    check_innocent("""
        import random

        def play(env, steps, limit):
            memory = []
            for step in range(steps):
                state = torch.rand(4) + step
                if len(memory) < limit:
                    memory.append(state)
                env.step(random.choice(memory).numpy())
    """)


def test_a_script_that_draws_from_its_list() -> None:
    check("""
        import random

        rows = []
        for step in range(10**6):
            rows.append(torch.rand(64, 64))  # TML311
            print(random.choice(rows).mean().item())
    """)


# -- views ----------------------------------------------------------------------------------------

STATES = """
@torch.no_grad()
def states_of({model}: nn.Module, batches):
    rows = []
    for ids in batches:
        {states} = {model}(ids)
        {kept}
    return torch.stack(rows)
"""


@pytest.mark.parametrize(
    ("states", "kept"),
    [
        ("hidden", "rows.append(hidden[0, -1])  # TML309"),
        ("x", "rows.append(x[0, -1, :])  # TML309"),
        ("x", "rows.append(x[:, 0])  # TML309"),
        ("output", "rows.append(output.hidden_states[-1][0, -1])  # TML309"),
        ("hidden", "rows.append(hidden[0, -1].clone())"),
        ("hidden", "rows.append(hidden[0, 0])"),
        ("scores", "rows.append(scores[0, -1])"),
        ("hidden", "rows.append(hidden[0])"),
    ],
)
def test_the_last_state_of_one_sequence(states: str, kept: str) -> None:
    check(STATES.format(model="lm", states=states, kept=kept))


BANK = """
class Bank:
    def __init__(self, lm: {hint}):
        self.lm = lm
        self.rows = []

    @torch.inference_mode()
    def add(self, ids):
        hidden = self.lm(ids).last_hidden_state
        self.rows.append(hidden[:, -1]){mark}

    def matrix(self):
        return torch.stack(self.rows)

def build(lm, docs):
    bank = Bank(lm)
    for ids in docs:
        bank.add(ids)
    return bank.matrix()
"""


def test_an_annotation_says_what_a_caller_does_not() -> None:
    check(BANK.format(hint="nn.Module", mark="  # TML309"))
    check_innocent(BANK.format(hint="object", mark=""))


# -- objects that share a model and keep what is their own ------------------------------------------

SESSIONS = """
import itertools
import uuid

_live = {{}}
_ids = itertools.count()

class Session:
    def __init__(self, model):
        self.id = {key}
        self.model = model
        self.frames = []
        _live[self.id] = self{mark}

    def step(self, x):
        {step}
        return self.model(x).argmax().item()

    def close(self):
        {close}

def handle(model, x: torch.Tensor):
    session = Session(model)
    answer = session.step(x)
    session.close()
    return answer
"""


@pytest.mark.parametrize(
    ("key", "step", "close", "mark"),
    [
        ("uuid.uuid4().hex", "self.frames.append(x)", "self.id = ''", "  # TML301"),
        ("next(_ids)", "self.frames.append(x)", "self.id = ''", "  # TML301"),
        ("next(_ids)", "self.frames.append(x)", "del _live[self.id]", ""),
        ("uuid.uuid4().hex", "self.frames.append(len(x))", "self.id = ''", ""),
        ("'only'", "self.frames.append(x)", "self.id = ''", ""),
    ],
)
def test_an_object_of_each_call_that_shares_its_model(key: str, step: str, close: str, mark: str) -> None:
    check(SESSIONS.format(key=key, step=step, close=close, mark=mark))


# -- results on the device ------------------------------------------------------------------------

SCRIPT = """
from torch.utils.data import DataLoader

net = Net().cuda().eval()
loader = DataLoader(load("rows"), batch_size=8)
maps = []
with torch.no_grad():
    for x, _ in loader:
        {keeps}
torch.save({saved}, "maps.pt")
"""


@pytest.mark.parametrize(
    ("keeps", "saved"),
    [
        ("maps.append(net(x.cuda()))  # TML310", "torch.cat(maps).cpu()"),
        ("maps.append(net(x.cuda()).cpu())", "torch.cat(maps)"),
        ("maps.append(x)", "torch.cat(maps).cpu()"),
    ],
)
def test_a_script_that_moves_its_results_at_the_end(keeps: str, saved: str) -> None:
    check(SCRIPT.format(keeps=keeps, saved=saved))


# -- copies of a model ----------------------------------------------------------------------------

COPIES = """
import copy

def train(model, loader, score, epochs):
    optimizer = torch.optim.Adam(model.parameters())
    copies, scores = [], []
    for epoch in range(epochs):
        for x, y in loader:
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        scores.append(score(model))
        {adds}
    {ends}
"""


@pytest.mark.parametrize(
    ("adds", "ends"),
    [
        ("copies.append(copy.deepcopy(model))  # TML313", "return copies[scores.index(max(scores))]"),
        (
            "copies.append((scores[-1], copy.deepcopy(model.state_dict())))  # TML313",
            "model.load_state_dict(max(copies, key=lambda one: one[0])[1])",
        ),
        (
            "state = copy.deepcopy(model.state_dict()); copies.append(state)  # TML313",
            "model.load_state_dict(copies[-1])",
        ),
        ("copies.append(copy.deepcopy(model))", "return copies"),
        ("copies.append(copy.deepcopy(model))", "return [copies[i] for i in range(epochs)]"),
        ("copies.append(copy.deepcopy(model))", "for i in range(epochs):\n        score(copies[i])"),
        ("copies = [copy.deepcopy(model)]", "return copies[0]"),
        ("copies.append(copy.deepcopy(scores))", "return copies[-1]"),
    ],
)
def test_copies_of_which_one_is_picked(adds: str, ends: str) -> None:
    check(COPIES.format(adds=adds, ends=ends))


# -- a function that is set on a part, and errors of what a model is asked for ----------------------

TREE = """
class Leaf:
    def __init__(self):
        self.on_change = None

class Tree:
    def __init__(self, features):
        self.features = features
        self.leaves = [Leaf() for _ in range(4)]
        for leaf in self.leaves:
            leaf.on_change = {given}

    def refresh(self):
        return self.features.sum()

def grow(steps):
    for step in range(steps):
        print(Tree(torch.rand(64, 64)).refresh().item())
"""


@pytest.mark.parametrize(
    ("given"),
    ["lambda: self.refresh()  # TML315", "print", "lambda: print(1)"],
)
def test_a_function_of_the_whole_that_is_set_on_its_part(given: str) -> None:
    check(TREE.format(given=given))


SCORES = """
import sys

failures = []

def score(model, samples):
    results = {{}}
    for key, x in samples.items():
        try:
            results[key] = {tried}
        except Exception:
            {kept}
    return results
"""


@pytest.mark.parametrize(
    ("tried", "kept"),
    [
        ("model.encode(x).mean().item()", "failures.append((key, sys.exc_info()))  # TML307"),
        ("model.encode(x).mean().item()", "failures.append((key, sys.exc_info()[0]))"),
        ("key.encode('utf8')", "failures.append((key, sys.exc_info()))"),
    ],
)
def test_errors_of_what_a_model_is_asked_for(tried: str, kept: str) -> None:
    check(SCORES.format(tried=tried, kept=kept))


JOINED = """
def predict(model: nn.Module, loader, device):
    model.to(device).eval()
    found = torch.empty(0, 8, device=device)
    with torch.no_grad():
        for x in loader:
            {joins}
    return found.cpu().numpy()
"""


@pytest.mark.parametrize(
    "joins",
    [
        "found = torch.cat((found, model(x.to(device))))  # TML310",
        "found = torch.vstack([found, model(x.to(device))])  # TML310",
        "found = torch.cat((model(x.to(device)), x.to(device)))",
        "found = found + model(x.to(device))",
        "found = torch.cat((found, torch.cat([model(x.to(device)).topk(1)[1], x.to(device)[:, :1]], dim=1)))",
    ],
)
def test_results_that_are_joined_to_those_before(joins: str) -> None:
    check(JOINED.format(joins=joins))


def test_features_that_a_model_is_asked_for() -> None:
    check("""
        @torch.no_grad()
        def collect(vit: nn.Module, loader):
            vit.eval()
            rows = []
            for images, _ in loader:
                rows.append(vit.forward_features(images)[:, 0])  # TML309
            return torch.cat(rows)
    """)


# -- annotated modules ----------------------------------------------------------------------------


def test_a_hook_on_a_module_that_is_annotated_and_given() -> None:
    check("""
        class Map:
            def __init__(self, model: nn.Module, layer: nn.Module):
                self.model = model
                self.seen = []
                layer.register_forward_hook(self._keep)  # TML304

            def _keep(self, module, inputs, output):
                self.seen = [output.detach()]

            def of(self, x):
                return self.model(x).sum() + self.seen[0].sum()

        def explain(model, images):
            with torch.no_grad():
                return [Map(model, model.layer4).of(image).item() for image in images]
    """)
