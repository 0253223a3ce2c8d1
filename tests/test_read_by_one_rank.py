"""What all ranks gather and a helper needs on one of them; `# TML410` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GATHERED = """
import torch.distributed as dist

def save(rows, path="rows.pt"):
    if dist.get_rank() != 0:
        return
    torch.save(rows, path)

def save_on_master(*args):
    if is_main_process():
        torch.save(*args)

def count(rows):
    if dist.get_rank() == 0:
        print(rows)
    return len(rows)

def gather(mine, size):
    parts = [None] * size
    dist.all_gather_object(parts, mine){}
    {}
"""
FOR_ONE = [
    "save(parts)",
    "rows = [row for part in parts for row in part]\n    save(rows, path='all.pt')",
    "save_on_master(parts, 'rows.pt')",
    "save(rows=parts)",
]
FOR_ALL = [
    "count(parts)",
    "save(parts)\n    print(parts)",
    "save('none.pt', len(parts))\n    return parts",
    "torch.save(parts, 'rows.pt')",
]


@pytest.mark.parametrize("after", FOR_ONE)
def test_a_helper_that_sends_the_others_away(after: str) -> None:
    check(GATHERED.format("  # TML410", after))


@pytest.mark.parametrize("after", FOR_ALL)
def test_a_helper_that_all_ranks_need(after: str) -> None:
    check_innocent(GATHERED.format("", after))


TASKS = """
import torch.distributed as dist

class Task:
    def __init__(self, name):
        self.name, self.samples, self.scores = name, [], []

def evaluate(tasks, size):
    for task in tasks:
        parts = [None] * size
        dist.all_gather_object(parts, task.samples){}
        task.samples = [row for part in parts for row in part]

def write(tasks):
    return sum(float(row.sum()) for task in tasks for row in task.samples)

def worker(rank, size):
    tasks = [Task("near"), Task("far")]
    evaluate(tasks, size)
    {}
"""


def test_what_the_objects_of_a_loop_get() -> None:
    check(TASKS.format("  # TML410", "if rank == 0:\n        print(write(tasks))"))
    check_innocent(TASKS.format("", "print(write(tasks))"))
    check_innocent(TASKS.format("", "if rank == 0:\n        print(write(tasks))\n    write(tasks)"))
    check_innocent(TASKS.format("", "print(len(tasks))"))
