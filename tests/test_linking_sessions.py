"""Objects of a module that another file's class makes: handlers fill them, whose own lines say nothing of memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project

ROOMS = """
import uuid

class Room:
    def __init__(self):
        self.past, self.said = None, []

class Rooms:
    def __init__(self):
        self._open = {{}}

    def enter(self):
        key = uuid.uuid4().hex
        self._open[key] = Room()
        return key

    def of(self, key):
        return self._open[key]

    def leave(self, key):
        {leave}
"""
SERVER = """
import torch
from fastapi import FastAPI
from torch import nn
from rooms import Rooms

app = FastAPI()
rooms = Rooms()
net = nn.GRU(8, 64).eval()

@app.post("/rooms")
def enter():
    return rooms.enter(){mark}

@app.post("/rooms/{{key}}")
def step(key: str, body: dict):
    room = rooms.of(key)
    with torch.inference_mode():
        out, room.past = net(torch.tensor(body["x"]), room.past)
    return out[-1].tolist()

@app.delete("/rooms/{{key}}")
def leave(key: str):
    rooms.leave(key)
"""


def test_sessions_that_another_file_never_drops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_project(
        {"rooms.py": ROOMS.format(leave="pass"), "server.py": SERVER.format(mark="  # TML311")}, tmp_path, monkeypatch
    )


def test_sessions_that_another_file_drops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = ROOMS.format(leave="self._open.pop(key, None)")
    check_project({"rooms.py": dropped, "server.py": SERVER.format(mark="")}, tmp_path, monkeypatch)


def test_functions_that_call_what_an_expression_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call starts with may be no name."""
    text = "from rooms import Rooms\nrooms = Rooms()\ndef tell(names):\n    return [].copy(), '{}'.format(rooms)\n"
    check_project({"rooms.py": ROOMS.format(leave="pass"), "told.py": text}, tmp_path, monkeypatch)
