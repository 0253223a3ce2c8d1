"""Loops that do nothing but show what a call gives: the call is made round by round."""

from __future__ import annotations

import pytest
from snippets import check

FIT = """
import signal

class Fit:
    def __init__(self):
        self.model = Net()
        self.losses = []

    def step(self, batch):
        loss = self.model(batch).sum()
        loss.backward()
        self.losses.append({kept})
        return loss.item()

def main(steps):
    fit = Fit()
    batches = [torch.rand(4, 8) for _ in range(steps)]
    for {batch}:
        {body}

main(10)
"""
ROUNDS = [
    ("batch in batches", "print(fit.step(batch))"),
    ("i, batch in enumerate(batches)", "print(i, fit.step(batch))"),
    ("batch in batches", "if len(batch) > 2: print(fit.step(batch))"),
]


@pytest.mark.parametrize(("batch", "body"), ROUNDS)
def test_what_is_shown_is_done_in_each_round(batch: str, body: str) -> None:
    check(FIT.format(kept="loss", batch=batch, body=body).replace("append(loss)", "append(loss)  # TML102"))
    check(FIT.format(kept="loss.item()", batch=batch, body=body))


def test_a_handler_for_each_run() -> None:
    check(
        """
        import signal

        def train(path):
            model = Net()
            signal.signal(signal.SIGINT, lambda number, frame: torch.save(model, path))  # TML314
            return model(torch.rand(4, 8)).sum().item()

        def main(steps):
            runs = [f"run{i}" for i in range(steps)]
            for run in runs:
                print(train(run))

        main(10)
        """
    )


def test_a_loop_that_replaces_each_entry_and_shows_it() -> None:
    check(
        """
        def main(batches):
            model, losses = Net(), []
            for batch in batches:
                loss = model(batch).sum()
                loss.backward()
                parts = [loss, loss * 2]
                for i, part in enumerate(parts):
                    parts[i] = part.item()
                    print(i, parts[i])
                losses.append(parts)

        main([torch.rand(4, 8)] * 9)
        """
    )
