"""Entries that go only when something fails, and those that stay once nobody waits for them any longer."""

from __future__ import annotations

import pytest
from snippets import check

DESK = """
import queue

class Overfull(RuntimeError):
    pass

class Desk:
    def __init__(self):
        self.model = Net()
        self.under_way = {{}}
        self.tasks = queue.Queue(maxsize=8)

    def submit(self, request_id, x):
{body}

    @torch.no_grad()
    def step(self):
        request_id, x = self.tasks.get()
        {done}
        return self.model(x).sum().item()

def main(requests):
    desk = Desk()
    for number, x in enumerate(requests):
        desk.submit(f"request-{{number}}", torch.randn(8, 8))
        print(desk.step())
"""
ROLLED_BACK = """
        self.under_way[request_id] = x{mark}
        try:
            self.tasks.put_nowait((request_id, x))
        except {error}:
            del self.under_way[request_id]
            raise
"""
MEMO = """
        if request_id in self.under_way:
            return self.under_way[request_id]
        self.under_way[request_id] = x
        try:
            self.tasks.put_nowait((request_id, x))
        except queue.Full:
            del self.under_way[request_id]
            raise
"""


@pytest.mark.parametrize("error", ["queue.Full", "Overfull", "(OSError, Overfull)"])
def test_what_goes_well_stays(error: str) -> None:
    body = ROLLED_BACK.format(mark="  # TML311", error=error)
    check(DESK.format(body=body.strip("\n"), done="pass"))


@pytest.mark.parametrize(
    ("body", "done"),
    [
        (ROLLED_BACK.format(mark="", error="queue.Full"), "self.under_way.pop(request_id)"),
        (ROLLED_BACK.format(mark="", error="StopIteration"), "pass"),  # that is how it ends
        (MEMO, "pass"),
    ],
)
def test_what_goes_well_goes(body: str, done: str) -> None:
    check(DESK.format(body=body.strip("\n"), done=done))


CLIENT = """
import threading

class Late(Exception):
    pass

class Call:
    def __init__(self, x):
        self.x = x
        self.done = threading.Event()

class Client:
    def __init__(self, told):
        self.calls = {{}}
        self.told = told

    def send(self, number, x):
        self.calls[number] = Call(x){mark}

    def result(self, number):
        call = self.calls{look}
        if not call.done.wait(1.0):
            self.told(number, "late")
            raise Late(number)
        {done}
        return call.x

def main(steps):
    client = Client(print)
    for number in range(steps):
        client.send(number, torch.randn(64, 64))
        client.result(number)
"""


@pytest.mark.parametrize(
    ("look", "done", "mark"),
    [
        ("[number]", "del self.calls[number]", "  # TML311"),
        (".pop(number)", "pass", ""),
    ],
)
def test_what_is_late_stays(look: str, done: str, mark: str) -> None:
    check(CLIENT.format(look=look, done=done, mark=mark))
