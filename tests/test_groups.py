"""Process groups that are made again and again; `# TML408` says where."""

from __future__ import annotations

import pytest
from snippets import check

SERVED = """
import functools
import torch.distributed as dist
from torch.distributed import new_group

GROUPS = {{}}
RANKS = [0, 1]

{maker}

class Engine:
    def __init__(self, model, ranks):
        self.model, self.group = model.eval(), make(ranks)
        {once}

    @torch.inference_mode()
    def run(self, x):
        out = self.model(x)
        dist.all_reduce(out, group=self.group)
        return out.mean().item()

{driver}
"""
PLAIN = "def make(ranks):\n    return dist.new_group(ranks)  # TML408"
DRIVER = """
def serve(requests, model):
    for x in requests:
        print(Engine(model, {ranks}).run(x))
"""
SETUP = """
class Stack:
    def __init__(self, models):
        self.engines = []
        for model in models:
            self.engines.append(Engine(model, [0, 1]))

def serve(requests, models):
    stack = Stack(models)
    for x in requests:
        print([engine.run(x) for engine in stack.engines])
"""
MAKERS = {
    "plain": PLAIN,
    "imported by name": PLAIN.replace("dist.", ""),
    "in a list": PLAIN.replace("(ranks)  #", "(list(ranks), backend='gloo')  #"),
    "of all ranks": "def make(ranks):\n    return dist.new_group()  # TML408",
    "a mesh": "def make(ranks):\n    return dist.init_device_mesh('cuda', (2,))  # TML408",
}
KEEPERS = {
    "a table": "def make(ranks):\n    if ranks not in GROUPS:\n        GROUPS[ranks] = dist.new_group(ranks)\n"
    "    return GROUPS[ranks]",
    "a cache": "@functools.lru_cache\ndef make(ranks):\n    return dist.new_group(ranks)",
    "destroyed": "def make(ranks):\n    return dist.new_group(ranks)\n\ndef drop(group):\n"
    "    dist.destroy_process_group(group)",
    "another library": "def make(ranks):\n    return GROUPS.new_group(ranks)",
}


def program(maker: str, ranks: str = "[0, 1]", driver: str = DRIVER) -> str:
    return SERVED.format(maker=maker, once="pass", driver=driver.format(ranks=ranks) if driver is DRIVER else driver)


@pytest.mark.parametrize("case", MAKERS)
def test_groups_of_the_same_ranks(case: str) -> None:
    check(program(MAKERS[case]))
    check(program(MAKERS[case], "RANKS"))
    check(program(MAKERS[case], driver=SETUP).replace("  # TML408", ""))


@pytest.mark.parametrize("case", KEEPERS)
def test_groups_that_are_kept_or_destroyed(case: str) -> None:
    check(program(KEEPERS[case]))


def test_groups_of_other_ranks() -> None:
    check(program(PLAIN, "[int(x.sum())]").replace("  # TML408", ""))
    check(SERVED.format(maker=PLAIN, once="pass", driver="").replace("  # TML408", ""))
    every = "def make(ranks):\n    for one in ranks:\n        group = dist.new_group(one)\n    return group"
    check(program(every, "[[0], [1]]"))


LAYOUT = """
import torch.distributed as dist

_ROWS = None

class Mesh:
    def __init__(self):
        self.columns = None

    def open(self, size):
        for start in range(0, 4, size):
            ranks = list(range(start, start + size))
            group = dist.new_group(ranks)
            if dist.get_rank() in ranks:
                self.columns = group

    def close(self):
        {attribute}

def set_up(size):
    global _ROWS
    for start in range(0, 4, size):
        _ROWS = dist.new_group(list(range(start, start + size)))

def take_down():
    global _ROWS
    {name}

def check_all(sizes):
    mesh = Mesh()
    for size in sizes:
        set_up(size)
        mesh.open(size)
        take_down()
        mesh.close()
"""
GONE = [
    ("self.columns = None  # TML408", "_ROWS = None  # TML408"),
    ("del self.columns  # TML408", "pass"),
    ("pass", "pass"),
    ("dist.destroy_process_group(self.columns); self.columns = None", "_ROWS = None"),
    ("self.columns = None  # TML408", "dist.destroy_process_group(); _ROWS = None"),
]


@pytest.mark.parametrize("lines", GONE)
def test_groups_that_are_only_forgotten(lines: tuple[str, str]) -> None:
    check(LAYOUT.format(attribute=lines[0], name=lines[1]))
