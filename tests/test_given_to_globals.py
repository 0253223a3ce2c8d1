"""An object of the module is given what has the model, and keeps it when the model's owner lets go of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

STUDIO = """
import gc

class Noises:
    sampler = None

    def __init__(self):
        self.sampler = None

    def attach(self, sampler):
        {keep}{mark}

    def like(self, x):
        return torch.randn_like(x)

    def forget(self):
        {forget}

noises = Noises()

class Sampler:
    def __init__(self, model):
        self.model = model
        self.noise = [torch.randn(2, 8) for _ in range(4)]
        noises.attach(self)

    @torch.no_grad()
    def sample(self, x):
        return self.model(x + noises.like(x))

class Shared:
    model = None

shared = Shared()

def load(width):
    shared.model = nn.Linear(8, width)

def unload():
    {also}
    shared.model = None
    {collect}

def main(steps):
    for step in range(steps):
        load(8 * step)
        print(Sampler(shared.model).sample(torch.rand(2, 8)).mean().item())
        unload()
"""
KEEP = "self.sampler = sampler"
FORGET = "self.sampler = None"
COLLECT = "gc.collect()"
MARK = "  # TML301"


@pytest.mark.parametrize(
    ("keep", "forget", "also", "collect", "mark"),
    [
        (KEEP, "pass", "pass", COLLECT, MARK),
        ("self.sampler = sampler.model", "pass", "pass", "torch.cuda.empty_cache()", MARK),
        ("self.sampler = sampler.noise", "pass", "pass", COLLECT, ""),
        ("self.sampler = __import__('weakref').ref(sampler)", "pass", "pass", COLLECT, ""),
        (KEEP, FORGET, "noises.forget()", COLLECT, ""),
        (KEEP, "pass", "noises.sampler = None", COLLECT, ""),
        (KEEP, FORGET, "pass", COLLECT, ""),  # somebody may call it
        (KEEP, "pass", "pass", "pass", ""),  # nobody waits for the memory
    ],
)
def test_what_a_global_was_given_last(keep: str, forget: str, also: str, collect: str, mark: str) -> None:
    check(STUDIO.format(keep=keep, forget=forget, also=also, collect=collect, mark=mark))


MANAGER = """
import gc

class Pipeline:
    def __init__(self, model):
        self.model = model

class Pool:
    def __init__(self):
        self.pipelines = {{}}

    def put(self, key, pipeline):
        self.pipelines[key] = pipeline

class Manager:
    def __init__(self, pool):
        self.pool, self.model = pool, None

    def load(self, width):
        self.model = nn.Linear(width, width)
        {keep}

    def unload(self):
        self.model = None
        gc.collect()

manager = Manager(Pool())

def main(steps):
    for step in range(steps):
        manager.load(8)
        manager.unload()
    manager.load(16)
"""


@pytest.mark.parametrize("keep", ["pass", "self.pool.put('last', Pipeline(self.model))"])
def test_what_the_owner_and_a_table_keep(keep: str) -> None:
    check(MANAGER.format(keep=keep))


FILES = {
    "shared.py": "model = None\n",
    "noises.py": """
import torch

class Noises:
    def __init__(self):
        self.sampler = None

    def like(self, x):
        return torch.randn_like(x)

source = Noises()
""",
    "main.py": """
import gc

import torch
from torch import nn

import noises
import shared

class Sampler:
    def __init__(self, model):
        self.model = model
        noises.source.sampler = {kept}{mark}

    @torch.no_grad()
    def sample(self, x):
        return self.model(x + noises.source.like(x))

def load(width):
    shared.model = nn.Linear(8, width)

def unload():
    shared.model = None
    gc.collect()

def main(steps):
    for step in range(steps):
        load(8 * step)
        print(Sampler(shared.model).sample(torch.rand(2, 8)).mean().item())
        unload()
""",
}


@pytest.mark.parametrize(("kept", "mark"), [("self", "  # TML301"), ("[torch.rand(8)]", "")])
def test_globals_of_other_files(kept: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({**FILES, "main.py": FILES["main.py"].format(kept=kept, mark=mark)}, tmp_path, monkeypatch)
