"""Step outputs that an object gathers in one loop of a function, and keeps while another loop goes on with it."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

CODE = """
class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Net()
        self.embeddings = []
        self.bank = None

    @torch.no_grad()
    def training_step(self, batch):
        self.embeddings.append(self.model(batch)){mark}

    def fit(self):
        self.bank = torch.vstack(self.embeddings)[::100].clone(){after}

    @torch.no_grad()
    def test_step(self, batch):
        return torch.cdist(self.model(batch), self.bank).amin(1)

class Engine:
    def run(self, detector, train, test):
        for batch in train:
            detector.training_step(batch)
        detector.fit()
        {rest}

def main():
    data = torch.utils.data.DataLoader(torch.randn(100, 8), batch_size=4)
    detector = Detector()
    Engine().run(detector, data, data)
"""
REST = "for batch in test:\n            print(detector.test_step(batch).max())"


def test_a_list_that_is_used_up_before_the_rest() -> None:
    check(CODE.format(mark="  # TML107", after="", rest=REST))


@pytest.mark.parametrize(
    ("after", "rest"),
    [
        ("\n        self.embeddings.clear()", REST),
        ("\n        self.embeddings = []", REST),
        ("", "print(detector.bank.shape)"),  # it goes when the function returns
        ("", "for batch in test:\n            print(batch.shape)"),
    ],
)
def test_a_list_that_goes(after: str, rest: str) -> None:
    check_innocent(CODE.format(mark="", after=after, rest=rest))


DETECTOR = """
class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Net()
        self.features = []
        self.center = None

    @torch.no_grad()
    def {step}(self, batch):
        self.features.append(self.model(batch)){mark}

    def finish(self):
        self.center = torch.cat(self.features).mean(0)

    @torch.no_grad()
    def score(self, batch):
        return (self.model(batch) - self.center).norm(dim=1).max().item()

    @torch.no_grad()
    def search(self, batch):
        return torch.cdist(self.model(batch), torch.cat(self.features)).amin(1)

    def spread(self):
        return torch.cat(self.features).std(0)


def show(detector):
    print(detector.spread())

{rest}
"""
IN_TWO_FUNCTIONS = """
def gather(detector, loader):
    for batch in loader:
        detector.{step}(batch)
    detector.finish()


def test(loader, detector):
    return max(detector.{later}(batch) for batch in loader)


def main(data):
    detector = Detector()
    gather(detector, torch.utils.data.DataLoader(data))
    print(test(torch.utils.data.DataLoader(data), detector=detector))
    {then}
"""
IN_TWO_METHODS = """
class Runner:
    def __init__(self, detector):
        self.detector = detector

    def gather(self, loader):
        for batch in loader:
            self.detector.{step}(batch)
        self.detector.finish()

    def test(self, loader):
        for batch in loader:
            print(self.detector.{later}(batch))


def main(data):
    detector = Detector()
    runner = Runner(detector)
    runner.gather(torch.utils.data.DataLoader(data))
    runner.test(torch.utils.data.DataLoader(data))
    {then}
"""
FORMS = pytest.mark.parametrize(
    ("step", "code", "rest"),
    [
        ("training_step", "TML107", IN_TWO_FUNCTIONS),
        ("training_step", "TML107", IN_TWO_METHODS),
        ("gather", "TML303", IN_TWO_FUNCTIONS),
        ("gather", "TML303", IN_TWO_METHODS),
    ],
)


@FORMS
def test_a_second_loop_in_what_comes_after(step: str, code: str, rest: str) -> None:
    told = rest.format(step=step, later="score", then="print(detector.center)")
    check(DETECTOR.format(step=step, mark=f"  # {code}", rest=told))


@FORMS
@pytest.mark.parametrize(
    ("later", "then"),
    [
        ("search", ""),  # needs all of it
        ("score", "print(detector.spread())"),
        ("score", "show(detector)"),
        ("score", "torch.save(detector.features, 'features.pt')"),
        ("score", "detector.features = []"),
        ("model.train", ""),  # a part of the object has more work
    ],
)
def test_a_second_loop_or_what_follows_needs_the_list(step: str, code: str, rest: str, later: str, then: str) -> None:
    told = rest.format(step=step, later=later, then=then)
    check_innocent(DETECTOR.format(step=step, mark="", rest=told))
