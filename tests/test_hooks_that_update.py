"""Hooks that put what they are given into a table by keyword, and that an error leaves behind."""

from __future__ import annotations

import pytest
from snippets import check

TAKEN = """
def gradients(model: nn.Module, layer, x, target):
    seen = {{}}
    handle = layer.register_forward_hook(lambda module, args, out: {kept}){mark}
    scores = model(x)
    if target >= scores.shape[1]:
        raise ValueError("no such class")
    scores[0, target].backward()
    handle.remove()
    return seen
"""


@pytest.mark.parametrize(
    ("kept", "code"),
    [
        ("seen.update(out=out)", "TML304"),
        ("seen.update(rows=args[0].detach())", "TML304"),
        ("seen.update(shape=out.shape)", ""),
        ("seen.update(calls=1)", ""),
    ],
)
def test_a_table_gets_it_by_keyword(kept: str, code: str) -> None:
    check(TAKEN.format(kept=kept, mark=f"  # {code}" if code else ""))
