"""Process groups that are made again and again; `# TML408` says where."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
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
    "a mesh of two rows": "def make(ranks):\n    return dist.init_device_mesh('cuda', (2, len(ranks)))  # TML408",
}
KEEPERS = {
    "a table": "def make(ranks):\n    if ranks not in GROUPS:\n        GROUPS[ranks] = dist.new_group(ranks)\n"
    "    return GROUPS[ranks]",
    "a cache": "@functools.lru_cache\ndef make(ranks):\n    return dist.new_group(ranks)",
    "destroyed": "def make(ranks):\n    return dist.new_group(ranks)\n\ndef drop(group):\n"
    "    dist.destroy_process_group(group)",
    "a mesh of all ranks": "def make(ranks):\n    return dist.init_device_mesh('cuda', (dist.get_world_size(),))",
    "a mesh of as many": "def make(ranks):\n    world = dist.get_world_size()\n"
    "    return dist.init_device_mesh(device_type='cuda', mesh_shape=(world,), mesh_dim_names=('dp',))",
    "another library": "def make(ranks):\n    return GROUPS.new_group(ranks)",
}


def program(maker: str, ranks: str = "[0, 1]", driver: str = DRIVER) -> str:
    return SERVED.format(maker=maker, once="pass", driver=driver.format(ranks=ranks) if driver is DRIVER else driver)


@pytest.mark.parametrize("case", MAKERS)
def test_groups_of_the_same_ranks(case: str) -> None:
    check(program(MAKERS[case]))
    check(program(MAKERS[case], "RANKS"))
    for setup in (
        "__init__(self, models):",
        "__init__(self, models): self._init_all(models)\n\n    def _init_all(self, models):",
    ):
        driver = SETUP.replace("__init__(self, models):", setup)
        check(program(MAKERS[case], driver=driver).replace("  # TML408", ""))


def test_groups_that_are_not_asked_for() -> None:
    told = program(PLAIN, "[0, 1], init_groups=False").replace("model, ranks)", "model, ranks, init_groups=True)")
    check(
        told.replace("make(ranks)\n        pass", "make(ranks) if init_groups else None\n        pass").replace(
            "  # TML408", ""
        )
    )


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
    ("dist.destroy_process_group(self.columns); self.columns = None", "_ROWS = None  # TML408"),
    ("self.columns = None  # TML408", "dist.destroy_process_group(); _ROWS = None"),
    ("self.columns = None  # TML408", "dist.destroy_process_group(_ROWS); _ROWS = None"),
    ("old = self.columns; dist.destroy_process_group(old); self.columns = None", "_ROWS = None  # TML408"),
    ("[dist.destroy_process_group(one) for one in vars(self).values()]", "_ROWS = None"),
]


@pytest.mark.parametrize("lines", GONE)
def test_groups_that_are_only_forgotten(lines: tuple[str, str]) -> None:
    check(LAYOUT.format(attribute=lines[0], name=lines[1]))


TORN_DOWN = """
import torch.distributed as dist

_GROUPS = {}
_STATE = {"tp": None}

class Layout:
    tp = None

    def __init__(self):
        self.groups = {}
        self.listed = []

    @classmethod
    def initialize(cls, ranks):
        cls.tp = dist.new_group(ranks)

    def build(self, layout):
        for name, ranks in layout.items():
            self.groups[name] = dist.new_group(ranks)
            group = dist.new_group(ranks)
            self.listed.append(group)

    @classmethod
    def destroy(cls):
        %s

def build(layout):
    for name, ranks in layout.items():
        _GROUPS[name] = dist.new_group(ranks)
    _STATE["tp"] = dist.new_group(layout["tp"])

def reset(own):
    %s

for ranks in ([0], [1]):
    Layout.initialize(ranks)
    Layout.destroy()
    reset(Layout())
"""
OF_THE_CLASS = ["cls.tp = None", "del cls.tp", "Layout.tp = None"]
OF_THE_FILE = ["_GROUPS.clear()", "_STATE['tp'] = None", "del _STATE['tp']", "global _GROUPS; _GROUPS = {}"]
NO_GROUPS = [
    "own = {}",
    "_OTHER = {}",
    "_STATE['name'] = None",
    "_GROUPS = {}",
    "own.clear()",
    "own.groups_seen = None",
]


@pytest.mark.parametrize("gone", OF_THE_CLASS)
def test_groups_of_a_class_that_are_forgotten(gone: str) -> None:
    check(TORN_DOWN % (gone + "  # TML408", "own.close()"))


@pytest.mark.parametrize("gone", OF_THE_FILE)
def test_tables_of_groups_that_are_emptied(gone: str) -> None:
    check(TORN_DOWN % ("return cls", gone + "  # TML408"))


@pytest.mark.parametrize("gone", NO_GROUPS)
def test_what_holds_no_groups_may_be_emptied(gone: str) -> None:
    check(TORN_DOWN % ("cls.seen = None", gone))


@pytest.mark.parametrize(
    "emptied", ["self.groups = {}", "self.groups.clear()", "self.listed.clear()", "del self.listed"]
)
def test_tables_that_are_replaced_before_they_are_built_anew(emptied: str) -> None:
    rebuilt = (TORN_DOWN % ("return cls", "own.rebuild({})")).replace(
        "    @classmethod\n    def destroy",
        f"    def rebuild(self, layout):\n        {emptied}  # TML408\n        self.build(layout)\n\n"
        "    @classmethod\n    def destroy",
    )
    check(rebuilt)
    check(
        rebuilt.replace("  # TML408", "").replace("def build(layout", "dist.destroy_process_group(x)\ndef build(layout")
    )


ROUNDS = {
    "comm.py": """
import torch.distributed as dist

def participants(ranks):
    return dist.new_group(sorted(ranks))

def kept(ranks, _known={}):
    key = tuple(ranks)
    if key not in _known:
        _known[key] = dist.new_group(ranks)
    return _known[key]

def average(tensors, group=None):
    for one in tensors:
        dist.all_reduce(one, group=group)
        one.div_(dist.get_world_size(group))

def remember(group, _seen=[]):
    _seen.append(group)

def drop(group):
    dist.destroy_process_group(group)
""",
    "rounds.py": """
import torch
import comm

class Round:
    def __init__(self, net, rank):
        self.net, self.rank = net, rank

    def once(self, chosen):
        loss = self.net(torch.rand(8, 4)).square().mean()
        loss.backward()
        {lines}

def run(net, rank, rounds):
    one = Round(net, rank)
    for chosen in rounds:
        one.once(chosen)
""",
}
AVERAGED = """group = comm.{maker}(chosen)
        if self.rank in chosen:
            comm.average(self.net.buffers(), group)"""
OF_ONE_ROUND = [
    AVERAGED.format(maker="participants").replace("\n", "  # TML408\n", 1),
    AVERAGED.format(maker="participants").replace(", group)", ", group=group)").replace("\n", "  # TML408\n", 1),
    AVERAGED.format(maker="kept"),
    AVERAGED.format(maker="participants") + "\n        comm.drop(group)",
    AVERAGED.format(maker="participants") + "\n        comm.remember(group)",
    AVERAGED.format(maker="participants") + "\n        self.group = group",
    "if self.rank not in chosen:\n            return\n        " + AVERAGED.format(maker="participants"),
]


@pytest.mark.parametrize("lines", OF_ONE_ROUND)
def test_groups_that_a_helper_makes(lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({**ROUNDS, "rounds.py": ROUNDS["rounds.py"].format(lines=lines)}, tmp_path, monkeypatch)
