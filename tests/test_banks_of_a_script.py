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
