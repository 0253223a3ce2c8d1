"""Losses that a helper which is not seen takes to the weights, with the optimizer that it is given as well."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

TRAINS = """
from tools import Scaler, compare

def train(loader, model, optimizer, net, scaler):
    total, kept = 0.0, []
    for x, y in loader:
        loss = compare(model(x), y)
        {step}
        {put}
    print(total / len(loader), len(kept))
"""


@pytest.mark.parametrize(
    "step",
    [
        "scaler(loss, optimizer, clip_grad=1.0)",
        "net.train_step(loss, optimizer)",
        "net.optimize(loss, optimizer=optimizer)",
        "loss_scaler = Scaler()\n        loss_scaler(loss, optimizer, parameters=model.parameters())",
    ],
)
def test_a_sum_of_losses_that_a_helper_takes(step: str) -> None:
    step = step.replace("scaler(loss", "loss_scaler(loss") if step.startswith("scaler") else step
    check(TRAINS.format(step=step, put="total += loss  # TML101"))


@pytest.mark.parametrize(
    ("step", "put"),
    [
        ("net.train_step(loss, optimizer)", "total += loss.item()"),
        ("net.train_step(loss, optimizer)", "total += float(loss)"),
        ("net.train_step(model, optimizer)", "total += loss"),  # whose is the loss?
        ("net.record(loss, optimizer)", "total += loss"),  # who says that it is differentiated?
        ("net.train_step(loss, total)", "total += loss"),
    ],
)
def test_numbers_and_what_is_not_seen(step: str, put: str) -> None:
    check_innocent(TRAINS.format(step=step, put=put))
