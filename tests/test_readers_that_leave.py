"""Loops that leave a generator of another file, whose thread fills a queue, before it has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

AHEAD = """
import queue
import threading

END = object()

def ahead(items, most=2):
    rows = queue.Queue(maxsize=most)
    stop = threading.Event()

    def fill():
        for item in items:
            {put}
        rows.put(END)

    threading.Thread(target=fill, daemon=True).start()
    while (row := rows.get()) is not END:
        yield row
"""
CLOSED = """
import queue
import threading

def ahead(items, most=2):
    rows = queue.Queue(maxsize=most)
    stop = threading.Event()

    def fill():
        for item in items:
            if stop.is_set():
                return
            rows.put(item)

    threading.Thread(target=fill, daemon=True).start()
    try:
        while True:
            yield rows.get()
    finally:
        stop.set()
        rows.get()
"""
TRAIN = """
import torch
import reading

def one_epoch(net, optimizer, stream, most):
    rows = reading.ahead(stream){mark}
    for number, x in enumerate(rows):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number == most:
            {leave}

def main(streams):
    net = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for stream in streams:
        one_epoch(net, optimizer, stream, 100)
"""


@pytest.mark.parametrize(
    ("reading", "leave", "mark"),
    [
        (AHEAD.format(put="rows.put(item)"), "break", "  # TML505"),
        (AHEAD.format(put="rows.put(item)"), "print(number)", ""),
        (AHEAD.format(put="rows.put_nowait(item)"), "break", ""),
        (CLOSED, "break", ""),
    ],
    ids=["left", "read to the end", "does not wait", "closed"],
)
def test_a_generator_of_another_file(
    reading: str, leave: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project({"reading.py": reading, "train.py": TRAIN.format(leave=leave, mark=mark)}, tmp_path, monkeypatch)
