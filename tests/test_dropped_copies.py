"""Statements that make a copy of a tensor, or a list of such, and drop it: several methods on end, comprehensions."""

from __future__ import annotations

import pytest
from snippets import check

PROGRAM = """
def features(loader):
    model = Net().train()
    found = []
    for x in loader:
        outs = [model(x), model(-x)]
        out = outs[0] * 2
        {statement}
        out.pow(2).mean().backward()
        found.append({kept})
    return found
"""
CASES = {
    "one on end of the other": ("out.detach().cpu()  # TML605", "out.sum().item()"),
    "the other way round": ("out.cpu().detach()  # TML605", "out.sum().item()"),
    "for each of a list": ("[one.detach() for one in outs]  # TML605", "len(outs)"),
    "in place": ("out.detach_().requires_grad_().cpu  # noqa: B018", "out.sum().item()"),
    "what is written into": ("out.detach().clamp_(0, 1)", "out.sum().item()"),
    "a list that is bound": ("outs = [one.detach() for one in outs]", "len(outs)"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_copy_that_nothing_takes(case: str) -> None:
    statement, kept = CASES[case]
    check(PROGRAM.format(statement=statement, kept=kept))
