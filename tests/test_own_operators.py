"""Metrics that can be added, by a method of their class."""

from __future__ import annotations

import pytest
from snippets import check

ADDED = """
from dataclasses import dataclass, fields

@dataclass
class Metrics:
    loss: object = 0.0
    tokens: int = 0

    def {method}(self, other):
        {body}

def main(batches):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = Metrics()
    for x in batches:
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {added}
    print(total)

main(torch.rand(9, 4, 8))
"""
PLAIN = "return Metrics(self.loss + other.loss, self.tokens + other.tokens)"
EACH = "return Metrics(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))"
STEPS = [
    ("__add__", PLAIN, "total = total + Metrics({}, 4)"),
    ("__add__", EACH, "total = total + Metrics({}, 4)"),
    ("__add__", EACH, "total += Metrics({}, 4)"),
    ("__radd__", PLAIN, "total = Metrics({}, 4) + total if total is None else total + Metrics({}, 4)"),
]


@pytest.mark.parametrize(("method", "body", "added"), STEPS)
def test_metrics_that_are_added_with_their_graphs(method: str, body: str, added: str) -> None:
    line = added.replace("{}", "loss")
    check(ADDED.format(method=method, body=body, added=line + "  # TML101"))
    check(ADDED.format(method=method, body=body, added=added.replace("{}", "loss.item()")))


def test_an_operator_that_lets_go_of_the_graph() -> None:
    body = "return Metrics(self.loss + float(other.loss), self.tokens + other.tokens)"
    check(ADDED.format(method="__add__", body=body, added="total = total + Metrics(loss, 4)"))
    kept = "self.loss += float(other.loss); return self"
    check(ADDED.format(method="__iadd__", body=kept, added="total += Metrics(loss, 4)"))
