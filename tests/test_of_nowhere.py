"""Graphs that a variable seems to collect where nothing in sight trains, evaluates or back-propagates."""

from __future__ import annotations

import pytest
from snippets import check

SCRIPT = """
from physics import load, phase_model

estimate = {made}
rows = []
for measured in load():
    out = estimate(measured)
    {then}
    rows.append({kept}){mark}
print(len(rows))
"""


@pytest.mark.parametrize(
    ("made", "then", "kept", "mark"),
    [
        ("phase_model()", "print(len(rows))", "estimate(measured)", ""),  # who knows whether it has anything to train
        ("Net()", "print(len(rows))", "estimate(measured)", "  # TML102"),
        ("phase_model()", "loss = out.mean(); loss.backward()", "loss", "  # TML102"),
        ("phase_model()", "loss = out.mean(); loss.backward()", "loss.item()", ""),
    ],
)
def test_what_a_script_collects(made: str, then: str, kept: str, mark: str) -> None:
    check(SCRIPT.format(made=made, then=then, kept=kept, mark=mark))
