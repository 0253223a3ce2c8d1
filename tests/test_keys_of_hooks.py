"""Tables that hooks fill under a key that each has from where it was made; beside keys that are new each time, and
hooks that the table's own file puts on as well."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project, write

from torchmemlint.config import load
from torchmemlint.linter import engine, pool

_TABLE = """
import torch

results = {{}}

def store_as(name):
    def hook(module, given, result):
        results[name] = result{mark}
    return hook
{more}
"""
_TRUNK = """
import timm
import uuid
from torch import nn
from .table import results, store_as

def trunk(model, taken=(2, 5, 8, 11)):
    made = nn.Module()
    made.model = model
    for number in range(len(taken)):
        model.blocks[taken[number]].register_forward_hook(store_as({name})){mark}
    made.results = results
    return made

def large(pretrained, **more):
    return trunk(timm.create_model("vit_large_patch16_384", pretrained=pretrained), **more)
"""
_PLAIN = """
def plain(model):
    model.blocks[3].register_forward_hook(store_as("1"))
    return model
"""


def _files(name: str, alone: bool) -> dict[str, str]:
    on = "  # TML108"
    table = _TABLE.format(mark="" if alone else on, more="" if alone else _PLAIN)
    trunk = _TRUNK.format(name=name, mark=on if alone else "")
    return {"net/__init__.py": "", "net/table.py": table, "net/trunk.py": trunk}


@pytest.mark.parametrize("alone", [True, False])
def test_whoever_puts_the_hook_on_says_it(alone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(_files("str(number + 1)", alone), tmp_path, monkeypatch)


_LAST, _EVERY = "the last graph stays until the next call", "the graph of every call"
_KEYS = {"str(number + 1)": _LAST, 'f"block{number}"': _LAST, "uuid.uuid4().hex": _EVERY}


@pytest.mark.parametrize("key", _KEYS)
def test_what_stays(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = write(tmp_path, _files(key, alone=True))
    monkeypatch.chdir(tmp_path)
    found = pool.lint_files(names, engine.plan(load(tmp_path, {"no-cache": True}, isolated=True)), 1)
    assert [_KEYS[key] in one.message for one in found] == [True], [one.message for one in found]
