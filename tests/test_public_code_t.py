"""More of what public code does that looks like a leak and is none, each beside what it is taken for."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

SNIPPETS = {
    "a list of free buffers that is emptied by a name for it": """
        FREE: dict[tuple, list] = {}

        def take(shape: tuple, dtype: torch.dtype) -> torch.Tensor:
            rows = FREE.get((shape, dtype))
            if rows:
                return rows.pop()
            return torch.empty(shape, dtype=dtype)

        def give(row: torch.Tensor):
            key = (tuple(row.shape), row.dtype)
            if key not in FREE:
                FREE[key] = []
            FREE[key].append(row)

        def run(steps):
            for _ in range(steps):
                row = take((8, 8), torch.float32)
                give(row.mul_(2))
        """,
    "a list of buffers that is only looked at by a name for it": """
        USED: dict[tuple, list] = {}

        def last(shape: tuple, dtype: torch.dtype) -> torch.Tensor:
            rows = USED.get((shape, dtype))
            return rows[-1] if rows else torch.empty(shape, dtype=dtype)

        def give(row: torch.Tensor):
            key = (tuple(row.shape), row.dtype)
            if key not in USED:
                USED[key] = []
            USED[key].append(row)  # TML301

        def run(steps):
            for _ in range(steps):
                row = last((8, 8), torch.float32)
                give(row.mul(2))
        """,
    "a table of sessions whose rows are taken out, and whose keys stay": """
        SESSIONS = {}

        def run(requests):
            for request in requests:
                SESSIONS[request.id] = [torch.ones(3)]  # TML301
                SESSIONS[request.id].append(torch.ones(4))
                rows = SESSIONS[request.id]
                rows.pop()
        """,
}
_REGISTRY = """
from torch import nn

SHARDS = []

class Shard(nn.Parameter):
    pass

def attach(shard: nn.Parameter):
    SHARDS.append(shard)  # TML301

def wrap(module: nn.Module):
    for name in module.names:
        attach(Shard(getattr(module, name).data))

def make_linear(width) -> nn.Module:
    layer = nn.Linear(width, width)
    layer.names = ["weight", "bias"]
    wrap(layer)
    return layer
"""
_WORKER = """
import torch
from registry import make_linear

def work(rank):
    layer = make_linear(64)
    assert layer(torch.ones(2, 64)).shape == (2, 64)
"""
PROJECTS: dict[str, dict[str, str]] = {
    "what another file adds in a loop of its own, and says": {"registry.py": _REGISTRY, "worker.py": _WORKER},
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets(name: str) -> None:
    check(SNIPPETS[name])


@pytest.mark.parametrize("name", PROJECTS)
def test_projects(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(PROJECTS[name], tmp_path, monkeypatch)
