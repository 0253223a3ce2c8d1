"""Workers: what tasks of a pool keep in their process, what makes a context, and pools that `atexit` keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

BANK = """
import torch

class Bank:
    def __init__(self, limit=None):
        self.limit = limit
        self.waves = {}

    def get(self, name):
        wave = self.waves.get(name)
        if wave is None:
            wave = torch.load(name)
            self.waves[name] = wave
            if self.limit is not None and len(self.waves) > self.limit:
                self.waves.pop(next(iter(self.waves)))
        return wave
"""
TASKS = """
from bank import Bank

ALL = Bank()
LATEST = Bank(limit=4)

def energy(name):
    return ALL.get(name).square().mean().item()

def energy_once(name):
    return LATEST.get(name).square().mean().item()
"""
TABLE = """
import multiprocessing
import tasks

def main(names):
    with multiprocessing.Pool(4) as pool:
        print(sum(pool.imap({task}, names))){mark}
"""


@pytest.mark.parametrize(("task", "mark"), [("tasks.energy", "  # TML401"), ("tasks.energy_once", "")])
def test_a_memo_of_another_file_has_a_limit_or_none(
    task: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLE.format(task=task, mark=mark)
    check_project({"bank.py": BANK, "tasks.py": TASKS, "table.py": table}, tmp_path, monkeypatch)


CACHED = """
import functools
import multiprocessing
import torch

@functools.{cache}{mark}
def read(part, kind="mel"):
    return torch.load(part)

@functools.lru_cache(maxsize=None)
def window(size):
    return torch.hann_window(size)

{tasks}

def main(parts, taper):
    with multiprocessing.Pool(4{options}) as pool:
        print(sum(pool.imap({task}, parts)))
"""
ENERGY = """
def energy(part):
    return (read(part) * window(400)).mean().item()
"""
OF_A_PAIR = """
def part_of(spec):
    return read(spec).mean()

def energy(job):
    folder, number = job
    return part_of(folder + number).item()
"""
OF_A_SETTING = """
def energy(taper, part):
    return (torch.load(part) * read(taper)).mean().item()
"""


@pytest.mark.parametrize(
    ("cache", "tasks", "task", "options", "guilty"),
    [
        ("lru_cache(maxsize=None)", ENERGY, "energy", "", True),
        ("cache", OF_A_PAIR, "energy", "", True),
        ("lru_cache(maxsize=4)", ENERGY, "energy", "", False),
        ("lru_cache(maxsize=None)", ENERGY, "energy", ", maxtasksperchild=8", False),
        ("lru_cache(maxsize=None)", OF_A_SETTING, "functools.partial(energy, taper)", "", False),
        ("cache", ENERGY.replace("read(part)", "read('mean')"), "energy", "", False),
    ],
)
def test_each_worker_has_a_cache_of_its_own(
    cache: str, tasks: str, task: str, options: str, guilty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = "  # TML401" if guilty else ""
    text = CACHED.format(cache=cache, mark=mark, tasks=tasks, task=task, options=options)
    check_project({"energies.py": text}, tmp_path, monkeypatch)


LOADED = """
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

class Rows(Dataset):
    def __getitem__(self, index):
        return torch.full((3, 64), float(index)) * self.scale

    def __len__(self):
        return 640

def prepare(number):
    scale = {scale}{mark}
    get_worker_info().dataset.scale = 0.5 if scale is None else scale

def rows(rank):
    return DataLoader(Rows(), batch_size=8, num_workers=4, worker_init_fn=prepare)
"""


@pytest.mark.parametrize(
    ("scale", "guilty"),
    [
        ('torch.ones(64, device=f"cuda:{get_worker_info().seed % 8}")', True),
        ('torch.ones(64).to("cuda:%d" % (number % 8))', True),
        ('torch.ones(64).to("cuda:" + str(number))', True),
        ('torch.ones(64).to(torch.device("cuda:{}".format(number)))', True),
        ("torch.cuda.set_device(number % 8)", True),
        ('torch.ones(64, device="cpu")', False),
        ('torch.ones(64).to("cpu:%d" % 0)', False),
        ('torch.load(f"cuda/{number}.pt")', False),
    ],
)
def test_a_worker_makes_a_context(scale: str, guilty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = LOADED.format(scale=scale, mark="  # TML403" if guilty else "")
    check_project({"rows.py": text}, tmp_path, monkeypatch)


FANNED_OUT = """
import atexit
import torch
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pool

SHARED = {{}}
ONE = None

class Bank:
    def __init__(self, processes):
        self.pool = {pool}
        atexit.register({kept}){mark}

    def map(self, function, items):
        return self.pool.map(function, items)

    def close(self):
        self.pool.{close}

def one():
    global ONE
    if ONE is None:
        ONE = Pool(4)
        atexit.register(ONE.terminate)
    return ONE

def of(kind):
    if kind not in SHARED:
        SHARED[kind] = Pool(4)
        atexit.register(SHARED[kind].terminate)
    return SHARED[kind]

def score(items):
    bank = Bank(4)
    found = torch.tensor(list(bank.map(abs, items)))
    bank.close()
    return found.sum() + sum(one().map(abs, items)) + sum(of("cpu").map(abs, items))

def main(rounds):
    for items in rounds:
        print(score(items))
"""


@pytest.mark.parametrize(
    ("pool", "kept", "close", "guilty"),
    [
        ("Pool(processes)", "self.close", "terminate()", True),
        ("Pool(processes)", "self.pool.terminate", "close()", True),
        ("ThreadPoolExecutor(processes)", "self.pool.shutdown", "shutdown()", True),
        ("Pool(processes)", "self.close", "close(); atexit.unregister(self.close)", False),
        ("Pool(processes)", "print, processes", "close()", False),
    ],
)
def test_a_pool_that_is_closed_and_registered(
    pool: str, kept: str, close: str, guilty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FANNED_OUT.format(pool=pool, kept=kept, close=close, mark="  # TML314" if guilty else "")
    check_project({"bank.py": text}, tmp_path, monkeypatch)
