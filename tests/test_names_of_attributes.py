"""`getattr` with names that are read from somewhere."""

from __future__ import annotations

import pytest
from snippets import check


@pytest.mark.parametrize("name", ["''", "name or ''", "'' if name is None else name", "'relu'"])
def test_a_name_that_may_be_empty(name: str) -> None:
    check(
        f"""
        def activated(x, name=None):
            return getattr(torch, {name})(x)

        def train(model: nn.Module, optimizer, batches):
            kept = []
            for x in batches:
                loss = activated(model(x)).mean()
                loss.backward()
                optimizer.step()
                kept.append(loss)  # TML102
            return kept
        """
    )
