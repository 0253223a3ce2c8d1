"""Programs that keep what they should not, in many spellings."""

from __future__ import annotations

import textwrap

import pytest
from snippets import PRELUDE, check, known

GUILTY = {
    "running level that another method wipes, read when it evaluates": """
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
                self.level = 0.9 * self.level + 0.1 * mean  # TML101
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
    "gradients that are reset before each pass, and those of another model later": """
        class Rates:
            def __init__(self, model):
                self.model, self.tied = model, []

            def open(self):
                for weight in self.tied:
                    weight.grad = None
                self.tied = list(self.model.parameters())

        def fit(batches):
            model = Net()
            rates = Rates(model)
            for x, y in batches:
                rates.open()
                F.cross_entropy(model(x), y).backward(create_graph=True)  # TML104

        def check_plain(batches):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x, y in batches:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()

        def main():
            batches = [(torch.rand(4, 8), torch.zeros(4).long()) for _ in range(3)]
            for _ in range(5):
                fit(batches)
            check_plain(batches)
    """,
    "rows of figures that are made anew in each epoch": """
        class Trainer:
            def __init__(self, model, measures):
                self.model, self.measures = model, measures
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

            def fit(self, loader):
                for _ in range(3):
                    rows = {name: [] for name in self.measures}
                    for x, y in loader:
                        out = self.model(x)
                        loss = F.cross_entropy(out, y)
                        self.optimizer.zero_grad()
                        loss.backward()
                        self.optimizer.step()
                        for name, measure in self.measures.items():
                            rows[name].append(measure(out, y))  # TML102
                    print({name: float(sum(row)) for name, row in rows.items()})

        def main():
            loader = [(torch.rand(4, 8), torch.zeros(4).long())]
            Trainer(Net(), {"spread": lambda out, y: out.std(), "size": lambda out, y: out.norm()}).fit(loader)
    """,
    "fragments kept under their keys, whose values are detached when they are used": """
        class Agent:
            def __init__(self):
                self.critic = nn.Linear(4, 1)
                self.optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.1)

            def fragment(self, rewards):
                seen = {"states": torch.rand(8, 4), "rewards": rewards}
                seen["returns"] = seen["rewards"] + self.critic(torch.rand(1, 4))[0]
                return seen

            def learn(self, batch):
                wanted = batch["returns"].detach()
                loss = (self.critic(batch["states"]) - wanted).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()

        def main():
            agent = Agent()
            fragments = []
            while len(fragments) < 100:
                fragments.append(agent.fragment(torch.rand(8)))  # TML201
            whole = {key: torch.cat([fragment[key] for fragment in fragments]) for key in fragments[0]}
            agent.learn(whole)
    """,
    "generator that goes on from what it drew, with gradients on": """
        class Chain(nn.Module):
            def __init__(self):
                super().__init__()
                self.step_net = nn.Linear(4, 4)

            def forward(self, x):
                return (self.step_net(x) - x).pow(2).mean()

            def generate(self, count):
                state = torch.randn(count, 4)
                for _ in range(50):
                    state = state - 0.1 * self.step_net(state)  # TML105
                return state

        def main():
            chain = Chain()
            optimizer = torch.optim.SGD(chain.parameters(), lr=0.1)
            for _ in range(10):
                loss = chain(torch.rand(4, 4))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(chain.generate(8).shape)
    """,
    "weights of each step made of those of the last": """
        class Fast:
            def __init__(self, model):
                self.model = model
                self.weights = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}

            def move(self, loss):
                old = list(self.weights.items())
                gradients = torch.autograd.grad(loss, [weight for _, weight in old])
                moved = {}
                for (name, weight), gradient in zip(old, gradients):
                    moved[name] = weight - 0.1 * gradient
                self.weights = moved  # TML205

        def main():
            fast = Fast(Net())
            for _ in range(100):
                out = torch.func.functional_call(fast.model, fast.weights, (torch.rand(4, 8),))
                fast.move(F.cross_entropy(out, torch.zeros(4).long()))
    """,
    "state that a step is given and gives back": """
        class Search:
            def __init__(self, position):
                self.position = position
                self.path = torch.zeros(4)

        def step(search, model):
            search.position = (search.position + 0.1).detach().requires_grad_()
            search.path = search.path + search.position  # TML205
            print(model(search.position).item())
            return search

        def main():
            model = nn.Linear(4, 1)
            search = Search(torch.zeros(4, requires_grad=True))
            for _ in range(100):
                search = step(search, model)
            print(search.path)
    """,
    "experiment that is called a test": """
        class Test:
            def __init__(self, model, loader):
                self.model, self.loader = model, loader

            def test(self):
                self.model.eval()
                losses = []
                for x, y in self.loader:
                    losses.append(F.cross_entropy(self.model(x), y))  # TML102
                return float(torch.stack(losses).mean())
    """,
    "hook that can be called, made by an object of each batch": """
        class Tap:
            def __init__(self):
                self.value = None

            def __call__(self, module, inputs, output):
                self.value = output.detach()

        class Features:
            def __init__(self, model, names):
                self.taps = {}
                parts = dict(model.named_modules())
                for name in names:
                    self.taps[name] = Tap()
                    parts[name].register_forward_hook(self.taps[name])  # TML304

        def read(loader):
            model = Net().eval()
            for x in loader:
                features = Features(model, ["layer"])
                with torch.no_grad():
                    model(x)
                print(features.taps["layer"].value.mean().item())
        """,
    "closure over a mask, put on the same model in each trial": """
        class Faults:
            def __init__(self, model, rate):
                self.handles = []
                for name in ("layer",):
                    part = model.get_submodule(name)
                    part.register_forward_pre_hook(self.flip(torch.rand(64, 8) < rate))  # TML304

            @staticmethod
            def flip(mask):
                def hook(module, args):
                    return (torch.where(mask, -args[0], args[0]),)
                return hook

            def close(self):
                for handle in self.handles:
                    handle.remove()

        def campaign(rates, x):
            model = Net().eval()
            for rate in rates:
                faults = Faults(model, rate)
                with torch.no_grad():
                    print(model(x).mean().item())
                faults.close()
        """,
    "object that registers itself under its id": """
        import uuid
        from dataclasses import dataclass, field

        IMAGES = {}

        @dataclass(eq=False)
        class Image:
            pixels: torch.Tensor
            id: str = field(default_factory=lambda: uuid.uuid4().hex)

            def __post_init__(self):
                IMAGES[self.id] = self  # TML301

        def judge(n):
            total = 0.0
            for _ in range(n):
                total += Image(torch.rand(3, 64, 64)).pixels.mean().item()
            return total
        """,
    "session in a store, filled later, that nobody drops": """
        class Session:
            def __init__(self):
                self.summary = None

        class Store:
            def __init__(self):
                self.sessions = {}

            def open(self, session_id):
                if session_id not in self.sessions:
                    self.sessions[session_id] = Session()  # TML311
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
                print(session.summary.argmax().item())
        """,
    "an average of the weights in a dictionary that is made anew": """
        class Shadow:
            def __init__(self, model):
                self.weights = {k: p.detach().clone() for k, p in model.named_parameters()}

            def update(self, model):
                named = dict(model.named_parameters())
                self.weights = {k: 0.9 * w + 0.1 * named[k] for k, w in self.weights.items()}  # TML205

        def train(model, loader, optim):
            shadow = Shadow(model)
            for x, y in loader:
                optim.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optim.step()
                shadow.update(model)
            return shadow
        """,
    "values filed with the attributes of an object": """
        class Series:
            def log(self, **values):
                for key, value in values.items():
                    self.__dict__.setdefault(key, []).append(value)  # TML102

        def train(model, loader, optim):
            series = Series()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                optim.zero_grad()
                loss.backward()
                optim.step()
                series.log(loss=loss)
            return series
        """,
    "a state that a helper cuts off only if it is one tensor": """
        def cut(state):
            if torch.is_tensor(state):
                return state.detach()
            return state

        def tune(head, loader, optim):
            rnn, state = nn.LSTM(8, 8), None
            for x in loader:
                out, state = rnn(x, state)  # TML105
                optim.zero_grad()
                head(out).sum().backward(inputs=list(head.parameters()))
                optim.step()
                state = cut(state)
        """,
    "adapters put away with setdefault, one for each user": """
        LOADED = {}

        def adapter(user):
            return LOADED.setdefault(user, Net())  # TML301

        def main(users):
            for user in users:
                adapter(user)
        """,
    "tables under a key of which one part is new": """
        class Rotary:
            tables = {}

            def table(self, length, offset):
                key = (length, offset)
                if key not in self.tables:
                    self.tables[key] = torch.arange(offset, offset + length).cos()  # TML302
                return self.tables[key]

        def main(steps):
            rotary = Rotary()
            for step in range(steps):
                rotary.table(8, step * 8)
        """,
    "a heap that is never popped": """
        import heapq

        class Hard:
            def __init__(self):
                self.heap = []

            def offer(self, score, x):
                heapq.heappush(self.heap, (score, x))  # TML303

        def main(steps):
            hard = Hard()
            for step in range(steps):
                hard.offer(step, torch.randn(8))
        """,
    "copies of the weights of every epoch": """
        import copy

        class Stopping:
            def __init__(self):
                self.candidates = {}

            def update(self, epoch, model):
                self.candidates[epoch] = copy.deepcopy(model.state_dict())  # TML311

        def main(epochs):
            stopping, model = Stopping(), Net()
            for epoch in range(epochs):
                stopping.update(epoch, model)
        """,
    "a tensor that is joined to at every call": """
        class Service:
            def __init__(self):
                self.seen = None

            def join(self, new):
                self.seen = new if self.seen is None else torch.cat([self.seen, new])  # TML303

        def main(steps):
            service = Service()
            for _ in range(steps):
                service.join(torch.randn(1, 8))
        """,
    "subscribed and never unsubscribed": """
        class Bus:
            def __init__(self):
                self.handlers = []

            def on(self, handler):
                self.handlers.append(handler)  # TML303

            def off(self, handler):
                self.handlers.remove(handler)

        BUS = Bus()

        class Trainer:
            def __init__(self):
                self.model = Net()
                BUS.on(self.stop)

            def stop(self):
                self.stopped = True

        def main(trials):
            for _ in range(trials):
                Trainer()
        """,
    "a queue that is drained for debugging only": """
        class Reporter:
            def __init__(self):
                self.outbox = queue.SimpleQueue()

            def show(self, heat):
                self.outbox.put(heat)  # TML303

            def drain(self):
                while not self.outbox.empty():
                    self.outbox.get()

        def main(steps, debug=False):
            reporter = Reporter()
            for _ in range(steps):
                reporter.show(torch.randn(8))
                if debug:
                    reporter.drain()
        """,
    "outputs of a trainer's steps, through a method that another class defines": """
        from abc import ABC, abstractmethod

        class Loop(ABC):
            @abstractmethod
            def process(self, output):
                ...

            def run(self, loader):
                outputs = []
                for batch in loader:
                    _, output = self.step(batch)
                    outputs.append(output)  # TML102
                self.model.training_epoch_end(outputs)

            def step(self, batch):
                output = self.model.training_step(batch)
                loss = self.process(output)
                loss = loss / 4
                self.model.backward(loss)
                return loss, output
        """,
    "the last hidden state of each batch, as a view": """
        @torch.no_grad()
        def embed(model, loader):
            kept = []
            for x in loader:
                hidden = model(x).last_hidden_state
                kept.append(hidden[:, -1].detach())  # TML309
            return torch.stack(kept)
        """,
    "objects that hold themselves through a lambda": """
        class Run:
            def __init__(self):
                self.model = Net()
                self.features = lambda x: self.model(x)  # TML315

        def study(runs):
            return [Run().features(torch.rand(1, 8)).sum().item() for _ in range(runs)]
        """,
    "a partial that refers to the key of a weak mapping": """
        import weakref

        def run(model, x):
            return model(x).detach()

        class Runners:
            def __init__(self):
                self.known = weakref.WeakKeyDictionary()

            def of(self, model: nn.Module):
                self.known[model] = functools.partial(run, model)  # TML316
                return self.known[model]
        """,
    "a mutable default of an attrs field": """
        import attrs

        @attrs.define
        class Tracker:
            tracks: dict = {}  # TML302

            def observe(self, identity, box):
                self.tracks[identity] = Box(box)
        """,
    "attribute that another class of the file cannot replace": """
        class Settings:
            def update(self, settings):
                self.__dict__.update(settings)

        class Encoder(nn.Module):
            def __init__(self, path):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.loaded = torch.load(path)  # TML313
                self.settings = Settings()

            def restore(self):
                self.layer.load_state_dict(self.loaded["model"])
        """,
    "history on an attribute": """
        class Trainer:
            def __init__(self, model):
                self.model = Net()
                self.history = []

            def step(self, x, y):
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.history.append(loss)  # TML102
        """,
    "sum on an attribute": """
        class Trainer:
            def __init__(self):
                self.model = Net()
                self.total = 0.0

            def step(self, x, y):
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.total += loss  # TML101
        """,
    "sum of a dictionary on an attribute": """
        class Trainer:
            def __init__(self):
                self.model = Net()
                self.totals = {"loss": 0.0}

            def step(self, x, y):
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.totals["loss"] += loss  # TML101
        """,
    "reset once an epoch is too late": """
        class Trainer:
            def __init__(self, loader):
                self.model = Net()
                self.loader = loader
                self.losses = []

            def epoch(self):
                self.losses.clear()
                for x, y in self.loader:
                    loss = F.cross_entropy(self.model(x), y)
                    loss.backward()
                    self.losses.append(loss)  # TML102
        """,
    "helper function": """
        def remember(log, value):
            log.append(value)  # TML102

        def train(loader):
            model, log = Net(), []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                remember(log, loss)
            return log
        """,
    "helper that other callers use well": """
        def remember(log, value):
            log.append(value)

        def train(loader):
            model, log, fine = Net(), [], []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                remember(fine, loss.item())
                remember(log, loss)  # TML102
            return log, fine
        """,
    "method of a meter class": """
        class Meter:
            def __init__(self):
                self.total, self.count = 0.0, 0

            def update(self, value, n=1):
                self.total += value * n  # TML101
                self.count += n

        def train(loader):
            model, meter = Net(), Meter()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                meter.update(loss, len(x))
            return meter
        """,
    "inherited method of a meter class": """
        class Base:
            def __init__(self):
                self.values = []

            def push(self, value):
                self.values.append(value)  # TML102

        class Meter(Base):
            def update(self, value):
                self.push(value)

        def train(loader):
            model, meter = Net(), Meter()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                meter.update(loss)
            return meter
        """,
    "list in a dataclass": """
        import dataclasses

        @dataclasses.dataclass
        class Log:
            losses: list = dataclasses.field(default_factory=list)

        def train(loader):
            model, log = Net(), Log()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.losses.append(loss)  # TML102
            return log
        """,
    "lambda": """
        def train(loader):
            model, log = Net(), []
            remember = lambda value: log.append(value)  # TML102
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                remember(loss)
            return log
        """,
    "partial": """
        def store(log, value):
            log.append(value)  # TML102

        def train(loader):
            model, log = Net(), []
            remember = functools.partial(store, log)
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                remember(loss)
            return log
        """,
    "bound method": """
        def train(loader):
            model, log = Net(), []
            remember = log.append
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                remember(loss)  # TML102
            return log
        """,
    "closure": """
        def train(loader):
            model, log = Net(), []

            def step(x, y):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(loss)  # TML102

            for x, y in loader:
                step(x, y)
            return log
        """,
    "nonlocal": """
        def train(loader):
            model, total = Net(), 0.0

            def step(x, y):
                nonlocal total
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                total += loss  # TML101

            for x, y in loader:
                step(x, y)
            return total
        """,
    "module global": """
        LOSSES = []

        def step(model: Net, x, y):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            LOSSES.append(loss)  # TML102
        """,
    "class attribute": """
        class Trainer:
            losses = []

            def __init__(self):
                self.model = Net()

            def step(self, x, y):
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.losses.append(loss)  # TML102
        """,
    "comprehension in the loop": """
        def train(loader):
            models, log = [Net(), Net()], []
            for x, y in loader:
                losses = [F.cross_entropy(model(x), y) for model in models]
                sum(losses).backward()
                log.append([loss for loss in losses])  # TML102
            return log
        """,
    "comprehension over the loader": """
        def evaluate(model: Net, loader):
            model.eval()
            outputs = [model(x) for x, _ in loader]  # TML102
            print(len(outputs))
        """,
    "dictionary by step": """
        def train(loader):
            model, log = Net(), {}
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log[step] = loss  # TML102
            return log
        """,
    "training step collects on self": """
        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.model = Net()
                self.outputs = []

            def training_step(self, batch, batch_idx):
                x, y = batch
                loss = F.cross_entropy(self.model(x), y)
                self.outputs.append(loss)  # TML107
                return loss

            def on_train_epoch_end(self):
                print(sum(loss.item() for loss in self.outputs))
        """,
    "hook stores into a dictionary": """
        def features(model: Net, loader):
            kept = {}

            def hook(module, inputs, output):
                kept[len(kept)] = output  # TML108

            model.layer.register_forward_hook(hook)
            model.train()
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
            return kept
        """,
    "hook stores into an attribute": """
        class Recorder:
            def __init__(self, model: Net):
                self.features = {}
                model.layer.register_forward_hook(self.keep)  # TML304

            def keep(self, module, inputs, output):
                self.features[id(module)] = output  # TML108
        """,
    "forward keeps an activation": """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.last = None

            def forward(self, x):
                weights = self.layer(x).softmax(-1)
                self.last = weights  # TML108
                return weights @ x
        """,
    "forward keeps its last output": """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.last = None

            def forward(self, x):
                self.last = self.layer(x).softmax(-1)  # TML108
                return self.last @ x
        """,
    "hidden state of a recurrent net": """
        def train(chunks):
            net, head = nn.GRU(8, 8), nn.Linear(8, 1)
            hidden = None
            for chunk in chunks:
                out, hidden = net(chunk, hidden)  # TML105
                head(out).mean().backward(retain_graph=True)
        """,
    "hidden state of an agent": """
        class Agent:
            def __init__(self):
                self.cell = nn.GRUCell(8, 8)
                self.hidden = torch.zeros(1, 8)

            def run(self, observations):
                for x in observations:
                    self.hidden = self.cell(x, self.hidden)  # TML105
                    print(self.hidden.argmax().item())
        """,
    "losses of a closure that the optimizer calls": """
        class Style:
            def __init__(self, net: Net, image):
                self.net, self.scores = net, []
                self.image = image.requires_grad_()
                self.optimizer = torch.optim.LBFGS([self.image])

            def fit(self, steps):
                for _ in range(steps):
                    def closure():
                        self.optimizer.zero_grad()
                        loss = self.net(self.image).pow(2).mean()
                        loss.backward()
                        self.scores.append(loss)  # TML102
                        return loss

                    self.optimizer.step(closure)
        """,
    "predictions for batches that lie ready": """
        def evaluate(model, batches):
            model.eval()
            predictions = []
            for x, y in batches:
                predictions.append(model(x).cpu())  # TML102
            return torch.cat(predictions).detach().numpy()

        def main():
            evaluate(Net(), [(torch.randn(4, 8), torch.randn(4)) for _ in range(100)])
        """,
    "state that only a helper advances": """
        def advance(model, state, x):
            state = model(state + x)
            return state, (state - x).norm().item()

        def track(model, stream):
            state, errors = torch.zeros(8), []
            for x in stream:
                state, error = advance(model, state, x)  # TML105
                errors.append(error)
            return errors

        def main():
            print(track(Net(), [torch.randn(8) for _ in range(100)]))
        """,
    "items of a generator, one model run each": """
        def embeddings(model, batches):
            model.eval()
            for x in batches:
                yield model(x)

        def main():
            rows = []
            for row in embeddings(Net(), torch.randn(100, 4, 8)):
                rows.append(row)  # TML102
        """,
    "generator expression handed out of no_grad": """
        class Searcher:
            def __init__(self, model: Net, documents):
                self.model, self.documents = model.eval(), documents

            @torch.no_grad()
            def encoded(self):
                return (self.model(document) for document in self.documents)

            def index(self):
                rows = []
                for row in self.encoded():
                    rows.append(row)  # TML102
                return torch.cat(rows).detach()

        def main():
            Searcher(Net(), [torch.randn(8) for _ in range(100)]).index()
        """,
    "replay memory of attached states": """
        import random

        class Memory:
            def __init__(self, capacity=10000):
                self.transitions = deque(maxlen=capacity)

            def push(self, *transition):
                self.transitions.append(transition)  # TML102

        def main():
            encoder, q, memory = Net(), nn.Linear(8, 3), Memory()
            optimizer = torch.optim.SGD(q.parameters(), lr=0.1)
            state = encoder(torch.randn(1, 8))
            for _ in range(100):
                following = encoder(torch.randn(1, 8))
                memory.push(state, following)
                state = following
                states, _ = zip(*random.sample(memory.transitions, 1))
                optimizer.zero_grad()
                q(torch.cat(states).detach()).pow(2).mean().backward()
                optimizer.step()
        """,
    "forward replaced by one that logs": """
        def main():
            model, log = nn.Linear(8, 2), []
            inner = model.forward

            def forward(x):
                out = inner(x)
                log.append(out)  # TML102
                return out

            model.forward = forward
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(100):
                loss = model(torch.randn(4, 8)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "buffer registered again": """
        class Norms(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.register_buffer("norm", torch.ones(1))

            def forward(self, x):
                h = self.layer(x)
                self.register_buffer("norm", 0.9 * self.norm + 0.1 * h.norm())  # TML101
                return h / self.norm.detach()

        def main():
            model = Norms()
            for _ in range(100):
                model(torch.randn(4, 8)).sum().backward()
        """,
    "attribute averaged under its name": """
        class Stats(nn.Module):
            def __init__(self, names):
                super().__init__()
                for name in names:
                    self.register_buffer(name + "_mean", torch.zeros(8))

            def update(self, name, value):
                old = getattr(self, name + "_mean")
                setattr(self, name + "_mean", 0.9 * old + 0.1 * value.mean(0))  # TML101

        def main():
            model, stats = Net(), Stats(["hidden"])
            for _ in range(100):
                out = model(torch.randn(4, 8))
                out.sum().backward()
                stats.update("hidden", out)
        """,
    "hidden state reset by a method that nobody calls in time": """
        class Agent:
            def __init__(self):
                self.cell = nn.GRUCell(8, 8)
                self.hidden = torch.zeros(1, 8)

            def reset(self):
                self.hidden = torch.zeros(1, 8)

            def run(self, observations):
                self.reset()
                for x in observations:
                    self.hidden = self.cell(x, self.hidden)  # TML105
                    print(self.hidden.argmax().item())
        """,
    "loss kept under a branch": """
        def train(loader, verbose):
            model, log = Net(), []
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                if verbose and step % 10 == 0:
                    log.append(loss)  # TML102
            return log
        """,
    "loss kept in a while loop": """
        def train(x, y):
            model, log, step = Net(), [], 0
            while step < 100:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(loss)  # TML102
                step += 1
            return log
        """,
    "accelerator": """
        from accelerate import Accelerator

        def train(loader):
            accelerator = Accelerator()
            model = Net()
            model, loader = accelerator.prepare(model, loader)
            total = 0.0
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                total += loss  # TML101
            print(total / len(loader))
        """,
    "gradient scaler": """
        def train(loader, optimizer):
            model, scaler, total = Net(), torch.amp.GradScaler(), 0.0
            for x, y in loader:
                with torch.autocast("cuda"):
                    loss = F.cross_entropy(model(x), y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                total += loss  # TML101
            print(total)
        """,
    "loss of an unseen criterion that is back-propagated": """
        def train(model, criterion, optimizer, loader):
            total = 0.0
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                total += loss  # TML101
            return total / len(loader)
        """,
    "loss of a model's output object": """
        from transformers import AutoModelForCausalLM

        def train(loader):
            model = AutoModelForCausalLM.from_pretrained("gpt2")
            losses = []
            for batch in loader:
                outputs = model(**batch)
                outputs.loss.backward()
                losses.append(outputs.loss)  # TML102
            return losses
        """,
    "sum with an annotation": """
        def step(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
            return model(batch).mean()

        def train(model: nn.Module, loader):
            total: torch.Tensor = torch.tensor(0.0)
            for batch in loader:
                loss = step(model, batch)
                loss.backward()
                total = total + loss  # TML101
            print(total)
        """,
    "narrowing that lets the tensor through": """
        def plain(value):
            if isinstance(value, torch.Tensor):
                return value.clone()
            return value

        def train(loader):
            model, log = Net(), []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(plain(loss))  # TML102
            return log
        """,
    "grad mode ends before the sum": """
        def train(loader):
            model, total = Net(), 0.0
            for x, y in loader:
                with torch.no_grad():
                    scale = model(x).mean()
                loss = F.cross_entropy(model(x), y) * scale
                loss.backward()
                total += loss  # TML101
            print(total)
        """,
    "view under no_grad keeps the graph": """
        def train(loader):
            model, kept = Net(), []
            for x, y in loader:
                logits = model(x)
                F.cross_entropy(logits, y).backward()
                with torch.no_grad():
                    kept.append(logits.view(-1))  # TML102
            return kept
        """,
    "evaluation without no_grad": """
        def evaluate(model: nn.Module, loader):
            model.eval()
            correct = 0
            for x, y in loader:
                correct += (model(x).argmax(dim=1) == y).sum().item()  # TML201
            return correct
        """,
    "second half of evaluation outside the mode": """
        def evaluate(model: nn.Module, loader):
            model.eval()
            with torch.no_grad():
                first = [model(x).argmax(1) for x, _ in loader]
            rest = [model(x).argmax(1).tolist() for x, _ in loader]  # TML201
            return first, rest
        """,
    "bare mode": """
        def evaluate(model: nn.Module, x):
            torch.no_grad()  # TML202
            return model(x).argmax().item()
        """,
    "one retained graph too many": """
        def train(loader, optimizer):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward(retain_graph=True)  # TML103
                optimizer.step()
        """,
    "detach thrown away": """
        def train(loader):
            model = Net()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                loss.detach()  # TML605
                print(loss)
        """,
    "context keeps its input": """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x  # TML106
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.x * grad
        """,
    "async": """
        async def train(loader):
            model, log = Net(), []
            async for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                log.append(loss)  # TML102
            return log
        """,
    "tuple of losses taken apart": """
        def losses(model: Net, x, y):
            out = model(x)
            return F.cross_entropy(out, y), out.norm()

        def train(loader):
            model, norms = Net(), 0.0
            for x, y in loader:
                loss, norm = losses(model, x, y)
                (loss + norm).backward()
                norms += norm  # TML101
            print(norms)
        """,
    "sum of what a parameter made": """
        def fit(data):
            weight, total = nn.Parameter(torch.zeros(8)), 0.0
            for x, y in data:
                loss = (x @ weight - y).pow(2).sum()
                loss.backward()
                total += loss  # TML101
            print(total)
        """,
    "dictionary of losses": """
        def losses(model: Net, x, y):
            out = model(x)
            return {"ce": F.cross_entropy(out, y), "norm": out.norm()}

        def train(loader):
            model, sums = Net(), defaultdict(float)
            for x, y in loader:
                parts = losses(model, x, y)
                sum(parts.values()).backward()
                for name, value in parts.items():
                    sums[name] += value  # TML101
            print(dict(sums))
        """,
    "phases that sum the loss": """
        def fit(model: Net, loaders, optimizer):
            for epoch in range(10):
                for phase in ("train", "val"):
                    running = 0.0
                    for x, y in loaders[phase]:
                        with torch.set_grad_enabled(phase == "train"):
                            out = model(x)
                            loss = F.cross_entropy(out, y)
                            if phase == "train":
                                loss.backward()
                                optimizer.step()
                        running += loss  # TML101
        """,
    "likelihoods of a pretrained model with gradients": """
        from transformers import GPT2LMHeadModel
        def perplexity(chunks):
            model = GPT2LMHeadModel.from_pretrained("gpt2")
            model.eval()
            nlls = []
            for ids in chunks:
                outputs = model(ids, labels=ids)
                nlls.append(outputs.loss)  # TML102
            return torch.exp(torch.stack(nlls).mean())
        """,
    "parts of a loss, whose sum is back-propagated, kept together": """
        def train(agent, loader, optimizer):
            history, parts = [], []
            for batch in loader:
                losses = agent.compute(batch)
                loss = sum(losses) if isinstance(losses, tuple) else losses
                terms = agent.regularizers(batch)
                total = sum(terms.values())
                optimizer.zero_grad()
                loss.backward()
                total.backward()
                optimizer.step()
                history.append(losses)  # TML102
                parts.append(terms)  # TML102
            return history, parts
        """,
    "model mapped over a loader": """
        def evaluate(model: Net, loader):
            model.eval()
            outs = list(map(model, (x for x, _ in loader)))  # TML201
            print(len(outs))
        """,
    "epoch sums in a history": """
        def train(model: Net, loader, optimizer):
            history = []
            for epoch in range(10):
                epoch_loss = 0
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(x), y)
                    loss.backward()
                    optimizer.step()
                    epoch_loss += loss  # TML101
                history.append(epoch_loss / len(loader))  # TML102
        """,
    "rollout recorded with gradients": """
        class Agent:
            def __init__(self):
                self.actor, self.critic = Net(), Net()
                self.buffer = []
            def act(self, state):
                dist = torch.distributions.Categorical(logits=self.actor(state))
                a = dist.sample()
                self.buffer.append((state, a, dist.log_prob(a)))  # TML102
                return a
            def learn(self, optimizer):
                for state, a, old in self.buffer:
                    dist = torch.distributions.Categorical(logits=self.actor(state))
                    loss = -(dist.log_prob(a) - old.detach()).exp().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        """,
    "code book averaged with its graph": """
        class VQ(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(8, 4))
                self.layer = nn.Linear(4, 4)

            def forward(self, x):
                z = self.layer(x)
                self.mean = 0.9 * self.mean + 0.1 * z.mean(0)  # TML101
                return z - self.mean
        """,
    "statistics given by keyword": """
        class Stats:
            def __init__(self):
                self.data = {}
            def add(self, **values):
                for k, v in values.items():
                    self.data.setdefault(k, []).append(v)  # TML102
        def train(loader):
            model, stats = Net(), Stats()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                stats.add(loss=loss, n=len(x))
        """,
    "losses from a generator": """
        def steps(model, loader):
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                yield loss
        def train(loader):
            losses = []
            for loss in steps(Net(), loader):
                losses.append(loss)  # TML102
            print(losses[-1])
        """,
    "list sorted with one more": """
        def train(loader):
            model, best = Net(), []
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                best = sorted(best + [loss])  # TML102
        """,
    "filed under names, and emptied once an epoch": """
        class Sheet:
            def __init__(self):
                self.columns = defaultdict(list)

            def add(self, row):
                for name, value in row.items():
                    self.columns[name].append(value)  # TML102

            def reset(self):
                self.columns.clear()

        def train(loader, epochs):
            model, sheet = Net(), Sheet()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(epochs):
                sheet.reset()
                for x, y in loader:
                    parts = {"fit": F.cross_entropy(model(x), y), "size": model.layer.weight.norm()}
                    optimizer.zero_grad()
                    sum(parts.values()).backward()
                    optimizer.step()
                    sheet.add(parts)
                print({name: torch.stack(column).mean().item() for name, column in sheet.columns.items()})
        """,
    "outputs of steps over batches that lie ready": """
        class Task(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = Net()
                self.kept = []

            def training_step(self, x, y):
                loss = F.cross_entropy(self.net(x), y)
                self.kept.append({"loss": loss})  # TML107
                return loss

        def fit(task, epochs, batches=tuple((torch.rand(2, 8), torch.zeros(2).long()) for _ in range(9))):
            optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
            for epoch in range(epochs):
                for x, y in list(batches):
                    loss = task.training_step(x, y)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                print(len(task.kept))
                task.kept.clear()

        fit(Task(), 3)
        """,
    "memory in a named tuple goes into the next segment": """
        from typing import NamedTuple

        class Memory(NamedTuple):
            keys: torch.Tensor
            norms: torch.Tensor

        def write(memory, keys):
            return Memory(memory.keys + keys.mean(0), memory.norms + keys.norm())

        def train(segments):
            model = Net()
            memory = Memory(torch.zeros(2), torch.zeros(()))
            for segment in segments:
                keys = model(segment) + memory.keys
                memory = write(memory, keys)  # TML105
                keys.sum().backward(retain_graph=True)
        """,
    "evaluated through a helper that training needs as well": """
        class Scorer:
            def __init__(self, net: nn.Module, optimizer):
                self.net = net
                self.optimizer = optimizer

            def _score(self, x):
                return self.net(x).squeeze(1)

            def train(self, loader):
                for x, y in loader:
                    loss = F.mse_loss(self._score(x), y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()

            def predict(self, loader):
                self.net.eval()
                found = []
                for x, _ in loader:
                    found += self._score(x).tolist()  # TML201
                return found
        """,
    "validated after a wrapper was put around the model": """
        class Trainer:
            @classmethod
            def run(cls, model, loader, epochs):
                model, _, _, _ = lightning.wrap(model=model, parameters=model.parameters())
                for epoch in range(epochs):
                    cls.validate_one_epoch(model, loader)

            @classmethod
            def validate_one_epoch(cls, model, loader):
                model.eval()
                for x, y in loader:
                    loss, stats = model(x, y)  # TML201
                    print({k: v.item() for k, v in stats.items()})
        """,
    "detached when the loop has ended": """
        def rank(net, make_energy, candidates):
            net.eval()
            energy = make_energy(net, "slice")
            found = []
            for candidate in candidates:
                found.append(energy(candidate))  # TML201
            return torch.cat(found).detach().numpy()
        """,
    "embedded batch by batch and detached at the end": """
        class Index:
            def __init__(self, encoder: nn.Module):
                self.encoder = encoder

            def embed(self, x):
                return self.encoder(x)

            def fill(self, loader):
                parts = [self.embed(x) for x in loader]  # TML201
                self.table = torch.cat(parts).detach().cpu()
        """,
    "copies of an average, of which the last are used": """
        import copy

        class Averages:
            def __init__(self, model: nn.Module):
                self.average, self.kept = copy.deepcopy(model), []

            def update(self, step):
                if step % 100 == 0:
                    self.kept.append({"step": step, "model": copy.deepcopy(self.average).half()})  # TML303

            def last(self):
                return self.kept[-3:]
        """,
    "evaluation that is fed by another module": """
        class Embeddings(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(9, 8)

            def forward(self, ids):
                return {name: self.table(part) for name, part in ids.items()}

        def look_up(embeddings, ids):
            return embeddings(ids)

        def evaluate(loader, model, embeddings):
            model.eval()
            right = []
            for ids, y in loader:
                out = model(look_up(embeddings, ids)["a"])  # TML201
                right.append(out.argmax(dim=1) == y)
            return torch.cat(right).float().mean()

        def main(loader):
            model, embeddings = Net(), Embeddings()
            print(evaluate(loader, model, embeddings))
        """,
    "test over a loader that only compares": """
        def test(loader, model):
            right = 0
            for x, y in loader:
                wrong = (model(x).sigmoid().round() != y).sum(dim=-1)  # TML201
                right += int((wrong == 0).sum())
            return right

        print(test(torch.utils.data.DataLoader(range(9)), Net()))
        """,
    "evaluation whose losses are weighed by a comprehension": """
        def evaluate(model, criterion, loader, weights, meter):
            model.eval()
            for x, y in loader:
                losses = criterion(model(x), y)  # TML201
                weighed = {k: v * weights[k] for k, v in losses.items()}
                meter.update(sum(weighed.values()))
        """,
    "recorder that is entered and returned": """
        class Recorder:
            def __init__(self, model):
                self.model = model
                self.features = []
                self.handle = None

            def keep(self, module, args, output):
                self.features.append(output)  # TML108

            def __enter__(self):
                self.handle = self.model.layer.register_forward_hook(self.keep)
                return self

            def __exit__(self, *error):
                self.handle.remove()
        """,
    "a reference model in a loss that the trainer differentiates": """
        from transformers import Trainer

        class Tuner(Trainer):
            def __init__(self, ref_model: nn.Module, **settings):
                super().__init__(**settings)
                self.ref_model = ref_model

            def compute_loss(self, model: nn.Module, inputs, return_outputs=False):
                scores = F.log_softmax(model(inputs).logits, -1)
                reference = self.ref_model.get_decoder()
                goal = F.softmax(reference(inputs).logits, -1)  # TML204
                return F.kl_div(scores, goal, reduction="batchmean")

            def prediction_step(self, model, inputs):
                with torch.no_grad():
                    return self.compute_loss(model, inputs).item()
        """,
    "predictions that an evaluation hands out": """
        class Service:
            def __init__(self, net):
                self.net = net

            def predict(self, images):
                self.net.eval()
                return self.net(images).softmax(-1)  # TML201
        """,
    "streamed, beside an inference under no_grad": """
        class Speaker(nn.Module):
            def __init__(self):
                super().__init__()
                self.decoder = nn.GRU(8, 8)

            @torch.no_grad()
            def inference(self, codes):
                return self.decoder(codes)[0]

            def inference_stream(self, codes):
                for code in codes:
                    wave, _ = self.decoder(code)  # TML201
                    yield wave
        """,
    "boxes that other code makes of what a detector gives": """
        class Detector:
            def __init__(self, net, boxes):
                self.net, self.boxes = net.eval(), boxes

            def predict_boxes(self, image):
                outputs = self.net(torch.from_numpy(image))  # TML201
                for box in self.boxes.decode(outputs):
                    print(box)
        """,
    "validated by a step of the model's own": """
        class Runner:
            def __init__(self, model):
                self.model = model

            def val(self, loader):
                self.model.eval()
                self.outputs = self.model.val_step(next(loader))  # TML201
        """,
    "a policy that is known by what is detached of its result": """
        class Collector:
            def __init__(self, policy, env):
                self.policy, self.env, self.state = policy, env, None

            def collect(self, observation, steps):
                for _ in range(steps):
                    out = self.policy(observation, self.state)
                    self.state = out.state  # TML105
                    observation, done = self.env.step(out.action.detach().numpy())
                    if done:
                        self.state = None
        """,
    "evaluated where it was trained, by `.data`": """
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in torch.load("train.pt"):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        correct = 0
        for x, y in torch.load("test.pt"):
            _, guess = torch.max(model(x).data, 1)  # TML201
            correct += (guess == y).sum().item()
        """,
    "translated word by word, with `.data` of each": """
        class Translator:
            def __init__(self, model):
                self.model = model

            def translate(self, source, state):
                words = []
                for _ in range(20):
                    out, state = self.model.decoder(source, state)  # TML105
                    words.append(self.model.generator(out).data.argmax(-1).item())
                return words
        """,
}

GUILTY_BUGS: dict[str, str] = {
    "code book averaged with its graph": "what is read back in the same call counts as handed out",
    "list sorted with one more": "a list rebuilt from itself is not seen to grow",
    "hook stores into a dictionary": "a hook's own loop has no backward, so a local holder has no weight",
}


@pytest.mark.parametrize("name", known(GUILTY_BUGS, list(GUILTY)))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(GUILTY))
def test_is_a_program(name: str) -> None:
    compile(PRELUDE + textwrap.dedent(GUILTY[name]), "snippet", "exec")
