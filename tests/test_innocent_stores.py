"""Innocent caches, queues and stores: their entries go, are replaced, or are few."""

from __future__ import annotations

import pytest
from snippets import check_innocent, check_syntax

INNOCENT = {
    "a class with a method that is called like a builtin": """
        class Node(dict):
            def hasattr(self, name):
                return name in self

            def value(self, name):
                if self.hasattr(name):
                    return self[name]
                return 1.0

        class Wrapped:
            def __init__(self, model):
                self.model, self.node, self.last = model, Node(), 0.0

            def step(self, x):
                with torch.no_grad():
                    self.last = self.model(x * self.node.value("scale")).mean()

        def main(steps):
            wrapped = Wrapped(nn.Linear(8, 2))
            for _ in range(steps):
                wrapped.step(torch.rand(4, 8))
        """,
    "dictionaries whose entries are replaced one by one": """
        def losses(net, x):
            out = net(x)
            return {"mean": out.mean(), "norm": out.norm()}

        class Log:
            def __init__(self):
                self.net, self.rows = nn.Linear(8, 2), []

            def by_key(self, x):
                found = losses(self.net, x)
                sum(found.values()).backward()
                for key in found:
                    found[key] = found[key].item()
                self.rows.append(found)

            def by_item(self, x):
                found = losses(self.net, x)
                sum(found.values()).backward()
                for key, value in found.items():
                    if torch.is_tensor(value):
                        found[key] = value.detach().cpu()
                self.rows.append(found)

            def by_index(self, x):
                found = list(losses(self.net, x).values())
                sum(found).backward()
                for index in range(len(found)):
                    found[index] = float(found[index]) / 2
                self.rows.append(found)

            def in_place(self, x):
                found = losses(self.net, x)
                sum(found.values()).backward()
                for value in found.values():
                    value.detach_()
                self.rows.append(found)

            def flush(self):
                self.rows.clear()
        """,
    "a helper that replaces what it is given": """
        def cut(found):
            for key, value in found.items():
                if isinstance(value, torch.Tensor):
                    found[key] = value.detach()
            return found

        def train(loader):
            net, kept, numbers = nn.Linear(8, 2), [], []
            for x, y in loader:
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                kept.append(cut({"loss": loss, "size": len(x)}))
                loss.detach_()
                numbers.append(loss)
            return kept, numbers
        """,
    "entries that are deleted before the rest is kept": """
        def train(loader):
            net, kept = nn.Linear(8, 2), []
            for x, y in loader:
                found = {"out": net(x)}
                found["loss"] = F.cross_entropy(found["out"], y)
                found["loss"].backward()
                found["size"] = len(x)
                del found["out"], found["loss"]
                kept.append(found)
            return kept
        """,
    "queue of a service whose client waits for each answer": """
        import threading

        class Service(threading.Thread):
            def __init__(self, model):
                super().__init__(daemon=True)
                self.model = model.eval()
                self.inbox = queue.Queue()

            @torch.inference_mode()
            def run(self):
                while True:
                    x, done = self.inbox.get()
                    done.put(self.model(x).sum().item())
                    del x, done

        class Client:
            def __init__(self, service):
                self.service = service

            def ask(self, x, done):
                self.service.inbox.put((x, done))

        def main(steps):
            service, done = Service(Net()), queue.Queue()
            service.start()
            client = Client(service)
            for _ in range(steps):
                client.ask(torch.rand(4, 8), done)
                print(done.get())
        """,
    "cache in a decorator that keeps weak references": """
        import weakref

        def remembered(size):
            def around(function):
                @functools.lru_cache(size)
                def cached(reference, *args):
                    return function(reference(), *args)

                @functools.wraps(function)
                def method(self, *args):
                    return cached(weakref.ref(self), *args)

                return method

            return around

        class Scaled(Net):
            @remembered(8)
            def scale(self, size):
                return 1.0 / size
        """,
    "cache in a decorator for each object": """
        def remembered(function):
            @functools.wraps(function)
            def method(self, *args):
                if not hasattr(self, "_found"):
                    self._found = functools.lru_cache(functools.partial(function, self))
                return self._found(*args)

            return method

        class Scaled(Net):
            @remembered
            def scale(self, size):
                return 1.0 / size
        """,
    "copies of an average, trimmed to the last": """
        import copy

        class Averages:
            def __init__(self, model: nn.Module):
                self.average, self.kept = copy.deepcopy(model), []

            def update(self, step):
                if step % 100 == 0:
                    self.kept.append({"step": step, "model": copy.deepcopy(self.average).half()})
                    del self.kept[:-3]
        """,
    "the copy is replaced": """
        import copy

        class Best:
            def __init__(self, model: nn.Module):
                self.model = copy.deepcopy(model)

            def update(self, score):
                if score > 0:
                    self.model = copy.deepcopy(self.model)
        """,
    "session in a store, dropped when it is over": """
        class Session:
            def __init__(self):
                self.summary = None

        class Store:
            def __init__(self):
                self.sessions = {}

            def open(self, session_id):
                if session_id not in self.sessions:
                    self.sessions[session_id] = Session()
                return self.sessions[session_id]

            def drop(self, session_id):
                return self.sessions.pop(session_id, None)

        STORE = Store()

        def serve(calls):
            model = Net().eval()
            for session_id, audio in calls:
                session = STORE.open(session_id)
                with torch.inference_mode():
                    session.summary = model(torch.as_tensor(audio))
                STORE.drop(session_id)
        """,
    "oldest entry goes by the length of the order": """
        class Cache:
            def __init__(self, limit):
                self.limit, self.order, self.entries = limit, deque(), {}

            def put(self, request_id, output: torch.Tensor):
                if len(self.order) >= self.limit:
                    self.entries.pop(self.order.popleft())
                self.order.append(request_id)
                self.entries[request_id] = output.detach()

        def serve(requests):
            cache, model = Cache(4), Net().eval()
            for request_id, x in requests:
                with torch.no_grad():
                    cache.put(request_id, model(x))
        """,
    "decorator that keeps how long each call took": """
        import time

        def timed(fn):
            seconds = {}

            def inner(*args):
                start = time.time()
                result = fn(*args)
                seconds[args] = time.time() - start
                return result

            return inner

        @timed
        def load(path: str) -> torch.Tensor:
            return torch.load(path, map_location="cpu")
        """,
    "a joined tensor that is cut": """
        class Service:
            def __init__(self):
                self.seen = torch.zeros(0, 8)

            def join(self, new):
                self.seen = torch.cat([self.seen, new])[-4:]

        def main(steps):
            service = Service()
            for _ in range(steps):
                service.join(torch.randn(1, 8))
        """,
    "references to the weights, no copies": """
        class Log:
            def __init__(self):
                self.states = {}

            def update(self, epoch, model):
                self.states[epoch] = model.state_dict()

        def main(epochs):
            log, model = Log(), Net()
            for epoch in range(epochs):
                log.update(epoch, model)
        """,
    "a heap of the best few": """
        import heapq

        class Hard:
            def __init__(self):
                self.heap = []

            def offer(self, score, x):
                heapq.heappush(self.heap, (score, x))
                if len(self.heap) > 8:
                    heapq.heappop(self.heap)

        def main(steps):
            hard = Hard()
            for step in range(steps):
                hard.offer(step, torch.randn(8))
        """,
    "one handle a path, opened when a worker first needs it": """
        import h5py
        from torch.utils.data import DataLoader, Dataset

        class Cells(Dataset):
            def __init__(self, paths):
                self.paths = paths
                self.files = {}

            def open(self, path):
                file = self.files.get(path)
                if file is None:
                    file = h5py.File(path, "r")
                    self.files[path] = file
                return file

            def __getitem__(self, index):
                return torch.tensor(self.open(self.paths[index % len(self.paths)])["cell"][index])

        def loader(paths):
            return DataLoader(Cells(paths), num_workers=4)
        """,
    "a cache by a small record of numbers": """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Size:
            height: int
            width: int | None = None

        @functools.lru_cache(maxsize=8)
        def grid(size: Size):
            return torch.zeros(size.height, size.width)

        def make(x):
            return grid(Size(torch.stack([x, x]).max(), 4))
        """,
    "a weak mapping whose values know nothing of their keys": """
        import weakref

        sizes = weakref.WeakKeyDictionary()

        def size_of(model):
            if model not in sizes:
                sizes[model] = [p.detach().clone() for p in model.parameters()]
            return sizes[model]

        def main():
            for _ in range(4):
                size_of(Net())
        """,
    "a dict of the class that each attrs object gets for itself": """
        import attrs

        @attrs.define
        class Tracker:
            tracks: dict = attrs.field(factory=dict)
            names: dict = {}

            def observe(self, key, box):
                self.tracks[key] = box
                self.names["last"] = key
        """,
    "buffer-that-an-unseen-callback-resets": """
        class Rollout:
            def __init__(self):
                self.states = []

            def reset(self):
                self.states.clear()

        def collect(policy, env, observers, steps):
            rollout = Rollout()
            observers.attach(rollout)
            for _ in range(steps):
                with torch.no_grad():
                    rollout.states.append(policy(env.step()))
                observers.notify()

        def reset_by_name(policy, env, steps):
            rollout = Rollout()
            for _ in range(steps):
                with torch.no_grad():
                    rollout.states.append(policy(env.step()))
                getattr(rollout, "reset")()
    """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    check_syntax(INNOCENT[name])
