"""Tasks and threads that go on when their object is stopped, since nothing reads the flag that says so."""

from __future__ import annotations

import pytest
from snippets import check

CALL = """
import asyncio
import threading

class Call:
    def __init__(self, socket):
        self.socket, self.buffer = socket, []
        self.running = True
        self.task = None

    async def begin(self):
        {starts}{told}

    async def {stop}(self):
        self.running = False
        await self.socket.close()
        {ends}

    {listens}
        while {until}:
            try:
                packet = await self.socket.receive()
                if packet is None:
                    break
                self.buffer.append(packet)
            except {error} as problem:
                {handled}

async def serve(sockets):
    for socket in sockets:
        call = Call(socket)
        await call.begin()
        await call.{stop}()
"""
PLAIN = {
    "starts": "self.task = asyncio.create_task(self.listen())",
    "told": "",
    "stop": "stop_handler",
    "ends": "pass",
    "listens": "async def listen(self):",
    "until": "True",
    "error": "WebSocketDisconnect",
    "handled": "if problem.code != 1000: break",
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"stop": "close"},
        {"handled": "pass"},
        {"handled": "if problem.code == 1000: print(1)\n                else: break"},
        {"error": "Exception", "handled": "print(problem)"},
        {"error": "(ConnectionResetError, ValueError)", "handled": "continue"},
        {"starts": "self.task = asyncio.ensure_future(self.listen())"},
    ],
)
def test_tasks_that_nothing_ends(change: dict[str, str]) -> None:
    check(CALL.format(**PLAIN | {"told": "  # TML505"} | change))


@pytest.mark.parametrize(
    "change",
    [
        {"until": "self.running"},
        {"ends": "self.task.cancel()"},
        {"handled": "break"},
        {"handled": "if problem.code == 1000: return\n                else: raise"},
        {"error": "asyncio.TimeoutError", "handled": "continue"},  # the socket that is closed raises something else
        {"handled": "if not self.running: break"},
        {"starts": "await self.listen()"},
        {"stop": "mute"},
    ],
)
def test_tasks_that_end(change: dict[str, str]) -> None:
    check(CALL.format(**PLAIN | change))


WATCH = """
import threading
import time

class Watch:
    def __init__(self, job):
        self.job = job
        self.watched = False

    def start_stop_watch(self):
        {asks}
        self.watched = True
        {starts}

    def stop(self):
        {stopped}

    def watch(self):
        while True:
            try:
                if self.job.cancelled():
                    self.job.interrupt()
                    return
                time.sleep(2)
            except Exception:
                time.sleep(2)
"""
ASKED = 'if getattr(self, "watched", False): return'
STARTED = "threading.Thread(target=self.watch, daemon=True).start()"


@pytest.mark.parametrize("asks", [ASKED, 'if hasattr(self, "watched") and self.job.done: return', "print(self.job)"])
def test_a_flag_of_what_starts_the_work(asks: str) -> None:
    check(WATCH.format(asks=asks, starts=STARTED, stopped="print(self.job)"))


def test_a_flag_that_is_asked_for_by_name() -> None:
    check(WATCH.format(asks=ASKED, starts=STARTED, stopped="self.watched = False"))


def test_a_flag_that_only_another_object_is_asked_for() -> None:
    check(
        WATCH.format(asks='if getattr(self.job, "failed", False): return', starts=STARTED + "  # TML505",
                     stopped="self.watched = True")
    )  # fmt: skip
