"""Keys, views, records and errors that keep what nobody needs, and innocents that look like them."""

from __future__ import annotations

import pytest
from snippets import check

GUILTY = {
    "keys made of identities, by a helper": """
        def signature(tensors):
            return tuple(abs(id(one)) for one in tensors)

        class Planner:
            def __init__(self):
                self.plans = {}

            def plan(self, *tensors):
                found = signature(tensors)
                if found not in self.plans:
                    self.plans[found] = torch.zeros(64, 64)  # TML311
                return self.plans[found]

        def run(n, planner: Planner):
            for _ in range(n):
                planner.plan(torch.rand(3), torch.rand(4)).sum().item()
        """,
    "keys that are new each time": """
        import time
        import uuid

        class Sessions:
            def __init__(self):
                self.open_ones = {}
                self.stamped = {}

            def open(self, x):
                handle = uuid.uuid4().hex[:12]
                self.open_ones[handle] = x.clone()  # TML311
                self.stamped["at-" + str(time.time())] = x.clone()  # TML311
                return handle

        def run(n, sessions: Sessions):
            for _ in range(n):
                sessions.open(torch.rand(3))
        """,
    "one entry for each thing of a batch": """
        FEATURES = {}

        def featurize(molecules_batch):
            made = []
            for name in molecules_batch:
                made.append(torch.zeros(8))
            for entry in molecules_batch:
                if entry not in FEATURES:
                    FEATURES[entry] = torch.rand(64)  # TML301
                made.append(FEATURES[entry])
            return torch.cat(made)

        def predict(batches):
            for one in batches:
                featurize(one).sum().item()
        """,
    "arrays by the number of the item": """
        import numpy as np

        @functools.cache  # TML305
        def volume(i):
            return np.load(f"volume-{i}.npy")

        class Volumes(torch.utils.data.Dataset):
            @functools.lru_cache(maxsize=None)  # TML305
            def _mask(self, n) -> np.ndarray:
                return np.fromfile(self.mask_paths[n])

            def __getitem__(self, item):
                i = int(item) + 1
                return torch.from_numpy(volume(i) * self._mask(item))
        """,
    "leaves that a loop makes of a list's tensors": """
        def fit(n):
            weights = [torch.rand(4) for _ in range(3)]
            for weight in weights:
                weight.requires_grad = True
            kept = []
            for _ in range(n):
                parts = [(weight**2).sum() for weight in weights]
                torch.stack(parts).sum().backward()
                kept.append(parts)  # TML102
            return [float(parts[0]) for parts in kept]
        """,
    "a leaf made in place": """
        def fit(n):
            weight = torch.rand(4)
            weight.requires_grad_()
            kept = []
            for _ in range(n):
                loss = (weight**2).sum()
                loss.backward()
                kept.append(loss)  # TML102
            return [float(loss) for loss in kept]
        """,
    "rows that are picked from a batch": """
        class Bank:
            def __init__(self):
                self.net = nn.Sequential(nn.Linear(8, 8), nn.Tanh()).eval()
                self.hard = []
                self.recent = deque(maxlen=64)
                self.by_name = {}

            @torch.no_grad()
            def mine(self, loader):
                for x, y, names in loader:
                    features = self.net(x)
                    wrong = features.argmax(1) != y
                    for i in range(len(features)):
                        if wrong[i]:
                            self.hard.append(features[i])  # TML303
                    for name, row, bad in zip(names, torch.unbind(features), wrong):
                        if bad:
                            self.recent.append(row)  # TML309
        """,
    "the last step of what a call has computed": """
        class Decoder:
            def __init__(self):
                self.net = nn.Linear(8, 8).eval()
                self.tail = None

            @torch.inference_mode()
            def step(self, x):
                states = self.net(x)
                self.tail = states[:, -1:]  # TML309
                return states.argmax(-1)
        """,
    "a hook's output, cut by a helper": """
        SEEN = {}

        def remember(name):
            def hook(module, inputs, output):
                SEEN[name] = output.detach()

            return hook

        def pool(states, how):
            if how == "first":
                return states.select(1, 0)
            return states.mean(1)

        def collect(loader):
            net = Net().eval()
            handle = net.layer.register_forward_hook(remember("layer"))
            firsts = []
            for x in loader:
                with torch.no_grad():
                    net(x)
                firsts.append(pool(SEEN["layer"], "first").detach())  # TML309
            handle.remove()
            return torch.stack(firsts)
        """,
    "records of evaluations with gradients": """
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(8, 1)
                self.best = float("inf")
                self.top = None

            def evaluate(self, batches):
                for x in batches:
                    error = self.net(x).square().mean()
                    if error < self.best:
                        self.best = error  # TML108
                    if self.top is None or self.top <= error:
                        self.top = error  # TML108

        def run(n):
            trainer = Trainer()
            for _ in range(n):
                trainer.evaluate([torch.rand(4, 8)])
                trainer.net(torch.rand(4, 8)).sum().backward()
        """,
    "a registry that is a list with a method": """
        TABLE = {}

        class Calls(list):
            def __call__(self, *args):
                for call in list(self):
                    call(*args)

        def subscribe(event):
            def wrapper(function):
                TABLE.setdefault(event, Calls()).append(function)
                return function

            return wrapper

        class View:
            def __init__(self, size):
                self.table = torch.zeros(size, size)
                subscribe("precision")(self.refresh)  # TML314

            def refresh(self):
                self.table = self.table * 1

        def run(n):
            net = Net()
            for _ in range(n):
                view = View(8)
                F.mse_loss(net(view.table), torch.zeros(8, 2)).backward()
        """,
    "a cached method with tensors for results": """
        from .tables import Table

        class Lexicon(Table):
            def __init__(self, words):
                self.words = words

            @functools.lru_cache(maxsize=4096)  # TML305
            def row(self, word: str) -> torch.Tensor:
                return torch.tensor(self.words[word])
        """,
    "hooks in a graph that refer to who has it": """
        def clear(owner, *gradients):
            owner.cache = {}

        class Solver:
            def __init__(self, w):
                self.x = (w * 2).exp()
                self.x.register_hook(self.note)  # TML315
                self.cache = {}
                y = self.x.cos()
                y.grad_fn.register_hook(functools.partial(clear, self))  # TML315
                y.register_hook(lambda gradient: self.note(gradient))  # TML315
                self.cache["y"] = y.sum()

            def note(self, gradient):
                self.seen = True

        def run(n):
            w = torch.rand(5, requires_grad=True)
            for _ in range(n):
                solver = Solver(w)
                torch.autograd.grad(solver.cache["y"], w)
        """,
}
INNOCENT = {
    "cached methods that keep no tensors, and a cache without an object": """
        class Lexicon:
            def __init__(self, words):
                self.words = words

            @functools.lru_cache(maxsize=4096)
            def length(self, word: str):
                return torch.tensor(self.words[word]).sum().item()

            @functools.lru_cache(maxsize=4096)
            def shape(self, word: str):
                return torch.tensor(self.words[word]).shape

            @functools.lru_cache(maxsize=4)
            def grid(self, height: int, width: int):
                return torch.zeros(height, width)

            @staticmethod
            @functools.lru_cache(maxsize=128)
            def mask(size: int) -> torch.Tensor:
                return torch.ones(size, size).triu()

            @functools.cached_property
            def table(self) -> torch.Tensor:
                return torch.tensor(list(self.words.values()))
        """,
    "hooks in a graph that are weak, taken off, or of what has nothing of it": """
        import weakref

        class Weak:
            def __init__(self, w):
                self.x = (w * 2).exp()
                own = weakref.ref(self)
                self.x.register_hook(lambda gradient: own() and own().note(gradient))

            def note(self, gradient):
                self.seen = True

        class Light(Weak):
            def __init__(self, w):
                x = (w * 2).exp()
                x.register_hook(self.note)
                self.x = x.detach()

        class Closed(Weak):
            def __init__(self, w):
                self.x = (w * 2).exp()
                self.handle = self.x.register_hook(self.note)

            def close(self):
                self.handle.remove()

        class Maps(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            def forward(self, x):
                x = self.layer(x)
                x.register_hook(self.note)
                return x

            def note(self, gradient):
                self.gradient = gradient

        def run(n):
            w = torch.rand(5, requires_grad=True)
            maps = Maps()
            for _ in range(n):
                weak, light, closed = Weak(w), Light(w), Closed(w)
                torch.autograd.grad(weak.x.sum() + closed.x.sum(), w)
                closed.close()
                maps(torch.rand(2, 8)).sum().backward()
        """,
    "records of numbers, and of what is back-propagated": """
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(8, 1)
                self.best = self.norm = self.number = float("inf")
                self.last = None

            def train(self, batches):
                for x in batches:
                    loss = self.net(x).square().mean()
                    loss.backward()
                    if loss < self.best:
                        self.best = loss
                    with torch.no_grad():
                        norm = self.net(x).norm()
                    if norm < self.norm:
                        self.norm = norm
                    if loss.item() < self.number:
                        self.number = loss.item()
        """,
    "lists and tables with methods, which are let go": """
        from collections import OrderedDict

        class Recent(OrderedDict):
            limit = 8

            def __setitem__(self, key, value):
                super().__setitem__(key, value)
                if len(self) > self.limit:
                    self.popitem(last=False)

        class Rows(list):
            def take(self):
                rows = list(self)
                self.clear()
                return rows

        RECENT = Recent()
        ROWS = Rows()

        @torch.no_grad()
        def serve(requests):
            net = Net().eval()
            for request_id, x in requests:
                RECENT[request_id] = net(x)
                ROWS.append(net(x))
                if request_id % 10 == 0:
                    print(len(ROWS.take()))
        """,
    "rows and parts that cost nothing": """
        class Bank:
            def __init__(self):
                self.net = nn.Sequential(nn.Linear(8, 8), nn.Tanh()).eval()
                self.rows = deque(maxlen=64)
                self.copies = deque(maxlen=64)
                self.sizes = {}
                self.room = torch.zeros(64, 8)
                self.column = None

            @torch.no_grad()
            def mine(self, loader):
                for x, y in loader:
                    features = self.net(x)
                    for row in features:
                        self.rows.append(row)
                    for row in features:
                        if row.sum() > 0:
                            self.copies.append(row.clone())
                    for i in range(len(features)):
                        if y[i]:
                            self.put(features[i])
                self.column = self.room[:, 0]

            def put(self, row):
                if row.untyped_storage().nbytes() > row.nbytes:
                    row = row.clone()
                self.copies.append(row)
        """,
    "what a call was given, or keeps as a whole": """
        class Decoder:
            def __init__(self):
                self.net = nn.Linear(8, 8).eval()
                self.first = self.whole = self.tail = self.left = None

            @torch.inference_mode()
            def step(self, x, length):
                states = self.net(x)
                self.first = x[:, :1]
                self.whole = states
                self.tail = states[:, -1:]
                self.left = self.net(x)[:, length:]
                return states.argmax(-1)
        """,
    "steps from a leaf that is made anew": """
        def attack(n):
            x = torch.rand(4)
            outs = []
            for _ in range(n):
                x.requires_grad_()
                (slope,) = torch.autograd.grad((x**2).sum(), x)
                x = (x + slope).detach()
                outs.append(x)
            return outs
        """,
    "leaves that are none any more": """
        def settle(n):
            weights = [torch.rand(4) for _ in range(3)]
            for weight in weights:
                weight.requires_grad_()
            sum(weight.sum() for weight in weights).backward()
            for weight in weights:
                weight.requires_grad_(False)
            kept = []
            for _ in range(n):
                kept.append([(weight**2).sum() for weight in weights])
            return [float(parts[0]) for parts in kept]
        """,
    "keys of shapes, and of a ring": """
        import time

        def signature(tensors):
            return tuple(one.shape for one in tensors)

        class Planner:
            def __init__(self):
                self.plans = {}
                self.ring = {}

            def plan(self, *tensors):
                found = signature(tensors)
                if found not in self.plans:
                    self.plans[found] = torch.zeros(64, 64)
                self.ring[int(time.time()) % 8] = torch.zeros(64)
                return self.plans[found]

        def run(n, planner: Planner):
            for _ in range(n):
                planner.plan(torch.rand(3), torch.rand(4)).sum().item()
        """,
    "one entry for each parameter": """
        def mark(parameter):
            return str(id(parameter))

        class Momenta:
            def __init__(self, model):
                self.model = model
                self.state = {}

            def step(self):
                for parameter in self.model.parameters():
                    self.state[mark(parameter)] = torch.zeros_like(parameter)

        def run(n):
            momenta = Momenta(Net())
            for _ in range(n):
                momenta.step()
        """,
    "arrays of groups, labels and sizes": """
        import numpy as np

        @functools.cache
        def palette(label) -> np.ndarray:
            return np.zeros((256, 3))

        @functools.cache
        def scene(number):
            return np.load(f"scene-{number}.npy")

        @functools.cache
        def window(width):
            return np.hanning(width)

        @functools.lru_cache(maxsize=16)
        def volume(i):
            return np.load(f"volume-{i}.npy")

        @functools.cache
        def size(i) -> int:
            return i + 1

        class Volumes(torch.utils.data.Dataset):
            def __getitem__(self, item):
                parts = palette(self.labels[item]), scene(item // 100), window(128), size(item)
                return torch.from_numpy(volume(item)), parts
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check(INNOCENT[name])


def test_a_list_that_is_used_like_a_table() -> None:
    """What is taken for a list may have been a table of the same name."""
    check("""
    def settle(rows):
        rows = []
        rows["shuffle"] = torch.ones(3)
        for index in range(len(rows)):
            rows[index] = rows[index].detach()
        return rows

    def train(model, loader, optimizer):
        losses = []
        for batch in loader:
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss)  # TML102
        return settle(losses)
    """)
