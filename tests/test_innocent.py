"""Programs that look guilty and are not."""

from __future__ import annotations

import textwrap

import pytest
from snippets import PRELUDE, check

INNOCENT = {
    "numbers of the parts of a loss whose sum is back-propagated": """
        def train(agent, loader, optimizer):
            history = []
            for batch in loader:
                losses = agent.compute(batch)
                loss = sum(losses) if isinstance(losses, tuple) else losses
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if isinstance(losses, tuple):
                    history.append([part.item() for part in losses])
                else:
                    history.append(losses.item())
            return history
        """,
    "weights whose sum is one term of what is back-propagated": """
        def train(agent, loader, optimizer):
            seen = []
            for batch in loader:
                weights = agent.weights(batch)
                loss = sum(weights) * agent.compute(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen.append(weights)
            return seen
        """,
    "running level that another method wipes, without its graph": """
        class Level(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("level", torch.zeros(size))

            def wipe(self):
                self.level.zero_()

            def forward(self, x):
                if not self.training:
                    return x - self.level
                mean = x.mean(0)
                with torch.no_grad():
                    self.level = 0.9 * self.level + 0.1 * mean
                return x - mean

        def main():
            model = nn.Sequential(nn.Linear(8, 4), Level(4))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                loss = model(torch.rand(4, 8)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "gradients that are reset by a method after the last pass": """
        class Rates:
            def __init__(self, model):
                self.tied = list(model.parameters())

            def close(self):
                for weight in self.tied:
                    weight.grad = None

        def fit(batches):
            model = Net()
            rates = Rates(model)
            for x, y in batches:
                F.cross_entropy(model(x), y).backward(create_graph=True)
            rates.close()

        def main():
            batches = [(torch.rand(4, 8), torch.zeros(4).long()) for _ in range(3)]
            for _ in range(5):
                fit(batches)
    """,
    "gradients that the caller resets after the last pass": """
        def fit(model, batches):
            for x, y in batches:
                F.cross_entropy(model(x), y).backward(create_graph=True)

        def main():
            batches = [(torch.rand(4, 8), torch.zeros(4).long()) for _ in range(3)]
            for _ in range(5):
                model = Net()
                fit(model, batches)
                model.zero_grad()
    """,
    "entries that are replaced where the dictionary is gone through": """
        class Weights:
            def __init__(self, model, rate):
                self.model, self.table = model, dict(model.named_parameters())
                self.rate = torch.tensor(rate, requires_grad=True)

            def step(self, loss):
                gradients = torch.autograd.grad(loss, list(self.table.values()))
                for key, gradient in zip(list(self.table), gradients):
                    self.table[key] = self.table[key].detach() - gradient * self.rate

        def main():
            weights = Weights(Net(), 0.1)
            for _ in range(100):
                out = torch.func.functional_call(weights.model, weights.table, (torch.rand(4, 8),))
                weights.step(F.cross_entropy(out, torch.zeros(4).long()))
    """,
    "mean under a name that is put together": """
        class Trainer:
            def __init__(self, model, what="loss"):
                self.model, self.what, self.history = model, what, []
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

            def run(self, x, y, stage):
                out = self.model(x)
                return {f"{stage}_{key}": part for key, part in {"out": out, "loss": F.cross_entropy(out, y)}.items()}

            def fit(self, loader, stage):
                for _ in range(10):
                    seen = []
                    for x, y in loader:
                        figures = self.run(x, y, stage)
                        self.optimizer.zero_grad()
                        figures[f"{stage}_loss"].backward()
                        self.optimizer.step()
                        seen.append(figures[f"{stage}_loss"].detach())
                    figures[f"mean_{self.what}"] = torch.stack(seen).mean()
                    self.history.append(figures[f"mean_{self.what}"])
                print(torch.stack(self.history))

        def main(stage="train"):
            Trainer(Net()).fit([(torch.rand(4, 8), torch.zeros(4).long())], stage)
    """,
    "model that is run for what its hooks are given": """
        class Probe:
            def __init__(self, model):
                self.model, self.seen = model.eval(), None
                self.handle = model.layer.register_forward_hook(self.note)

            def note(self, module, inputs, output):
                self.seen = output

            def look(self, x):
                self.model(x)
                return self.seen

            def close(self):
                self.handle.remove()

        def main():
            probe = Probe(Net())
            picture = torch.zeros(1, 8, requires_grad=True)
            optimizer = torch.optim.SGD([picture], lr=0.1)
            for _ in range(100):
                loss = probe.look(picture).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            probe.close()
    """,
    "generator that goes on from what it drew, detached or without gradients": """
        class Chain(nn.Module):
            def __init__(self):
                super().__init__()
                self.step_net = nn.Linear(4, 4)

            def forward(self, x):
                return (self.step_net(x) - x).pow(2).mean()

            def sample(self, count):
                state = torch.randn(count, 4)
                for _ in range(50):
                    state = state - 0.1 * self.step_net(state)
                return state

            def generate(self, count):
                state = torch.randn(count, 4)
                for _ in range(50):
                    state = (state - 0.1 * self.step_net(state)).detach()
                return state

        def main():
            chain = Chain()
            optimizer = torch.optim.SGD(chain.parameters(), lr=0.1)
            for _ in range(10):
                loss = chain(torch.rand(4, 4)) + chain.generate(4).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                print(chain.sample(8).shape, chain.generate(8).shape)
    """,
    "sampler that its caller differentiates": """
        class Planner(nn.Module):
            def __init__(self):
                super().__init__()
                self.move = nn.Linear(4, 4)

            def sample(self, state):
                for _ in range(10):
                    state = state + 0.1 * self.move(state)
                return state

        def main():
            planner = Planner()
            optimizer = torch.optim.SGD(planner.parameters(), lr=0.1)
            for _ in range(100):
                loss = planner.sample(torch.rand(4, 4)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "weights that the step after is taken through": """
        class Fast:
            def __init__(self, model):
                self.model = model
                self.weights = dict(model.named_parameters())

            def move(self, loss):
                gradients = torch.autograd.grad(loss, list(self.weights.values()), create_graph=True)
                moved = {}
                for (name, weight), gradient in zip(self.weights.items(), gradients):
                    moved[name] = weight - 0.1 * gradient
                self.weights = moved

            def loss(self):
                out = torch.func.functional_call(self.model, self.weights, (torch.rand(4, 8),))
                return F.cross_entropy(out, torch.zeros(4).long())

        def main():
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                fast = Fast(model)
                for _ in range(3):
                    fast.move(fast.loss())
                optimizer.zero_grad()
                fast.loss().backward()
                optimizer.step()
    """,
    "coefficients of one recursion": """
        def combine(rows, weight):
            parts = []
            for i in range(len(rows)):
                parts.append(rows[i] * weight)
            return torch.stack(parts).sum(0)

        def main():
            weight = torch.ones(4, requires_grad=True)
            rows = torch.rand(3, 4)
            for _ in range(100):
                value = combine(rows, weight)
                print(value.shape)
    """,
    "hook that only runs in the inference mode it was put on in": """
        class Extractor:
            def __init__(self, model):
                self.model = model
                self.outputs = {}

            def keep(self, name):
                def hook(module, inputs, output):
                    self.outputs[name] = output

                return hook

            @torch.inference_mode()
            def extract(self, batches, name):
                handle = dict(self.model.named_modules())[name].register_forward_hook(self.keep(name))
                found = []
                try:
                    for batch in batches:
                        self.model(batch)
                        found.append(self.outputs[name].mean(1).tolist())
                finally:
                    handle.remove()
                return found

        def main(batches):
            print(Extractor(Net()).extract(batches, "layer"))
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
    "layers of one model that choose a method": """
        class Layer(nn.Module):
            def __init__(self, first):
                super().__init__()
                self.body = nn.Linear(8, 8)
                self.chosen = self.one if first else self.other

            def one(self, x):
                return self.body(x)

            def other(self, x):
                return x + self.body(x)

            def forward(self, x):
                return self.chosen(x)

        class Tower(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = nn.ModuleList()
                for number in range(depth):
                    layer = Layer(number == 0)
                    self.layers.append(layer)

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        @torch.no_grad()
        def main(loader):
            tower = Tower(4)
            for x in loader:
                print(tower(x).mean().item())
        """,
    "parts of a checkpoint that are dropped or wanted": """
        def resume(path, steps):
            model, anchor = Net(), None
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            checkpoint = torch.load(path, map_location="cpu")
            weights = checkpoint["model"]
            model.load_state_dict(weights)
            del checkpoint
            for _ in range(steps):
                loss = sum((p - weights[name]).square().sum() for name, p in model.named_parameters())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "texts of the batches that workers send": """
        from torch.utils.data import DataLoader

        def scan(data, model):
            loader = DataLoader(data, batch_size=8, num_workers=4)
            paths, names = [], []
            for batch in loader:
                paths.append(batch["path"])
                names.append(batch["file_name"])
            for x, path in loader:
                paths.append(path)
            return paths, names
        """,
    "outcomes with exceptions of what runs no model": """
        def parse(line):
            try:
                return int(line), None
            except ValueError as error:
                return 0, error

        def parse_all(lines):
            rows = []
            for line in lines:
                rows.append(parse(line))
            return rows
        """,
    "evaluation under no_grad that is fed by another module": """
        def look_up(embeddings, ids):
            return embeddings(ids)

        @torch.no_grad()
        def evaluate(loader, model, embeddings):
            model.eval()
            return torch.cat([model(look_up(embeddings, ids)).argmax(dim=1) for ids in loader])

        def main(loader):
            print(evaluate(loader, Net(), nn.Embedding(9, 8)))
        """,
    "layers run over a loader for a caller that nobody sees": """
        class Layers(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

            def inference(self, loader, table):
                for layer in self.layers:
                    for rows, x in loader:
                        table[rows] = layer(x).cpu()
                return table
        """,
    "attack on a model that is evaluated": """
        def evaluate(loader, model):
            model.eval()
            for x, y in loader:
                x.requires_grad_(True)
                loss = F.cross_entropy(model(x), y)
                attacked = x + 0.1 * torch.autograd.grad(loss, x)[0].sign()
                with torch.no_grad():
                    print((model(attacked).argmax(1) == y).sum().item())
        """,
    "test of a loader under the caller's no_grad": """
        def test(loader, model):
            return sum(int((model(x).round() != y).sum()) for x, y in loader)

        def main(loader):
            with torch.no_grad():
                print(test(loader, Net()))
        """,
    "recorder that returns itself and keeps no graph": """
        class Recorder:
            def __init__(self, model):
                self.model = model
                self.features = []
                self.handle = None

            def keep(self, module, args, output):
                self.features.append(output.detach())

            def __enter__(self):
                self.handle = self.model.layer.register_forward_hook(self.keep)
                return self

            def __exit__(self, *error):
                self.handle.remove()
        """,
    "loader of a graph library beside its modules": """
        from graphs.nn.models import NeighborLoader

        neighbors = NeighborLoader(100, size=10)

        def test(batches):
            neighbors.reset_state()
            return [len(neighbors(batch)[0]) for batch in batches]
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
    "hook that can be called, taken out when the object is closed": """
        class Tap:
            def __init__(self):
                self.value = None

            def __call__(self, module, inputs, output):
                self.value = output.detach()

        class Features:
            def __init__(self, model, names):
                self.taps, self.handles = {}, []
                parts = dict(model.named_modules())
                for name in names:
                    self.taps[name] = Tap()
                    self.handles.append(parts[name].register_forward_hook(self.taps[name]))

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def read(loader):
            model = Net().eval()
            for x in loader:
                features = Features(model, ["layer"])
                with torch.no_grad():
                    model(x)
                features.close()
        """,
    "taps that are put on the layers of one model, once": """
        class Tap:
            def __init__(self):
                self.value = None

            def __call__(self, module, inputs, output):
                self.value = output.detach()

        def watch(model: Net, names, loader):
            taps = []
            for name in names:
                tap = Tap()
                taps.append(tap)
                model.get_submodule(name).register_forward_hook(tap)
            with torch.no_grad():
                for x in loader:
                    model(x)
        """,
    "recorder of each round, given to an exit stack": """
        import contextlib

        class Recorder:
            def __init__(self, model):
                self.rows = []
                self.handles = [model.layer.register_forward_hook(self.keep)]

            def keep(self, module, inputs, output):
                self.rows.append(output.detach())

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def run(loader):
            model = Net().eval()
            for x in loader:
                with contextlib.ExitStack() as stack, torch.no_grad():
                    recorder = Recorder(model)
                    stack.callback(recorder.close)
                    model(x)
        """,
    "recorder of each model": """
        class Recorder:
            def __init__(self, model):
                self.rows = []
                self.handles = [model.layer.register_forward_hook(self.keep)]

            def keep(self, module, inputs, output):
                self.rows.append(output.detach())

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def run(folds, x):
            for fold in folds:
                model = Net().eval()
                recorder = Recorder(model)
                with torch.no_grad():
                    model(x)
                print(len(recorder.rows))
        """,
    "what hooks put on modules is read when they are gone": """
        def keep(module, inputs, output):
            module.seen = output.detach()

        def features(model: Net, x):
            handle = model.layer.register_forward_hook(keep)
            try:
                with torch.no_grad():
                    model(x)
            finally:
                handle.remove()
            return model.layer.seen
        """,
    "handler of a signal that is put back": """
        import signal

        class Saver:
            def __init__(self, model):
                self.model = model
                self.before = {}

            def __enter__(self):
                self.before[signal.SIGUSR1] = signal.getsignal(signal.SIGUSR1)
                signal.signal(signal.SIGUSR1, self.save)
                return self

            def save(self, number, frame):
                torch.save(self.model.state_dict(), "last.pt")

            def __exit__(self, *error):
                for number, handler in self.before.items():
                    signal.signal(number, handler or signal.SIG_DFL)

        def jobs(seeds):
            for seed in seeds:
                with Saver(Net()):
                    print(seed)
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
    "listeners that are taken out by what subscribing gave": """
        LISTENERS = []

        class Token:
            def __init__(self, listener):
                self.listener = listener

            def cancel(self):
                LISTENERS.remove(self.listener)

        def subscribe(listener):
            LISTENERS.append(listener)
            return Token(listener)

        class Session:
            def __init__(self):
                self.latent = torch.zeros(64, 512, requires_grad=True)
                self.token = subscribe(self.on_rate)

            def on_rate(self, rate):
                self.rate = rate

            def close(self):
                self.token.cancel()

        def run(n):
            for _ in range(n):
                session = Session()
                session.latent.square().sum().backward()
                session.close()
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
    "attributes-that-are-put-back-all-at-once": """
class Recorder:
    def __init__(self):
        self.seen = []

    def forward(self, x):
        self.seen.append(torch.zeros(x.shape))
        return x

    def rewind(self, before):
        state = self.__dict__
        state.update(before)
""",
    "a decorator of the project that enters no_grad around the call": """
        import functools

        def inference(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                with torch.no_grad():
                    return fn(*args, **kwargs)
            return wrapper

        class Scorer:
            def __init__(self, model):
                self.model = model.eval()
                self.scores = []

            @inference
            def accept(self, x):
                score = self.model(x)
                self.scores.append(score)
                return score.argmax(-1).tolist()

            def flush(self):
                self.scores.clear()
        """,
    "a state that a helper cuts off, however it is made up": """
        def cut(state):
            if isinstance(state, torch.Tensor):
                return state.detach()
            if isinstance(state, (list, tuple)):
                return type(state)(cut(part) for part in state)
            if isinstance(state, dict):
                return {name: cut(part) for name, part in state.items()}
            return state

        def tune(head, loader, optim):
            rnn, state = nn.LSTM(8, 8), None
            for x in loader:
                out, state = rnn(x, state)
                optim.zero_grad()
                head(out).sum().backward(inputs=list(head.parameters()))
                optim.step()
                state = cut(state)
        """,
    "a model that its constructor freezes": """
        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(8, 8), nn.GELU())
                for p in self.parameters():
                    p.requires_grad_(False)

            def forward(self, x):
                return self.body(x)

        class Distance:
            def __init__(self, model):
                self.model = model.eval()

            def __call__(self, x):
                return self.model(x).mean().item()

        def main(steps):
            distance = Distance(Features())
            for _ in range(steps):
                distance(torch.rand(2, 8))
        """,
    "a sum of tensors on an attribute": """
        class Total:
            def __init__(self):
                self.total = torch.zeros(8)

            def add(self, x):
                self.total = self.total + x

        def main(steps):
            total = Total()
            for _ in range(steps):
                total.add(torch.randn(8))
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
    "an exception kept for the next attempt without its frames": """
        def attempt(model, x):
            last = None
            for _ in range(3):
                try:
                    return model(x)
                except RuntimeError as error:
                    last = error.with_traceback(None)
            raise last
        """,
    "unsubscribed when it is done": """
        class Bus:
            def __init__(self):
                self.handlers = []

            def on(self, handler):
                self.handlers.append(handler)

            def off(self, handler):
                self.handlers.remove(handler)

        BUS = Bus()

        class Trainer:
            def __init__(self):
                self.model = Net()
                BUS.on(self.stop)

            def stop(self):
                BUS.off(self.stop)

        def main(trials):
            for _ in range(trials):
                Trainer().stop()
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
    "a running mean with a method of its own to take a value in": """
        class Loop:
            def __init__(self, trainer):
                self.trainer = trainer
                self.running = None

            def run(self, model, loader, optimizer):
                for x, y in loader:
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
                    self.running.append(loss)
                    if self.running.mean() > 4:
                        self.running.reset()
        """,
    "a container of the values that have `detach`": """
        def free(values):
            out = {}
            for key, value in values.items():
                if callable(getattr(value, "detach", None)):
                    out[key] = value.detach()
                else:
                    out[key] = value
            return out

        def train(model, loader, optimizer):
            kept = []
            for batch in loader:
                logs = model.training_step(batch)
                logs["loss"].backward()
                optimizer.step()
                kept.append(free(logs))
            return kept
        """,
    "a step's output whose loss is detached before it is kept": """
        def train(module, loader, optimizer):
            outputs = []
            for i, batch in enumerate(loader):
                optimizer.zero_grad()
                output = module.training_step(batch, i)
                output["loss"].backward()
                optimizer.step()
                output["loss"] = output["loss"].detach()
                outputs.append(output)
            return module.training_epoch_end(outputs)
        """,
    "closures that refer to each other, kept on their object": """
        class Metric:
            def wrap(self, update):
                def wrapped(*args):
                    return inner(*args)

                def inner(*args):
                    self.count += 1
                    return update(*args) if args else wrapped(0)

                self.update = wrapped
        """,
    "lengths that a module hands out next to its features": """
        class Recognizer(nn.Module):
            def __init__(self, frontend, encoder, speakers):
                super().__init__()
                self.frontend = frontend
                self.encoder = nn.GRU(8, 8)
                self.speakers = speakers

            def recognize(self, x, lens):
                self.eval()
                hs, hlens, mask = self.frontend(x, lens)
                hlens_n = [None] * self.speakers
                for i in range(self.speakers):
                    hs[i], hlens_n[i] = self.encoder(hs[i], hlens)
                return [h.argmax(-1) for h in hs], hlens_n
        """,
    "hidden states of one pass, trimmed": """
        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = Net()

            def forward(self, x, most):
                feats = self.model(x).hidden_states
                feats = [h[:, :most, :] for h in feats]
                return feats[-1]
        """,
    "blocks of a model that choose their pass when they are made": """
        class Block(nn.Module):
            def __init__(self, split):
                super().__init__()
                self.conv = nn.Conv2d(8, 8, 3)
                self.forward = self.by_slice if split else self.by_parts

            def by_slice(self, x):
                return self.conv(x)

            def by_parts(self, x):
                return self.conv(x)

        def build(depth):
            return nn.Sequential(*[Block(i % 2) for i in range(depth)])
        """,
    "features of the last pass that the owner's method lets go": """
        class Up(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv3d(8, 8, 3)
                self.previous = None

            def drop(self):
                self.previous = None

            def forward(self, x):
                x = self.conv(x)
                if self.previous is None:
                    self.previous = x
                return x

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = Up()

            def forward(self, x):
                out = torch.cat([self.up(part) for part in x.split(4)])
                for module in self.modules():
                    if isinstance(module, Up):
                        module.drop()
                return out
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
    "the state of a scheduler, loaded where it was saved": """
        def resume(scheduler, rank):
            torch.distributed.init_process_group("nccl", rank=rank)
            scheduler.load_state_dict(torch.load("scheduler.pt"))
        """,
    "one of two columns, and parts that are computed with": """
        @torch.no_grad()
        def evaluate(model, loader):
            scores, normed = [], []
            for x in loader:
                hidden = model(x)
                scores.append(hidden[:, 1])
                normed.append(hidden[:, 0, :] * 2)
            return torch.cat(scores), torch.cat(normed)
        """,
    "a callback of the one object that lives as long as the program": """
        class Server:
            def __init__(self):
                self.model = Net()
                self.handler = self.answer

            def answer(self, x):
                return self.model(x)

        def serve():
            server = Server()
            while True:
                server.handler(torch.rand(8)).sum().backward()
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
    "a-result-that-numpy-takes-has-no-graph": """
import torch


class Problem:
    def __init__(self, model: torch.nn.Module, score: torch.nn.Module) -> None:
        self.model, self.score = model.eval(), score.eval()

    def evaluate(self, x, out):
        with torch.no_grad():
            y = self.model(x)
        value = self.score(y)
        out["cost"] = -value.cpu().numpy()
        print(self.score(y).numpy())
""",
    "code book averaged through data": """
        class VQ(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("size", torch.zeros(8))
                self.register_buffer("mean", torch.zeros(8, 4))
                self.embed = nn.Embedding(8, 4)
                self.decay = 0.9

            def forward(self, x):
                index = torch.cdist(x, self.embed.weight).argmin(1)
                onehot = F.one_hot(index, 8).float()
                if self.training:
                    self.size.data.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                    self.mean.data.mul_(self.decay).add_(onehot.t() @ x.detach(), alpha=1 - self.decay)
                    self.embed.weight.data.copy_(self.mean / self.size[:, None])
                return self.embed(index)
        """,
    "queue of keys under no_grad": """
        class Moco(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder_q, self.encoder_k = Net(), Net()
                self.register_buffer("queue", torch.randn(2, 128))

            @torch.no_grad()
            def _update(self):
                for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                    k.data = k.data * 0.9 + q.data * 0.1

            @torch.no_grad()
            def _enqueue(self, keys):
                self.queue[:, : len(keys)] = keys.t()

            def forward(self, a, b):
                q = self.encoder_q(a)
                with torch.no_grad():
                    self._update()
                    k = self.encoder_k(b)
                logits = torch.cat([q @ k.t(), q @ self.queue.clone().detach()], 1)
                self._enqueue(k)
                return logits
        """,
    "phases with set_grad_enabled": """
        def fit(model: Net, loaders, optimizer):
            for epoch in range(10):
                for phase in ("train", "val"):
                    model.train() if phase == "train" else model.eval()
                    running, preds = 0.0, []
                    for x, y in loaders[phase]:
                        optimizer.zero_grad()
                        with torch.set_grad_enabled(phase == "train"):
                            out = model(x)
                            loss = F.cross_entropy(out, y)
                            if phase == "train":
                                loss.backward()
                                optimizer.step()
                        running += loss.item() * x.size(0)
                        preds.append(out.argmax(1))
        """,
    "rollout recorded under no_grad": """
        class Agent:
            def __init__(self):
                self.actor, self.critic = Net(), Net()
                self.buffer = []
            @torch.no_grad()
            def act(self, state):
                dist = torch.distributions.Categorical(logits=self.actor(state))
                a = dist.sample()
                self.buffer.append((state, a, dist.log_prob(a), self.critic(state)))
                return a
            def learn(self, optimizer):
                for state, a, old, value in self.buffer:
                    dist = torch.distributions.Categorical(logits=self.actor(state))
                    ratio = (dist.log_prob(a) - old).exp()
                    loss = -(ratio * value).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                self.buffer = []
        """,
    "likelihoods of a pretrained model": """
        from transformers import GPT2LMHeadModel
        def perplexity(chunks):
            model = GPT2LMHeadModel.from_pretrained("gpt2")
            nlls = []
            for ids in chunks:
                with torch.no_grad():
                    outputs = model(ids, labels=ids)
                    nll = outputs.loss * 4
                nlls.append(nll)
            return torch.exp(torch.stack(nlls).mean())
        """,
    "grad mode that depends": """
        import contextlib
        def run(model: Net, loader, training):
            outs = []
            for x, y in loader:
                with contextlib.nullcontext() if training else torch.no_grad():
                    outs.append(model(x).argmax(1))
            return outs
        """,
    "epoch sums of detached losses": """
        def train(model: Net, loader, optimizer):
            history = []
            for epoch in range(10):
                epoch_loss = 0
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
                    epoch_loss += loss.detach()
                history.append(epoch_loss / len(loader))
        """,
    "losses reduced over ranks": """
        def train(model, loader, optimizer, logger):
            for images, targets in loader:
                loss_dict = model(images, targets)
                losses = sum(loss for loss in loss_dict.values())
                reduced = reduce_dict(loss_dict)
                value = sum(loss for loss in reduced.values()).item()
                optimizer.zero_grad()
                losses.backward()
                optimizer.step()
                logger.update(loss=value, **reduced)
        """,
    "skip connections": """
        class UNet(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.ModuleList([nn.Conv2d(3, 3, 3) for _ in range(3)])
                self.up = nn.ModuleList([nn.Conv2d(6, 3, 3) for _ in range(3)])
            def forward(self, x):
                skips = []
                for d in self.down:
                    x = d(x)
                    skips.append(x)
                for u in self.up:
                    x = u(torch.cat([x, skips.pop()], 1))
                return x
        """,
    "cache kept by a decorated method": """
        class LM(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.LSTM(8, 8)
                self.cache = None
            @torch.no_grad()
            def generate(self, x, n):
                out = []
                for _ in range(n):
                    x, self.cache = self.cell(x, self.cache)
                    out.append(x)
                return torch.cat(out)
            def forward(self, x):
                return self.cell(x)[0]
        """,
    "caller turns gradients off for a method": """
        class Diffusion:
            def __init__(self):
                self.model = Net()
            def step(self, x, t):
                return x - self.model(x)
            def loop(self, x):
                xs = []
                for t in range(100):
                    x = self.step(x, t)
                    xs.append(x)
                return xs
            def sample(self, n):
                with torch.no_grad():
                    return self.loop(torch.randn(n, 8))
        """,
    "rows of a jacobian": """
        def jacobian(y, x):
            rows = []
            for i in range(y.numel()):
                (row,) = torch.autograd.grad(y[i], x, retain_graph=True)
                rows.append(row)
            return torch.stack(rows)
        """,
    "truncated back-propagation": """
        def train(chunks, k):
            net, head = nn.GRUCell(8, 8), nn.Linear(8, 1)
            h = torch.zeros(1, 8)
            loss = 0.0
            for i, x in enumerate(chunks):
                h = net(x, h)
                loss = loss + head(h).mean()
                if i % k == k - 1:
                    loss.backward()
                    loss = 0.0
                    h = h.detach()
        """,
    "inner steps of a meta-learner": """
        def maml(tasks, optimizer):
            model = Net()
            for batch in tasks:
                outer = []
                for sx, sy, qx, qy in batch:
                    fast = list(model.parameters())
                    for _ in range(3):
                        loss = F.mse_loss(F.linear(sx, fast[0], fast[1]), sy)
                        grads = torch.autograd.grad(loss, fast, create_graph=True)
                        fast = [p - 0.1 * g for p, g in zip(fast, grads)]
                    outer.append(F.mse_loss(F.linear(qx, fast[0], fast[1]), qy))
                optimizer.zero_grad()
                torch.stack(outer).mean().backward()
                optimizer.step()
        """,
    "decorator that is made by a function": """
        def no_grad_if(flag):
            def deco(f):
                @functools.wraps(f)
                def inner(*a):
                    with torch.no_grad():
                        return f(*a)
                return inner
            return deco
        @no_grad_if(True)
        def evaluate(model: Net, loader):
            model.eval()
            return [model(x) for x, _ in loader]
        """,
    "a name rebound to a float before it is kept": """
        def find_rate(model: Net, optimizer, loader):
            losses = []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                loss = loss.detach().cpu().item()
                smooth = loss
                losses.append(smooth if not losses else 0.9 * losses[-1] + 0.1 * smooth)
                losses.append(loss)
            return losses
        """,
    "a long no_grad block": """
        def evaluate(model: Net, loader, criterion):
            total = 0
            lines = []
            with torch.no_grad():
                metric = []
                for x, y in loader:
                    scores = model(x)
                    loss = criterion(scores, y)
                    total += loss
                    metric.append(scores)
                    for sentence, score in zip(x, scores):
                        lines.append(f"{sentence} {score}")
                total /= len(loader)
                return total, metric, lines
        """,
    "helper that gives a number": """
        def value(loss):
            return loss.item()

        def train(loader):
            model, total, log = Net(), 0.0, []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                total += value(loss)
                log.append(value(loss))
            return total, log
        """,
    "method that gives a number": """
        class Trainer:
            def __init__(self):
                self.model, self.losses = Net(), []

            def step(self, x, y):
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                return loss.item()

            def fit(self, loader):
                for x, y in loader:
                    self.losses.append(self.step(x, y))
        """,
    "autograd.grad without create_graph": """
        def saliency(model: Net, loader):
            maps = []
            for x, y in loader:
                x.requires_grad_(True)
                loss = F.cross_entropy(model(x), y)
                (gradient,) = torch.autograd.grad(loss, x)
                maps.append(gradient)
            return maps
        """,
    "preallocated buffer": """
        @torch.no_grad()
        def embed(model: Net, loader, n):
            table = torch.zeros(n, 2)
            for i, (x, _) in enumerate(loader):
                table[i] = model(x)
            return table
        """,
    "preallocated rows that go backward": """
        def loss_of(model: Net, parts):
            rows = torch.zeros(len(parts), 2)
            for i, part in enumerate(parts):
                rows[i] = model(part)
            return rows.logsumexp(0).sum()
        """,
    "layers": """
        class Deep(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

            def forward(self, x):
                skips = []
                for layer in self.layers:
                    x = layer(x)
                    skips.append(x)
                return x + sum(skips)
        """,
    "layers by number": """
        class Deep(nn.Module):
            def __init__(self, layers):
                super().__init__()
                self.num_layers = layers
                self.layer = nn.Linear(8, 8)

            def forward(self, x):
                for _ in range(self.num_layers):
                    x = self.layer(x)
                return x
        """,
    "list stacked and returned": """
        class Unrolled(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(8, 8)

            def forward(self, xs):
                hidden = torch.zeros(1, 8)
                outputs = []
                for x in xs:
                    hidden = self.cell(x, hidden)
                    outputs.append(hidden)
                return torch.stack(outputs)
        """,
    "list returned": """
        class Pyramid(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])

            def forward(self, x):
                levels = {}
                for index, block in enumerate(self.blocks):
                    x = block(x)
                    levels[f"p{index}"] = x
                return levels
        """,
    "accelerator with item": """
        def train(model: Net, loader, accelerator, optimizer):
            total = 0.0
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                total += accelerator.gather(loss.detach()).mean()
                total += loss.item()
            return total
        """,
    "tokenizer": """
        from transformers import AutoTokenizer

        def encode(texts):
            tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
            encoded = []
            for text in texts:
                encoded.append(tokenizer(text, return_tensors="pt"))
            return encoded
        """,
    "tokenizer of a class": """
        class Data:
            def __init__(self, tokenizer):
                self.tokenizer = tokenizer
                self.items = []

            def load(self, lines):
                for line in lines:
                    self.items.append(self.tokenizer(line)["input_ids"])
        """,
    "state_dict copies": """
        import copy

        def train(model: Net, loader, optimizer):
            best, snapshots = None, []
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
                best = copy.deepcopy(model.state_dict())
                snapshots.append({k: v.cpu().clone() for k, v in model.state_dict().items()})
            return best, snapshots
        """,
    "checkpoint dictionary": """
        def convert(state_dict):
            converted = {}
            for key, value in state_dict.items():
                converted[f"model.{key}"] = value
                converted[key.replace("a", "b")] = value.view(-1)
            return converted
        """,
    "two backwards share a graph": """
        def train(loader, opt_g, opt_d):
            generator, discriminator = Net(), Net()
            for x, noise in loader:
                fake = generator(noise)
                loss_d = discriminator(fake.detach()).mean() - discriminator(x).mean()
                opt_d.zero_grad()
                loss_d.backward()
                opt_d.step()
                loss_g = -discriminator(fake).mean()
                opt_g.zero_grad()
                loss_g.backward()
                opt_g.step()
        """,
    "graph retained for the second backward": """
        def train(loader, opt_g, opt_d):
            generator, discriminator = Net(), Net()
            for noise in loader:
                fake = generator(noise)
                score = discriminator(fake)
                opt_d.zero_grad()
                score.mean().backward(retain_graph=True)
                opt_g.zero_grad()
                (-score).logsumexp(0).sum().backward()
                opt_d.step()
                opt_g.step()
        """,
    "hidden state made anew for each sequence": """
        def train(sequences, optimizer):
            cell, head = nn.GRUCell(8, 8), nn.Linear(8, 1)
            for sequence in sequences:
                hidden = torch.zeros(1, 8)
                loss = 0.0
                for x in sequence:
                    hidden = cell(x, hidden)
                    loss = loss + head(hidden).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "hidden state detached": """
        def train(chunks):
            net, head = nn.LSTM(8, 8), nn.Linear(8, 1)
            state = None
            for chunk in chunks:
                if state is not None:
                    state = tuple(part.detach() for part in state)
                out, state = net(chunk, state)
                head(out).mean().backward()
        """,
    "hidden state detached by a recursive helper": """
        def repackage(state):
            if isinstance(state, torch.Tensor):
                return state.detach()
            return tuple(repackage(part) for part in state)

        def train(chunks):
            net, head = nn.LSTM(8, 8), nn.Linear(8, 1)
            state = (torch.zeros(1, 8), torch.zeros(1, 8))
            for chunk in chunks:
                state = repackage(state)
                out, state = net(chunk, state)
                head(out).mean().backward()
        """,
    "sum that goes backward after the loop": """
        def train(batches, optimizer):
            for batch in batches:
                model = Net()
                total = 0.0
                for x, y in batch:
                    total += F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        """,
    "list that goes backward after the loop": """
        def update(model: Net, batch, optimizer):
            losses = []
            for x, y in batch:
                losses.append(F.cross_entropy(model(x), y))
            optimizer.zero_grad()
            torch.stack(losses).mean().backward()
            optimizer.step()
        """,
    "losses of an episode": """
        class Agent:
            def __init__(self, optimizer):
                self.policy, self.optimizer = Net(), optimizer
                self.log_probs, self.rewards = [], []

            def act(self, x):
                distribution = torch.distributions.Categorical(logits=self.policy(x))
                action = distribution.sample()
                self.log_probs.append(distribution.log_prob(action))
                return action.item()

            def finish(self):
                loss = sum(-p * r for p, r in zip(self.log_probs, self.rewards))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.log_probs.clear()
                self.rewards.clear()
        """,
    "loss returned by a function that sums": """
        def total_loss(model: Net, batch):
            total = 0.0
            for x, y in batch:
                total = total + F.cross_entropy(model(x), y)
            return total / len(batch)
        """,
    "narrowing by isinstance": """
        def plain(value):
            if isinstance(value, torch.Tensor):
                return value.item()
            return value

        def train(loader):
            model, log = Net(), []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(plain(loss))
                log.append(plain(1.0))
            return log
        """,
    "narrowing in a meter": """
        class Meter:
            def __init__(self):
                self.total = 0.0

            def update(self, value):
                if isinstance(value, torch.Tensor):
                    value = value.detach()
                self.total += value

        def train(loader):
            model, meter = Net(), Meter()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                meter.update(loss)
            return meter
        """,
    "narrowing by hasattr": """
        def number(value):
            return value.item() if hasattr(value, "item") else value

        def train(loader):
            model, total = Net(), 0.0
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                total += number(loss)
            return total
        """,
    "meter that is given numbers": """
        class Meter:
            def __init__(self):
                self.total, self.values = 0.0, []

            def update(self, value, n=1):
                self.total += value * n
                self.values.append(value)

        def train(loader):
            model, meter = Net(), Meter()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                meter.update(loss.item(), len(x))
            return meter
        """,
    "meter of which nothing is known": """
        class Meter:
            def __init__(self):
                self.total, self.values = 0.0, []

            def update(self, value, n=1):
                self.total += value * n
                self.values.append(value)
        """,
    "same name in another function": """
        def train(loader):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()

        def report(rows):
            losses = []
            for row in rows:
                loss = float(row["loss"])
                losses.append(loss)
            return losses
        """,
    "computed in no_grad and used after it": """
        def evaluate(model: Net, loader):
            kept = []
            for x, _ in loader:
                with torch.no_grad():
                    out = model(x)
                kept.append(out)
            return kept
        """,
    "decorated method": """
        class Evaluator:
            def __init__(self):
                self.model, self.outputs = Net(), []

            @torch.no_grad()
            def step(self, x):
                self.model.eval()
                self.outputs.append(self.model(x))

            def reset(self):
                self.outputs.clear()
        """,
    "inference_mode on the caller": """
        def predict(model: Net, x):
            return model(x)

        @torch.inference_mode()
        def main(loader):
            model = Net().eval()
            return [predict(model, x) for x, _ in loader]
        """,
    "grad mode switched for the process": """
        torch.set_grad_enabled(False)

        def evaluate(model: Net, loader):
            model.eval()
            return [model(x) for x, _ in loader]
        """,
    "frozen parameters": """
        def extract(loader):
            model = Net().eval()
            model.requires_grad_(False)
            return [model(x) for x, _ in loader]
        """,
    "validation step of Lightning": """
        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.model, self.outputs = Net(), []

            def training_step(self, batch, batch_idx):
                x, y = batch
                loss = F.cross_entropy(self.model(x), y)
                self.log("loss", loss)
                return loss

            def validation_step(self, batch, batch_idx):
                x, y = batch
                loss = F.cross_entropy(self.model(x), y)
                self.outputs.append(loss)
                return loss

            def on_validation_epoch_end(self):
                self.log("val", torch.stack(self.outputs).mean())
                self.outputs.clear()
        """,
    "hook that detaches": """
        def features(model: Net, loader):
            kept = []
            handle = model.layer.register_forward_hook(lambda module, inputs, output: kept.append(output.detach()))
            try:
                for x, y in loader:
                    F.cross_entropy(model(x), y).backward()
            finally:
                handle.remove()
            return kept
        """,
    "saved for backward": """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, power):
                ctx.save_for_backward(x)
                ctx.power = power
                ctx.shape = x.shape
                ctx.needs = ctx.needs_input_grad[0]
                return x ** power

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return ctx.power * x * grad, None
        """,
    "gradients kept for a second derivative": """
        def penalty(model: Net, x):
            x.requires_grad_(True)
            (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            return (gradient.norm(2, dim=1) - 1).pow(2).mean()

        def train(loader, optimizer):
            model = Net()
            for x, _ in loader:
                loss = model(x).mean() + penalty(model, x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "weights averaged under no_grad": """
        class Average:
            def __init__(self, model: Net):
                self.shadow = {name: value.detach().clone() for name, value in model.named_parameters()}

            @torch.no_grad()
            def update(self, model: Net):
                for name, value in model.named_parameters():
                    self.shadow[name].mul_(0.99).add_(value, alpha=0.01)
                    self.shadow[name] = 0.99 * self.shadow[name] + 0.01 * value
        """,
    "target network detached": """
        def train(loader, optimizer):
            online, target = Net(), Net()
            for x, following in loader:
                with torch.no_grad():
                    goal = target(following).max(1).values
                best = target(following).detach()
                loss = F.mse_loss(online(x).max(1).values, goal) + F.mse_loss(online(x), best)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "numpy sums": """
        import numpy as np

        def average(rows):
            total, kept = np.zeros(3), []
            for row in rows:
                total += np.asarray(row)
                kept.append(np.exp(row))
            return total, kept
        """,
    "batches of data": """
        def collect(dataset):
            images, labels = [], []
            for image, label in dataset:
                images.append(torch.as_tensor(image))
                labels.append(torch.tensor(label))
            return torch.stack(images), torch.cat(labels)
        """,
    "get_loss that is no loss": """
        def summarise(reports):
            losses = []
            for report in reports:
                losses.append(report.get_loss())
                losses.append(read_loss(report))
            return losses
        """,
    "bare calls that act": """
        def prepare(model: Net, x):
            model.to("cuda")
            model.half()
            model.cpu()
            torch.set_grad_enabled(False)
            x.detach_()
            return model
        """,
    "one iteration only": """
        def once(model: Net, x, y):
            losses = []
            loss = F.cross_entropy(model(x), y)
            losses.append(loss)
            losses.append(loss * 2)
            sum(losses).backward()
        """,
    "losses by name, made anew in each step": """
        def train(loader, optimizer):
            model = Net()
            for x, y in loader:
                losses, total = {}, 0.0
                for name in ("a", "b"):
                    losses[name] = F.cross_entropy(model(x), y)
                    total = total + losses[name]
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
                print({name: loss.item() for name, loss in losses.items()})
        """,
    "gradient accumulation": """
        def train(loader, optimizer):
            model, pending = Net(), 0.0
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y) / 4
                loss.backward()
                pending += loss.item()
                if step % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
                    pending = 0.0
        """,
    "optimiser closure": """
        def train(loader):
            model = Net()
            optimizer = torch.optim.LBFGS(model.parameters())
            for x, y in loader:
                def closure():
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    return loss

                print(optimizer.step(closure).item())
        """,
    "deferred backward of a schedule": """
        class Schedule:
            def __init__(self):
                self.stage, self.pending = Net(), deque()

            def forward_one(self, x):
                out = self.stage(x)
                self.pending.append(out)
                return out

            def backward_one(self, grad):
                self.pending.popleft().backward(grad)
        """,
    "samples drawn into a list and replaced": """
        @torch.no_grad()
        def sample(model: Net, x, steps):
            frames = []
            for _ in range(steps):
                x = x - 0.1 * model(x)
                frames.append(x)
            return frames
        """,
    "tests are programs too": """
        def test_train(loader=((torch.ones(1, 8), torch.zeros(1).long()),)):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                assert loss.item() > 0
        """,
    "generator of outputs": """
        def outputs(model: Net, loader):
            for x, _ in loader:
                yield model(x)
        """,
    "entries of a row, detached where they have a graph": """
        def train(loader):
            model, rows = Net(), []
            for x, y in loader:
                logits = model(x)
                loss = F.cross_entropy(logits, y)
                loss.backward()
                row = {"loss": loss, "hits": (logits.argmax(1) == y).sum(), "count": len(y)}
                rows.append({k: v.detach() if k == "loss" else v for k, v in row.items()})
            print(sum(row["count"] for row in rows))
        """,
    "a curve of numbers, joined value by value": """
        class Estimator:
            def __init__(self):
                self.net = Net()
                self.curve = torch.empty(0)

            def validation_step(self, x, y):
                with torch.no_grad():
                    cost = F.cross_entropy(self.net(x), y)
                    self.curve = torch.cat([self.curve, cost.reshape(1)])
                return cost.item()
        """,
    "a loss and how much it is about": """
        def train(loader, model):
            total, seen = 0.0, 0
            model.train()
            for batch in loader:
                loss, datapoint_count = model(batch)
                loss.backward()
                total += loss.item()
                seen += datapoint_count
            print(total / seen)
        """,
    "scores sampled from a map, without the dimensions of one element": """
        class Detector(nn.Module):
            def forward(self, maps, places):
                scores = []
                for i in range(len(maps)):
                    found = F.grid_sample(maps[i].unsqueeze(0), places[i].view(1, 1, -1, 2))[0, 0, 0, :]
                    scores.append(found)
                return scores
        """,
    "maps of a decoder, made level by level": """
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.projections = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

            def forward(self, maps):
                levels = [self.projections[i](level) for i, level in enumerate(maps)]
                memory = torch.cat(levels)
                anchors = memory.detach().topk(3)[0]
                return memory, anchors
        """,
    "detached in each round": """
        def rank(net, make_energy, candidates):
            net.eval()
            energy = make_energy(net, "slice")
            found = [energy(candidate).detach() for candidate in candidates]
            return torch.cat(found).numpy()
        """,
    "made from a model, and nobody knows of a graph": """
        def explain(net, make_explainer, loader):
            net.eval()
            explainer = make_explainer(net)
            maps = [explainer(x) for x in loader]
            return torch.cat(maps).cpu()
        """,
    "only the last round is detached": """
        def settle(net: nn.Module, x):
            for _ in range(3):
                y = net(x)
            return y.detach()
        """,
    "collected, differentiated, and detached for the log": """
        def train(net: nn.Module, loader, optimizer):
            losses = []
            for x in loader:
                losses.append(net(x).mean())
            total = torch.stack(losses).sum()
            total.backward()
            optimizer.step()
            return total.detach()
        """,
    "exponential average of a number": """
        def train(loader):
            model, average = Net(), None
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                value = loss.item()
                average = value if average is None else 0.9 * average + 0.1 * value
        """,
    "printed, logged, drawn": """
        def train(loader, writer, bar):
            model = Net()
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                writer.add_scalar("loss", loss, step)
                bar.set_postfix(loss=loss)
                print(step, loss)
        """,
    "states-detached-for-every-layer-after-each-step": """
        class Leaky(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.beta, self.mem = nn.Parameter(torch.ones(size)), torch.zeros(1, size)

            def detach_state(self):
                self.mem = self.mem.detach()

            def forward(self, x):
                self.mem = self.beta * self.mem + x
                return self.mem

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.leaky = nn.Linear(8, 8), Leaky(8)

            def forward(self, frames):
                out = []
                for frame in frames:
                    out.append(self.leaky(self.first(frame)))
                return torch.stack(out)

        def main(loader):
            encoder, head = Encoder(), nn.Linear(8, 2)
            optimizer = torch.optim.SGD(head.parameters())
            for frames, y in loader:
                loss = F.cross_entropy(head(encoder(frames).mean(0).detach()), y)
                loss.backward()
                optimizer.step()
                for layer in encoder.modules():
                    if isinstance(layer, Leaky):
                        layer.detach_state()
    """,
    "released-where-a-setting-that-is-on-says-so": """
        class State:
            def __init__(self, x):
                self.x, self.force = x, torch.zeros_like(x)

            def detach_(self):
                self.x, self.force = self.x.detach(), self.force.detach()

        class Potential(nn.Module):
            def __init__(self, second_order=False):
                super().__init__()
                self.second_order, self.net = second_order, nn.Linear(3, 1)

            def forward(self, state):
                energy = self.net(state.x).sum()
                return -torch.autograd.grad(energy, state.x, create_graph=self.second_order)[0]

        def integrate(x, steps):
            potential, state = Potential(second_order=True), State(x.requires_grad_())
            for _ in range(steps):
                state.force = potential(state)
                state.x = state.x + state.force
                if potential.second_order:
                    state.detach_()
            return state.x
    """,
    "graph-kept-for-a-second-derivative-in-training": """
        class Forces(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 1)

            def forward(self, x):
                energy = self.net(x).sum()
                create = self.training
                force = torch.autograd.grad(energy, x, create_graph=create, retain_graph=True)[0]
                return {"energy": energy, "force": -force}

        def validate(model, loader):
            model.eval()
            total = 0.0
            for x in loader:
                total += model(x.requires_grad_())["force"].abs().sum().item()
            return total

        def main(loader):
            model = Forces()
            model.eval()
            for batch in loader:
                print(model(batch["x"])["force"].abs().sum().item())
    """,
    "model-run-once-for-what-a-hook-sees": """
        def input_scale(model, x):
            seen = []
            handle = model[0].register_forward_hook(lambda m, i, o: seen.append(o.abs().max().item()))
            model(x)
            handle.remove()
            return seen[0]

        def main(x):
            model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
            return input_scale(model, x)
    """,
    "hook-on-the-one-layer-that-is-asked-for": """
        class Probe:
            def __init__(self, model, wanted):
                self.seen = None
                for name, layer in model.named_modules():
                    if name == wanted:
                        self.handle = layer.register_forward_hook(self._save)

            def _save(self, module, inputs, output):
                self.seen = output.detach()

            def close(self):
                self.handle.remove()

        def in_turn(model, x):
            for layer in model.children():
                handle = layer.register_forward_hook(print)
                model(x)
                handle.remove()

        def listed(model, x):
            handles = []
            for layer in model.children():
                handle = layer.register_forward_hook(print)
                handles.append(handle)
            model(x)
            for handle in handles:
                handle.remove()
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
    "generators under no_grad, asked under no_grad": """
        def outputs(model, batches):
            for x in batches:
                yield model(x)

        def main():
            model, batches, kept = Net(), [torch.randn(4, 8) for _ in range(100)], []
            with torch.no_grad():
                for out in outputs(model, batches):
                    kept.append(out)
                best = max(out.max().item() for out in outputs(model, batches))
                mean = sum(model(x).mean() for x in batches) / len(batches)
            print(best, mean, len(kept))
    """,
    "parts of one pass from a generator": """
        def parts(model, x):
            out = model(x)
            for part in out.chunk(4):
                yield part

        def main():
            kept = []
            for part in parts(Net(), torch.randn(4, 8)):
                kept.append(part)
            print(len(kept))
    """,
    "newest losses by name": """
        class Console:
            def __init__(self, names):
                self.names, self.latest, self.before = names, {}, {}

            def update(self, losses):
                for name, value in losses.items():
                    self.latest[name] = value
                for each in self.names:
                    self.before[each] = losses[each]

        def main():
            model, console = Net(), Console(["a", "b"])
            for _ in range(100):
                out = model(torch.randn(4, 8))
                losses = {"a": out.mean(), "b": out.std()}
                sum(losses.values()).backward()
                console.update(losses)
    """,
    "attributes under their names, without a graph": """
        class Stats(nn.Module):
            def __init__(self, names):
                super().__init__()
                for name in names:
                    self.register_buffer(name + "_mean", torch.zeros(8))

            def update(self, name, value):
                old = self._buffers[name + "_mean"]
                self._buffers[name + "_mean"] = 0.9 * old + 0.1 * value.detach().mean(0)
                setattr(self, name + "_last", value)

        def main():
            model, stats = Net(), Stats(["hidden"])
            for _ in range(100):
                out = model(torch.randn(4, 8))
                out.sum().backward()
                stats.update("hidden", out)
    """,
    "model tried once": """
        def build():
            return nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()

        def main():
            model = build()
            out = model(torch.randn(1, 8))
            print(out.shape, out.sum().item())
    """,
    "state object of one training step": """
        class State:
            def __init__(self, batch, width):
                self.h, self.c = torch.zeros(batch, width), torch.zeros(batch, width)

        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.out = nn.LSTMCell(8, 8), nn.Linear(8, 4)

            def forward(self, x, state):
                state.h, state.c = self.cell(x, (state.h, state.c))
                return self.out(state.h)

        def main():
            model = Decoder()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                state, loss = State(4, 8), 0
                for x in torch.randn(5, 4, 8):
                    loss = loss + model(x, state).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "a module's inference method that others may run under no_grad": """
        class Part(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            def inference(self, x):
                return self.layer(x)
        """,
    "inputs taken to the device by a pass of its own": """
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            @torch.no_grad()
            def inference(self, x):
                return self.encode(x)

            def encode(self, x):
                return self.layer(x.to(self.layer.weight.device))

            def _infer(self, x):
                return self.layer(x.to(self.layer.weight.device))
        """,
    "a pass of validation that is called an inference": """
        class DenoiseMasked(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net, self.loss = Net(), nn.CrossEntropyLoss()

            def inference_pass(self, batch):
                x, y = batch
                return {"val_loss": self.loss(self.net(x.to(self.device)), y)}

            @torch.no_grad()
            def transcribe(self, x):
                return self.net(x)

            def compute_loss(self, batch, other: nn.Module):
                return F.mse_loss(self.forward(batch), other(batch))

            def forward(self, batch):
                return self.net(batch)
        """,
    "a frozen reference model in a loss that is handed out": """
        class Tuner:
            def __init__(self, ref_model: nn.Module):
                self.ref_model = ref_model
                self.ref_model.requires_grad_(False)

            def compute_loss(self, model: nn.Module, x):
                return F.mse_loss(model(x), self.ref_model(x))
        """,
    "a reference model whose scores are detached": """
        def compute_loss(model: nn.Module, ref_model: nn.Module, x):
            return F.mse_loss(model(x), ref_model(x).detach())
        """,
    "two models that are trained by the loss that is handed out": """
        def compute_loss(left: nn.Module, right: nn.Module, x):
            return F.mse_loss(left(x), right(x))
        """,
    "a prediction that is differentiated for its input": """
        def predict(net, x):
            net.eval()
            x = x.clone().requires_grad_(True)
            return net(x).sum()
        """,
    "an environment that is differentiated": """
        def unroll(policy, env, observation, optimizer):
            for _ in range(100):
                state, total = None, 0.0
                for _ in range(20):
                    action, state = policy(observation, state)
                    observation, cost = env.step(action)
                    total = total + cost
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        """,
    "gradients off for all that is called later": """
        torch.set_grad_enabled(False)

        def evaluate(model: Net, loader):
            model.eval()
            return sum(model(x).argmax(-1).eq(y).sum().item() for x, y in loader)
        """,
    "an evaluation that is called under no_grad": """
        def evaluate(net, x):
            net.eval()
            return net(x)

        def main(loader):
            net = Net()
            with torch.no_grad():
                return [evaluate(net, x) for x, _ in loader]
        """,
}


@pytest.mark.parametrize("name", list(INNOCENT))
def test_innocent(name: str) -> None:
    assert "# TML" not in INNOCENT[name]
    check(INNOCENT[name])


@pytest.mark.parametrize("name", list(INNOCENT))
def test_is_a_program(name: str) -> None:
    compile(PRELUDE + textwrap.dedent(INNOCENT[name]), "snippet", "exec")
