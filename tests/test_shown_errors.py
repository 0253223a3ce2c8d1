"""Cells and helpers that have IPython show a traceback, which it keeps in `sys.last_value`."""

from __future__ import annotations

import pytest
from snippets import check

SCRIPT = """
import sys
import traceback
from IPython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

{shell}
model, fits = Net(), 0

def step(size):
    x = torch.randn(size, 8)
    model(x).square().mean().backward()
    model.zero_grad()

for size in (16, 32, 64):
    try:
        {tried}
        fits = size
    except RuntimeError:
        {shows}
        break

{later}
print(fits)
"""
CALL = "get_ipython().showtraceback()"
MARK = "  # TML307"
CASES = {
    "asked for there": ("", "step(size)", CALL + MARK, ""),
    "by the name of the shell": ("ip = get_ipython()", "step(size)", f"ip.showtraceback(){MARK}", ""),
    "of its class": ("shell = InteractiveShell.instance()", "step(size)", f"shell.showtraceback(){MARK}", ""),
    "another cell lets it go": ("", "step(size)", CALL, "sys.last_value = sys.last_traceback = None"),
    "side by side": ("", "step(size)", CALL, "sys.last_type, sys.last_value = None, None"),
    "another cell clears it": ("", "step(size)", CALL, "traceback.clear_frames(sys.last_traceback)"),
    "it is printed": ("", "step(size)", "traceback.print_exc(limit=1)", ""),
    "no model has run": ("", "int(str(size))", CALL, ""),
    "of another object": ("from console import page", "step(size)", "page.showtraceback()", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_shown_errors(case: str) -> None:
    shell, tried, shows, later = CASES[case]
    check(SCRIPT.format(shell=shell, tried=tried, shows=shows, later=later))
