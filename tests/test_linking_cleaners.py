"""Helpers of another file that empty a device cache: what the file that calls them leaves bound."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

MEMORY = """
import gc
import torch

def free_memory(device=None):
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

def clear_seen(seen):
    seen.clear()
"""
MAIN = """
import torch
from torch import nn
%s

def score(model, x):
    return model(x).sum().item()

def compare(x):
    first, second = nn.Linear(8, 8), nn.Linear(8, 8)
    with torch.no_grad():
        hidden = first(x)
        total = hidden.sum().item()
        %s
        return total + score(second, x)

def unload(state):
    model = state["model"]
    del model%s
    %s
"""


@pytest.mark.parametrize(
    ("imported", "call", "bound", "deleted"),
    [
        ("from memory import free_memory", "free_memory()", "  # TML604", "  # TML602"),
        ("import memory", "memory.free_memory()", "  # TML604", "  # TML602"),
        ("from memory import clear_seen", "clear_seen(set())", "", ""),
        ("from elsewhere import free_memory", "free_memory()", "", ""),
    ],
)
def test_cleaners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imported: str, call: str, bound: str, deleted: str
) -> None:
    files = {"memory.py": MEMORY, "main.py": MAIN % (imported, call + bound, deleted, call)}
    check_project(files, tmp_path, monkeypatch)
