"""Lists of losses of which each round differentiates one entry."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SEARCH = """
def search(model, x, steps, optimizer):
    losses = [None] * steps
    losses[0] = model(x).mean()
    for step in range(1, steps):
        optimizer.zero_grad()
        {back}
        losses[step] = {new}
        optimizer.step()
    return losses
"""


@pytest.mark.parametrize(
    ("back", "new"),
    [
        ("losses[step - 1].backward()", "model(x).mean()  # TML102"),
        ("losses[-1].backward()", "model(x).mean()  # TML102"),
        ("losses[step - 1].backward()", "model(x).mean().item()"),
        ("torch.stack(losses[:step]).sum().backward()", "model(x).mean()"),
        ("sum(losses).backward()", "model(x).mean()"),
    ],
)
def test_what_the_last_round_has_left(back: str, new: str) -> None:
    check(SEARCH.format(back=back, new=new))


def test_entries_that_are_gone_through_when_all_are_there() -> None:
    check_innocent(
        """
        def tasks(model, loader, optimizer, count):
            for x in loader:
                losses = [None] * count
                for task in range(count):
                    losses[task] = model(x[task]).mean()
                for task in range(count):
                    losses[task].backward()
                optimizer.step()

        def heads(model, parts, loader, optimizer, count):
            for x in loader:
                losses, features = [0] * count, model(x)
                for part in range(count):
                    losses[part] = parts[part](features).mean()
                    losses[part].backward(retain_graph=True)
                optimizer.step()
        """
    )
