"""Objects made through a table of classes, or by a comprehension: what they collect is theirs all the same."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """\
import torch
from torch import nn
"""


@pytest.mark.parametrize(
    "text",
    [
        """
        class Recall(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = []

            def update(self, pred):
                self.seen.append(pred)  # TML303

            def compute(self):
                return torch.cat(self.seen).mean()

            def reset(self):
                self.seen.clear()

        METRICS = {"recall": Recall}

        class Trainer:
            def __init__(self, name):
                self.net = nn.Linear(8, 8)
                self.metric = METRICS[name]()

            @torch.no_grad()
            def validate(self, loader):
                for x in loader:
                    self.metric.update(self.net(x))
                return self.metric.compute().item()

        def main(loader):
            trainer = Trainer("recall")
            for epoch in range(10):
                print(trainer.validate(loader))
        """,
        """
        class Recall(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = []

            def update(self, pred):
                self.seen.append(pred.detach())  # TML303

        class Trainer:
            def __init__(self):
                self.net = nn.Linear(8, 8)
                self.metrics = [Recall() for _ in range(2)]

            def validate(self, loader):
                for x in loader:
                    out = self.net(x).detach()
                    for metric in self.metrics:
                        metric.update(out)

        def main(loader):
            trainer = Trainer()
            for epoch in range(10):
                trainer.validate(loader)
        """,
    ],
)
def test_nobody_resets_what_is_made_in_sight(text: str) -> None:
    check(textwrap.dedent(text), IMPORTS)


@pytest.mark.parametrize(
    "text",
    [
        """
        class Recall(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = []

            def update(self, pred):
                self.seen.append(pred)

            def reset(self):
                self.seen.clear()

        METRICS = {"recall": Recall}

        class Trainer:
            def __init__(self, name):
                self.net = nn.Linear(8, 8)
                self.metric = METRICS[name]()

            @torch.no_grad()
            def validate(self, loader):
                for x in loader:
                    self.metric.update(self.net(x))
                self.metric.reset()

        def main(loader):
            trainer = Trainer("recall")
            for epoch in range(10):
                print(trainer.validate(loader))
        """,
        """
        class Recall(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = []

            def update(self, pred):
                self.seen.append(pred.detach())

        class Trainer:
            def __init__(self):
                self.net = nn.Linear(8, 8)
                self.metrics = [Recall() for _ in range(2)]

            def validate(self, loader):
                for x in loader:
                    out = self.net(x).detach()
                    for metric in self.metrics:
                        metric.update(out)
                for metric in self.metrics:
                    metric.seen.clear()

        def main(loader):
            trainer = Trainer()
            for epoch in range(10):
                trainer.validate(loader)
        """,
    ],
)
def test_somebody_resets_it(text: str) -> None:
    check(textwrap.dedent(text), IMPORTS)


REGISTERED = """
TRACKERS = dict()

def tracker(name):
    def enter(cls):
        TRACKERS[name] = cls
        return cls
    return enter

class Kinds:
    KNOWN = dict()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        Kinds.KNOWN[cls.__name__] = cls

class Named:
    KNOWN = dict()

    def __init_subclass__(cls, kind=None, **options):
        super().__init_subclass__(**options)
        if kind is not None:
            Named.KNOWN[kind] = cls

    @classmethod
    def make(cls, kind):
        return cls.KNOWN[kind]()

@tracker("series")
class Series:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value){of_decorator}

class Last(Kinds):
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value){of_base}

class Both(Named, kind="both"):
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value){of_base}

make = Named.make

def build(name):
    return TRACKERS[name]()

def main(steps):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    series, last, both = build("series"), Kinds.KNOWN["Last"](), make("both")
    for _ in range(steps):
        loss = model(torch.rand(4, 8)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        series.update({given})
        last.update({given})
        both.update({given})

if __name__ == "__main__":
    main(10)
"""


@pytest.mark.parametrize(
    ("given", "code"), [("loss", "  # TML102"), ("loss.item()", ""), ("loss.detach().clone()", "")]
)
def test_classes_that_a_decorator_or_their_base_enters(given: str, code: str) -> None:
    check(REGISTERED.format(given=given, of_decorator=code, of_base=code), IMPORTS)


def test_what_a_comprehension_does_to_objects_it_goes_through() -> None:
    check(
        textwrap.dedent("""
        class Average:
            def __init__(self):
                self.value = 0.0

            def update(self, loss):
                self.value = 0.98 * self.value + 0.02 * loss  # TML101

        def main(steps):
            model = nn.Linear(8, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            meters = [Average(), Average()]
            for _ in range(steps):
                loss = model(torch.rand(4, 8)).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                done = [meter.update(loss) for meter in meters]
        """),
        IMPORTS,
    )
