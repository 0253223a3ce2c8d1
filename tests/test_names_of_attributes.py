"""`getattr` with names that are read from somewhere."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent


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


CALLED_BY_NAME = """
        class Callback:
            def on_step(self, **logs):
                pass

        class History(Callback):
            def __init__(self):
                self.rows = []

            def on_step(self, loss=None, **logs):
                self.rows.append(%s)

        class Callbacks:
            def __init__(self, *callbacks):
                self.callbacks = callbacks

            def fire(self, event, **logs):
                for callback in self.callbacks:
                    if hasattr(callback, %s):
                        getattr(callback, %s)(**logs)

        def train(model, loader, optimizer):
            callbacks = Callbacks(History())
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                callbacks.fire("%s", loss=loss)
        """


@pytest.mark.parametrize("name", ['f"on_{event}"', '"on_" + event'])
def test_a_method_by_a_name_that_is_put_together(name: str) -> None:
    kept = (CALLED_BY_NAME % ("loss", name, name, "step")).replace("append(loss)", "append(loss)  # TML102")
    check(kept)
    check_innocent(CALLED_BY_NAME % ("loss.item()", name, name, "step"))
    check_innocent(CALLED_BY_NAME % ("loss", name, name, "epoch"))
