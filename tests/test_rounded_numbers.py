"""`round()` raises for a tensor, so that what it is given, and what it gives, is a number."""

from __future__ import annotations

import pytest
from snippets import check

_METERS = """
    class Trainer:
        def __init__(self, model, optimizer):
            self.model, self.optimizer = model, optimizer
            self.history, self.total = [], 0.0

        def fit(self, loader):
            for x, y in loader:
                loss = F.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                {kept}
    """


@pytest.mark.parametrize(
    "kept",
    [
        "self.history.append(round(float(loss), 6))",
        "value = self.report(loss); self.history.append(round(value, 3))",
        "value = self.report(loss); print(round(value, 3)); self.history.append(value)",
        "parts = {'loss': loss}; parts[self.name] = len(x); self.history.append(round(parts[self.name], 3))",
        "parts = {'loss': loss}; parts[self.name] = len(x); self.history.append(parts[self.name])  # TML102",
        "self.history.append(torch.round(loss))  # TML102",
        "self.history.append(loss.round())  # TML102",
        "value = loss / len(x); print(round(value.item(), 3)); self.history.append(value)  # TML102",
    ],
)
def test_a_rounded_value(kept: str) -> None:
    check(_METERS.format(kept=kept))
