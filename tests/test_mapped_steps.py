"""Steps that are taken by `map`, `filter` and the `map` of a pool of threads: one for each item."""

from __future__ import annotations

import pytest
from snippets import check

FIT = """
import itertools
from concurrent.futures import ThreadPoolExecutor

class Fit:
    def __init__(self):
        self.model = Net()
        self.losses = []

    def step(self, batch):
        loss = self.model(batch).sum()
        loss.backward()
        self.losses.append({kept}){mark}
        return loss.item()

def main(steps):
    fit = Fit()
    batches = [torch.rand(4, 8) for _ in range(steps)]
    {body}

main(10)
"""
BODIES = [
    "print(sum(map(fit.step, batches)))",
    "print(list(map(lambda batch: fit.step(batch), batches)))",
    "for loss in itertools.accumulate(map(fit.step, batches)): print(loss)",
    "print(list(filter(lambda batch: fit.step(batch) > 0, batches)))",
    "pool = ThreadPoolExecutor(2); print(list(pool.map(fit.step, batches))); pool.shutdown()",
]


@pytest.mark.parametrize("body", BODIES)
def test_each_item_is_a_step(body: str) -> None:
    check(FIT.format(kept="loss", mark="  # TML102", body=body))
    check(FIT.format(kept="loss.item()", mark="", body=body))


def test_what_each_item_makes_and_drops() -> None:
    check(
        """
        def moved(batch):
            rows = []
            for part in batch:
                rows.append(part.to("cpu"))
            return torch.stack(rows)

        def main(model, optimizer, batches):
            for batch in batches:
                loss = model(torch.cat(list(map(moved, batch)))).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        def total(model, batch):
            terms = list(map(lambda part: F.mse_loss(model(part), part), batch))
            return sum(terms)

        def fit(model, batches):
            for batch in batches:
                total(model, batch).backward()
        """
    )
