"""Results that are collected, views that are kept and models that drive themselves, as programs in the wild do it."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEEN = {
    "a model that generates through a search": """
        class Search:
            def __init__(self, steps):
                self.steps = steps

            def run(self, token, step):
                picked = []
                for _ in range(self.steps):
                    scores = step(token)
                    best, index = scores.topk(1, -1)
                    token = index[:, 0]
                    picked.append(token)
                return torch.stack(picked, 1)

        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(9, 8)
                self.head = nn.Linear(8, 9)

            def forward(self, token):
                return self.head(self.embed(token))

            def generate(self, token):
                def step(last):
                    return torch.log_softmax(self(last), -1)  # TML201

                return Search(20).run(token, step)

        if __name__ == "__main__":
            reader = Reader().eval()
            print(reader.generate(torch.zeros(2, dtype=torch.long)).shape)
        """,
    "a table that is called as torch calls its own": """
        class Gatherer:
            def __init__(self):
                self._buffers = defaultdict(list)

            def append(self, key, value):
                self._buffers[key].append(value)  # TML310

            def get(self, key):
                return torch.cat(self._buffers[key])

        def extract(loader, device):
            model, gathered = Net().to(device).eval(), Gatherer()
            with torch.no_grad():
                for x, y in loader:
                    gathered.append("z", model(x.to(device)))
            return gathered.get("z").cpu()
        """,
    "a bounded queue for each track": """
        from dataclasses import dataclass

        @dataclass
        class Seen:
            crop: torch.Tensor
            track: int = 0
            code: torch.Tensor | None = None

        class Tracks:
            def __init__(self, window: int):
                self.window = window
                self.queues = {}

            def latest(self):
                return [queue[-1] for queue in self.queues.values()]

            def add(self, seen: list[Seen]):
                for one in seen:
                    if one.track not in self.queues:
                        self.queues[one.track] = deque(maxlen=self.window)  # TML311
                    self.queues[one.track].append(one)

        class Tracker:
            def __init__(self):
                self.model, self.tracks, self.last = Net().eval(), Tracks(4), 0

            @torch.no_grad()
            def track(self, frame: list[Seen]):
                codes = self.model(torch.stack([one.crop for one in frame]))
                for one, code in zip(frame, codes):
                    one.code = code
                    if not self.tracks.latest():
                        self.last += 1
                        one.track = self.last
                self.tracks.add(frame)

        def main(count: int):
            tracker = Tracker()
            for step in range(count):
                tracker.track([Seen(torch.rand(3), step)])
        """,
    "a part on one way and the whole on the other": """
        class Extractor:
            def __init__(self, only_first: bool):
                self.model, self.only_first = Net().eval(), only_first

            @torch.no_grad()
            def one(self, x):
                states = self.model(x)
                if states.ndim > 2 and self.only_first:
                    states = states[:, 0, :]
                return states

            def run(self, loader):
                self.model.eval()
                kept = []
                for x in loader:
                    kept.append(self.one(x))  # TML309
                return kept
        """,
    "lists that are made by their names": """
        class Bank:
            def __init__(self):
                for name in ("train", "train_labels", "test", "test_labels"):
                    self.add(name)

            def add(self, name):
                setattr(self, name, [])

            def update(self, x):
                self.train.append(x.detach())  # TML303

            def compute(self):
                return torch.cat(self.train).mean().item()

        def main(loader, epochs):
            model, bank = Net(), Bank()
            for _ in range(epochs):
                for x in loader:
                    loss = model(x).sum()
                    loss.backward()
                    bank.update(model(x))
                print(bank.compute())
        """,
    "two evaluations with one helper": """
        class Trained:
            def __init__(self):
                self.model = Net()

            def infer(self, x):
                return self.model(x)

            def train_step(self, x):
                self.model.train()
                self.infer(x).sum().backward()

            def evaluation_step(self, x):
                self.model.eval()
                return self.infer(x)  # TML201

            def go_through(self, loader):
                for x in loader:
                    yield self.evaluation_step(x)

            def predict(self, loader):
                return [y.detach().numpy() for y in self.go_through(loader)]

        def main(loader):
            trained = Trained()
            for x in loader:
                trained.train_step(x)
            return trained.predict(loader)
        """,
    "models that a manager was given in a list": """
        loaded = []

        class Entry:
            def __init__(self, model):
                self.model = model

        def load(models):
            wanted = [Entry(model) for model in models]
            for entry in wanted:
                if entry not in loaded:
                    loaded.insert(0, entry)  # TML301

        def main(count):
            for _ in range(count):
                model = Net()
                load([model])
                print(model(torch.rand(8)).sum().item())
        """,
}

QUIET = {
    "lists that are made by their names, and emptied": """
        class Bank:
            def __init__(self):
                for name in ("train", "train_labels", "test", "test_labels"):
                    self.add(name)

            def add(self, name):
                setattr(self, name, [])

            def update(self, x):
                self.train.append(x.detach())

            def compute(self):
                mean = torch.cat(self.train).mean().item()
                self.train.clear()
                return mean

        def main(loader, epochs):
            model, bank = Net(), Bank()
            for _ in range(epochs):
                for x in loader:
                    loss = model(x).sum()
                    loss.backward()
                    bank.update(model(x))
                print(bank.compute())
        """,
    "two evaluations with one helper, under no_grad": """
        class Trained:
            def __init__(self):
                self.model = Net()

            def infer(self, x):
                return self.model(x)

            def train_step(self, x):
                self.model.train()
                self.infer(x).sum().backward()

            @torch.no_grad()
            def evaluation_step(self, x):
                self.model.eval()
                return self.infer(x)

            def predict(self, loader):
                return [self.evaluation_step(x).detach().numpy() for x in loader]

        def main(loader):
            trained = Trained()
            for x in loader:
                trained.train_step(x)
            return trained.predict(loader)
        """,
    "the same models in a list again and again": """
        loaded = []

        def load(models):
            for model in models:
                if model not in loaded:
                    loaded.insert(0, model)

        def main(count):
            model = Net()
            for _ in range(count):
                load([model])
                print(model(torch.rand(8)).sum().item())
        """,
    "a model that generates under no_grad": """
        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(9, 8)
                self.head = nn.Linear(8, 9)

            def forward(self, token):
                return self.head(self.embed(token))

            @torch.no_grad()
            def generate(self, token, steps):
                picked = []
                for _ in range(steps):
                    best, index = self(token).topk(1, -1)
                    token = index[:, 0]
                    picked.append(token)
                return torch.stack(picked, 1)

        if __name__ == "__main__":
            reader = Reader().eval()
            print(reader.generate(torch.zeros(2, dtype=torch.long), 20).shape)
        """,
    "a model whose loss runs through its own steps": """
        class Mover(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(8, 8)

            def forward(self, x):
                return x + self.net(x)

            def rollout(self, x, steps):
                states = []
                for _ in range(steps):
                    x = self(x)
                    states.append(x)
                return torch.stack(states)

        def train(loader, optimizer):
            model = Mover()
            for x, y in loader:
                loss = (model.rollout(x, 4) - y).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
    "a module's own table of buffers": """
        class Stats(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(3))

            def update(self, x: torch.Tensor):
                with torch.no_grad():
                    self._buffers["mean"] = x.mean(0)

        def watch(loader):
            stats = Stats()
            for x in loader:
                stats.update(x)
            return stats.mean.cpu()
        """,
    "a bounded queue for each track, which ends": """
        class Tracks:
            def __init__(self, window: int):
                self.window = window
                self.queues, self.gaps = {}, {}

            def add(self, track: int, code: torch.Tensor):
                if track not in self.queues:
                    self.queues[track] = deque(maxlen=self.window)
                self.queues[track].append(code)
                self.gaps[track] = 0
                for old in [key for key, gap in self.gaps.items() if gap > 10]:
                    del self.queues[old], self.gaps[old]

        @torch.no_grad()
        def main(loader):
            model, tracks = Net().eval(), Tracks(4)
            for step, x in enumerate(loader):
                tracks.add(step, model(x))
        """,
    "a bounded window for each of a few names": """
        class Meters:
            def __init__(self):
                self.windows = {}

            def update(self, **values):
                for name, value in values.items():
                    if name not in self.windows:
                        self.windows[name] = deque(maxlen=20)
                    self.windows[name].append(value.detach())

        def train(loader, model, optimizer):
            meters = Meters()
            for x in loader:
                loss = model(x).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                meters.update(loss=loss, peak=loss.max())
        """,
    "a part and the whole, both kept": """
        class Extractor:
            def __init__(self):
                self.model = Net().eval()

            @torch.no_grad()
            def run(self, loader):
                kept = []
                for x in loader:
                    states = self.model(x)
                    kept.append((states, states[:, 0, :]))
                return kept
        """,
}


@pytest.mark.parametrize("name", SEEN)
def test_seen(name: str) -> None:
    check(SEEN[name])


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str) -> None:
    check_innocent(QUIET[name])
