"""Registries, tables, heaps, queues and copies that nobody empties, and objects that hold what they should not."""

from __future__ import annotations

import pytest
from snippets import check, check_syntax, known

GUILTY = {
    "object that registers itself under its id": """
        import uuid
        from dataclasses import dataclass, field

        IMAGES = {}

        @dataclass(eq=False)
        class Image:
            pixels: torch.Tensor
            id: str = field(default_factory=lambda: uuid.uuid4().hex)

            def __post_init__(self):
                IMAGES[self.id] = self  # TML314

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
                self.handlers.append(handler)

            def off(self, handler):
                self.handlers.remove(handler)

        BUS = Bus()

        class Trainer:
            def __init__(self):
                self.model = Net()
                BUS.on(self.stop)  # TML314

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
    "outputs that a handler collects until the next epoch": """
        class Engine:
            def __init__(self, process):
                self.process, self.handlers, self.output = process, defaultdict(list), None

            def fire(self, event):
                for handler in self.handlers[event]:
                    handler(self)

            def run(self, loader):
                self.fire("started")
                for batch in loader:
                    self.output = self.process(batch)
                    self.fire("iteration")

        class Outputs:
            def attach(self, engine):
                engine.handlers["started"].append(self.reset)
                engine.handlers["iteration"].append(self.update)

            def reset(self, engine):
                self.data = []

            def update(self, engine):
                self.data.append(engine.output)  # TML102

        def main(loader):
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            def step(batch):
                loss = F.cross_entropy(model(batch[0]), batch[1])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                return {"loss": loss}
            outputs, trainer = Outputs(), Engine(step)
            outputs.attach(trainer)
            trainer.run(loader)
            print(len(outputs.data))
        """,
}


@pytest.mark.parametrize("name", known({}, list(GUILTY)))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(GUILTY))
def test_is_a_program(name: str) -> None:
    check_syntax(GUILTY[name])
