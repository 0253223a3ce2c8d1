"""Queues of what was made of tensors by `torch.save` or `pickle`; `# TML504` says what is due."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check

TRAINING = """
import io, json, multiprocessing as mp, pickle, threading, time
import numpy as np
{extra}

def packed(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()

def summary(model):
    return json.dumps({{"weights": sum(p.numel() for p in model.parameters())}})

def newest(line):
    try:
        return line.get_nowait()
    except queue.Empty:
        return None

def last_of_all(line):
    found = None
    while True:
        try:
            found = line.get_nowait()
        except queue.Empty:
            return found

def play(line, stop):
    model = Net()
    while not stop.is_set():
        data = {take}(line)
        if data is not None:
            model.load_state_dict(torch.load(io.BytesIO(data), map_location="cpu"))
        with torch.no_grad():
            model(torch.rand(1, 8))

def learn(model, loader, line):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {put}

def main(loader):
    line, stop = mp.Queue({limit}), mp.Event()
    player = mp.Process(target=play, args=(line, stop))
    player.start()
    learn(Net(), loader, line)
    stop.set()
    player.join()
"""
PUTS = {
    "by a helper": "line.put(packed(model.state_dict()))",
    "by a name": "data = packed(model.state_dict())\n        line.put(data)",
    "here": "file = io.BytesIO(); torch.save(model.state_dict(), file); line.put(file.getvalue())",
    "the buffer": "file = io.BytesIO(); torch.save(model.state_dict(), file); line.put(file)",
    "with its number": "line.put((step, packed(model.state_dict())))",
    "as a pickle": "line.put(pickle.dumps(model.state_dict()))",
    "of arrays": "file = io.BytesIO()\n"
    "        np.savez(file, **{k: v.numpy() for k, v in model.state_dict().items()})\n"
    "        line.put(file.getvalue())",
}
LIGHT = {
    "text": "line.put(summary(model))",
    "a number": "line.put(pickle.dumps((step, 1)))",
    "json": 'line.put(json.dumps({"model": "a", "step": step}))',
    "other bytes": 'line.put(f"{step}".encode())',
}


def training(put: str, limit: str = "", take: str = "newest", extra: str = "") -> str:
    return TRAINING.format(put=put, limit=limit, take=take, extra=extra)


@pytest.mark.parametrize("case", PUTS)
def test_tensors_packed_into_a_queue(case: str) -> None:
    check(training(PUTS[case] + "  # TML504"))
    check(training(PUTS[case], limit="4"))
    check(training(PUTS[case], take="last_of_all"))


@pytest.mark.parametrize("case", LIGHT)
def test_what_weighs_nothing(case: str) -> None:
    check(training(LIGHT[case]))


def test_once_at_the_end() -> None:
    check(training("pass\n    line.put(packed(model.state_dict()))"))


SENDS = """
import threading, queue, torch
from wire import packed

def send(line, link):
    while True:
        link.send(line.get())

def main(model, loader, link):
    line = queue.Queue()
    threading.Thread(target=send, args=(line, link), daemon=True).start()
    for x in loader:
        with torch.no_grad():
            features = model(x)
        line.put(packed(features))  # TML504
"""
WIRE = """
import io, torch

def packed(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()
"""


def test_packed_by_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project({"send.py": SENDS, "wire.py": WIRE}, tmp_path, monkeypatch)
    light = "def packed(obj):\n    return str(obj.mean().item()).encode()\n"
    files = {"send.py": SENDS.replace("  # TML504", ""), "wire.py": light}
    check_project(files, tmp_path, monkeypatch)
