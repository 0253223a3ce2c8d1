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


HELPERS = """
import gc
import torch

def free(model):
    %s
    gc.collect()
    torch.cuda.empty_cache()

def release(*models):
    for model in models:
        del model  # TML602
    gc.collect()
    torch.cuda.empty_cache()
"""
CALLER = """
import torch
from torch import nn
from helpers import free, release

def run(x):
    first = nn.Linear(8, 8)
    y = first(x).sum().item()
    %s
    second = nn.Linear(8, 8)
    return y + second(x).sum().item()
"""


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        ("del model  # TML602", "free(first)  # TML602"),
        ("del model  # TML602", "release(first)  # TML602"),
        ("del model  # TML602", "free(first)\n    first = None"),
        ("del model  # TML602", "free(nn.Linear(8, 8))"),
        ("model.cpu(); del model", "free(first)"),
        ("print(model)", "free(first)"),
    ],
)
def test_what_the_caller_binds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helper: str, call: str) -> None:
    check_project({"helpers.py": HELPERS % helper, "main.py": CALLER % call}, tmp_path, monkeypatch)


STAGES = """
import torch
from torch import nn
from helpers import free, release

def run(x):
    first = nn.Linear(8, 8)
    y = first(x).sum().item()
    free(first)  # TML602
    second = nn.Linear(8, 8)
    y += second(x).sum().item()
    free(second)  # TML602
    third = nn.Linear(8, 8)
    y += third(x).sum().item()
    free(third)
    del third
    return y
"""


def test_each_call_that_leaves_a_name_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"helpers.py": HELPERS % "del model  # TML602", "main.py": STAGES}
    check_project(files, tmp_path, monkeypatch)
