"""Queues of context managers that stay on their list after an error in the `with` block."""

from __future__ import annotations

import pytest
from snippets import check

HUB = """
import asyncio
from contextlib import asynccontextmanager

class Hub:
    def __init__(self):
        self.listeners = {made}

    async def send(self, item):
        for queue in {all}:
            {fills}

    @asynccontextmanager
    async def listen(self, channel="gate"):
        queue = {queue}
        {adds}{told}
        {body}

async def serve(socket, hub):
    async with hub.listen() as queue:
        while True:
            await socket.send(await queue.get())

async def main(frames, hub):
    model = Net().eval()
    with torch.no_grad():
      for frame in frames:
        await hub.send(model(frame))
"""
PLAIN = {
    "made": "set()",
    "all": "self.listeners",
    "fills": "await queue.put(item)",
    "queue": "asyncio.Queue()",
    "adds": "self.listeners.add(queue)",
    "body": "yield queue\n        self.listeners.remove(queue)",
    "told": "",
}
BY_CHANNEL = {
    "made": "{}",
    "all": "list(self.listeners.get('gate', ()))",
    "adds": "self.listeners.setdefault(channel, set()).add(queue)",
    "body": "yield queue\n        self.listeners[channel].discard(queue)",
}
BY_KEY = {
    "made": "{}",
    "all": "self.listeners.values()",
    "adds": "key = id(queue)\n        self.listeners[key] = queue",
    "body": "yield queue\n        del self.listeners[key]",
}
LOCKED = {
    "made": "{}",
    "all": "list(self.listeners.values())",
    "adds": "with self.lock:\n            self.listeners[channel] = queue",
    "body": "yield queue\n        with self.lock:\n            self.listeners.pop(channel, None)",
}
KEY_FINALLY = "try:\n            yield queue\n        finally:\n            del self.listeners[key]"
FINALLY = "try:\n            yield queue\n        finally:\n            self.listeners.remove(queue)"


@pytest.mark.parametrize(
    "change",
    [
        {},
        BY_CHANNEL,
        BY_KEY,
        LOCKED,
        {"fills": "queue.put_nowait(item)"},
        {"made": "[]", "adds": "self.listeners.append(queue)"},
        {"body": "async with self.lock:\n            yield queue\n        self.listeners.remove(queue)"},
    ],
)
def test_queues_that_an_error_leaves_there(change: dict[str, str]) -> None:
    check(HUB.format(**PLAIN | {"told": "  # TML303"} | change))


@pytest.mark.parametrize(
    "change",
    [
        {"body": FINALLY},
        BY_KEY | {"body": KEY_FINALLY},
        LOCKED | {"queue": "asyncio.Queue(4)"},
        {"body": "try:\n            yield queue\n        except Exception: pass\n        self.listeners.remove(queue)"},
        {"queue": "asyncio.Queue(maxsize=8)"},
        {"queue": "deque(maxlen=8)"},
        {"fills": "print(queue)"},
        {"adds": "pass"},
        {"body": "with ExitStack() as stack:\n            stack.callback(self.listeners.remove, queue)\n"
                 "            yield queue"},
    ],
)  # fmt: skip
def test_queues_that_are_taken_off_or_hold_little(change: dict[str, str]) -> None:
    check(HUB.format(**PLAIN | change))
