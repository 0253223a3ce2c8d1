"""Handles of hooks that go into a list which nobody looks into."""

from __future__ import annotations

import pytest
from snippets import check

CAPTURE = """
import contextlib

@contextlib.contextmanager
def capture(model, found):
    handles = []
    for name, layer in model.named_children():
        {put}
    try:
        yield found
    finally:
        {after}

def spreads(model, loader):
    for x in loader:
        with capture(model, []) as found, torch.no_grad():
            model(x)
        print(torch.cat(found).std().item())
"""
HOOK = "layer.register_forward_hook(lambda _, x, y: found.append(y))"


@pytest.mark.parametrize(
    "put", [f"handles.append({HOOK})  # TML304", f"handle = {HOOK}  # TML304\n        handles.append(handle)"]
)
def test_a_list_that_nobody_looks_into(put: str) -> None:
    check(CAPTURE.format(put=put, after="pass"))


@pytest.mark.parametrize("after", ["for handle in handles: handle.remove()", "finish(handles)", "print(handles)"])
def test_handles_that_somebody_has(after: str) -> None:
    put = f"handle = {HOOK}\n        handles.append(handle)"
    check(CAPTURE.format(put=put, after=after))
