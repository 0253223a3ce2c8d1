"""Sessions that a server takes out of its table only when the connection breaks, and not when it is closed."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

SERVER = """
import asyncio
import json
from dataclasses import dataclass

@dataclass
class Session:
    key: str
    state: torch.Tensor | None = None

class Server:
    def __init__(self, net):
        self.net, self.sessions, self.ended = net, {{}}, 0

    async def handle(self, {given}):
        {body}

    async def opened(self, key):
        self.sessions[key] = Session(key){note}

    async def closed(self, key):
        session = self.sessions[key]
        self.ended += len(session.state)
        {closes}

    async def told(self, key, text):
        message = json.loads(text)
        if message["kind"] == "open":
            await self.opened(message["key"])
        elif message["kind"] == "close":
            await self.closed(key)
        else:
            self.sessions[key].state = torch.rand(64, 64)

class Line:
    def __init__(self, key, rows):
        self.key, self.rows = key, rows

    async def __aiter__(self):
        for row in self.rows:
            yield row

async def serve(count):
    server = Server(Net().eval())
    for number in range(count):
        rows = [json.dumps({{"kind": kind, "key": str(number)}}) for kind in ("open", "text", "close")]
        await server.handle(Line(f"line {{number}}", rows))
    return server

def main(count):
    server = asyncio.run(serve(count))
    print(server.ended)
"""
LOOP = "try:\n            async for text in line:\n                await self.told(line.key, text)\n        "
ENDLESS = "try:\n            while True:\n                await self.told(line.key, await line.read())\n        "
BROKEN = "except ConnectionResetError:\n            self.sessions.pop(line.key, None)"
WITHIN = LOOP.replace("try:\n", "try:\n            async with line:\n    ").replace(
    "\n                await", "\n" + " " * 20 + "await"
)
LEFT = {
    "when it is closed": LOOP + BROKEN,
    "in a block": WITHIN + BROKEN,
    "deleted": LOOP + "except (BrokenPipeError, ConnectionError):\n            del self.sessions[line.key]",
    "messages by a method": LOOP.replace("in line:", "in line.messages():") + BROKEN,
}
GONE = {
    "in any case": LOOP + "finally:\n            self.sessions.pop(line.key, None)",
    "afterwards": LOOP + BROKEN + "\n        self.sessions.pop(line.key, None)",
    "where it ends by itself": LOOP + BROKEN + "\n        else:\n            del self.sessions[line.key]",
    "where it ends by nothing else": ENDLESS + BROKEN,
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_only_when_it_breaks(body: str) -> None:
    check(SERVER.format(given="line", body=body, closes="pass", note="  # TML311"))
    check_innocent(SERVER.format(given="line", body=body, closes="del self.sessions[key]", note=""))


@pytest.mark.parametrize("body", GONE.values(), ids=GONE)
def test_in_the_end(body: str) -> None:
    check_innocent(SERVER.format(given="line", body=body, closes="pass", note=""))


def test_what_is_sent_until_it_breaks() -> None:
    sends = "try:\n            async for row in rows:\n                await line.send(row)\n        "
    check_innocent(SERVER.format(given="line, rows=()", body=sends + BROKEN, closes="pass", note=""))
