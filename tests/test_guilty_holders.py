"""Places that keep losses with their graphs: attributes, meters, closures, helpers, globals, rows under names."""

from __future__ import annotations

import pytest
from snippets import check, check_syntax, known

GUILTY = {
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
}


@pytest.mark.parametrize("name", known({}, list(GUILTY)))
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", list(GUILTY))
def test_is_a_program(name: str) -> None:
    check_syntax(GUILTY[name])
