"""Classes that inherit from `nn.Sequential` and its kind: what they are made with is what they run."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

POTENTIAL = """
        class Energy(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 1)

            def forward(self, data):
                data["energy"] = self.net(data["pos"]).sum()
                return data

        class Slope(nn.Module):
            def forward(self, data):
                data["slope"] = torch.autograd.grad(data["energy"], data["pos"])[0]
                return data

        class Potential(nn.Sequential):
            def forward(self, data):
                data["pos"].requires_grad_(True)
                for part in self:
                    data = part(data)
                return data

        def infer(batches):
            model = Potential(Energy(), Slope())
            model.eval()
            found = []
            for batch in batches:
                result = model(batch)
                found.append(%s
            return found
        """
TAPPED = """
        class Tap(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = []

            def forward(self, x):
                self.seen.append(x%s
                return x

        class Tapped(nn.Sequential):
            def __init__(self, width):
                super().__init__(nn.Linear(width, width), Tap(), nn.Linear(width, 1))

        def train(batches):
            model = Tapped(8)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for x in batches:
                loss = model(x).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """
SEEN = {
    "what a part of it has differentiated": POTENTIAL % "result)  # TML102",
    "a part that keeps what it is given": TAPPED % ")  # TML102",
}
INNOCENT = {
    "gradients that a part of it needs": POTENTIAL % "{name: part.detach() for name, part in result.items()})",
    "a part that keeps a number": TAPPED % ".norm().item())",
}


@pytest.mark.parametrize("case", SEEN)
def test_seen(case: str) -> None:
    check(SEEN[case])


@pytest.mark.parametrize("case", INNOCENT)
def test_innocent(case: str) -> None:
    check_innocent(INNOCENT[case])
