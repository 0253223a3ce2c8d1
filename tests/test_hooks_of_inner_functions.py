"""Hooks that an inner function puts on each layer, taken out if nothing raises, and those that are there for a run."""

import pytest
from snippets import check

SUMMARY = """
def summary(model, x):
    rows, handles = [], []

    def register(layer):
        def keep(module, args, output):
            rows.append(output)

        handles.append(layer.register_forward_hook(keep))%s

    model.apply(register)
    %s
    return rows
"""
REMOVE = "for handle in handles:\n        handle.remove()"


@pytest.mark.parametrize(
    ("mark", "body"),
    [
        ("  # TML304", f"with torch.no_grad():\n        model(x)\n    {REMOVE}"),
        ("", "try:\n        model(x)\n    finally:\n        for handle in handles:\n            handle.remove()"),
    ],
)
def test_an_inner_function(mark: str, body: str) -> None:
    check(SUMMARY % (mark, body))


FIT = """
def fit(model, loader, optimizer, probe):
    seen = {}

    def keep(module, args, output):
        seen[module] = output.detach()

    handle = probe.register_forward_hook(keep)%s
    %s
    handle.remove()
    return seen
"""


@pytest.mark.parametrize(
    ("mark", "body"),
    [
        ("  # TML304", "model(next(iter(loader)))"),
        ("  # TML304", "model.train()\n    model(next(iter(loader)))"),
        ("", "train_epochs(model, loader, optimizer)"),
        ("", "optimizer.trainer.train()"),
        (
            "",
            "for x in loader:\n        loss = model(x).mean()\n        optimizer.zero_grad()\n"
            "        loss.backward()\n        optimizer.step()",
        ),
    ],
)
def test_a_hook_for_the_whole_run(mark: str, body: str) -> None:
    check(FIT % (mark, body))
