"""What files held, in a queue without a limit between a reader and the training."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

READER = """
import multiprocessing as mp
import queue
import threading
import json
import numpy as np

def load(path):
    return np.load(path)["image"]

def reader(paths, rows):
    for path in paths:
        {puts}
    rows.put(None)

def train(paths, model, optimizer):
    rows = {queue}
    worker = {worker}(target=reader, args=(paths, rows))
    worker.start()
    while True:
        row = rows.get()
        if row is None:
            break
        model(row).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    worker.join()
"""
QUEUES = [("mp.Queue()", "mp.Process"), ("queue.Queue()", "threading.Thread")]


@pytest.mark.parametrize(("queue", "worker"), QUEUES)
@pytest.mark.parametrize(
    "puts",
    ["rows.put(torch.load(path)){}", "row = torch.load(path)\n        rows.put(row){}", "rows.put(load(path)){}"],
    ids=["at once", "by a name", "by a helper"],
)
def test_files_that_wait_in_a_queue(puts: str, queue: str, worker: str) -> None:
    check(READER.format(puts=puts.format("  # TML504"), queue=queue, worker=worker))


@pytest.mark.parametrize(
    ("puts", "queue", "worker"),
    [
        ("rows.put(torch.load(path))", "mp.Queue(8)", "mp.Process"),
        ("rows.put(torch.load(path))", "queue.Queue(maxsize=4)", "threading.Thread"),
        ("rows.put(path)", *QUEUES[0]),
        ("rows.put(json.load(open(path)))", *QUEUES[1]),
    ],
    ids=["a limit", "a limit by its name", "paths", "settings"],
)
def test_queues_that_stay_small(puts: str, queue: str, worker: str) -> None:
    check_innocent(READER.format(puts=puts, queue=queue, worker=worker))
