"""What is done in place to a tensor is done to it wherever it is kept: through another name, a getter or a helper."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GUILTY = {
    "through what a method returns": """
        class Stats:
            def __init__(self):
                self.of_device = {}

            def add(self, name, tensor):
                self.of_device[name] = tensor

            def get(self, name):
                return self.of_device[name]

        def step(model, batch, stats):
            loss = model(batch).sum()
            stats.get("loss").add_(loss)  # TML101
            loss.backward()

        def main(loader):
            model = nn.Linear(8, 8)
            stats = Stats()
            stats.add("loss", torch.zeros(1))
            for batch in loader:
                step(model, batch, stats)
        """,
    "by a helper that is given the buffer": """
        def average(mean, value, decay=0.9):
            mean.mul_(decay).add_(value * (1 - decay))  # TML101

        class CodeBook(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.register_buffer("size", torch.zeros(8))

            def forward(self, x):
                out = self.layer(x)
                average(self.size, out.sum(0))
                return out
        """,
    "under another name": """
        class Meter(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.seen = torch.zeros(8)

            def forward(self, x):
                out = self.layer(x)
                seen = self.seen
                seen += out.sum(0)  # TML101
                return out
        """,
    "where nothing else says that the function keeps anything": """
        class Meter(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.register_buffer("size", torch.zeros(8))

            def forward(self, x):
                out = self.layer(x)
                self.size.mul_(0.9).add_(out.sum(0))  # TML101
                return out
        """,
}

INNOCENT = {
    "a copy of what is kept": """
        class Meter(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.register_buffer("size", torch.zeros(8))

            def forward(self, x):
                out = self.layer(x)
                size = self.size.clone()
                size.add_(out.sum(0))
                return size
        """,
    "without a graph": """
        def average(mean, value, decay=0.9):
            mean.mul_(decay).add_(value * (1 - decay))

        class CodeBook(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.register_buffer("size", torch.zeros(8))
                self.register_buffer("mean", torch.zeros(8))

            def forward(self, x):
                out = self.layer(x)
                average(self.size, out.sum(0).detach())
                with torch.no_grad():
                    average(self.mean, out.mean(0))
                return out
        """,
    "what the place no longer has": """
        class Meter(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.seen = torch.zeros(8)

            def forward(self, x):
                out = self.layer(x)
                seen = self.seen
                self.seen = torch.zeros(8)
                seen.add_(out.sum(0))
                return seen
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check_innocent(INNOCENT[name])
