"""Tasks beside a connection or a request: they end with it, or are one for the whole program."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SERVER = """
import asyncio

def spawn(coroutine):
    return asyncio.get_running_loop().create_task(coroutine)

class Session:
    def __init__(self, socket, model):
        self.socket, self.model, self.heard, self.watching = socket, model, [], None

    async def watch(self):
        while True:
            await asyncio.sleep(0.1)
            if self.heard:
                with torch.inference_mode():
                    print(self.model(self.heard[-1]).norm())

    async def work(self, jobs):
        while True:
            job = await self.inbox.get()
            print(job)

    async def until_it_is_over(self):
        while True:
            await asyncio.sleep(0.1)
            if self.socket.closed:
                break

    async def tell(self):
        while True:
            await self.socket.send("ping")
            await asyncio.sleep(1)

    async def run(self):
{run}

async def serve(sockets, model):
    for socket in sockets:
        session = Session(socket, model)
        await session.run()
"""
LISTEN = """
try:
    while True:
        self.heard.append(await self.socket.receive())
except ConnectionError:
    print("closed")
"""


def server(before: str, after: str = "") -> str:
    run = before + LISTEN + after
    return SERVER.replace("{run}", textwrap.indent(run.strip("\n"), 8 * " "))


GUILTY = {
    "nobody has it": server("asyncio.create_task(self.watch())  # TML503\n"),
    "a name that nobody uses": server("task = asyncio.create_task(self.watch())  # TML503\n"),
    "an attribute that nobody uses": server("self.watching = asyncio.ensure_future(self.watch())  # TML503\n"),
    "by a helper": server("spawn(self.watch())  # TML503\n"),
    "it knows when it is cancelled": server("asyncio.create_task(self.watch())  # TML503\n").replace(
        "            await asyncio.sleep(0.1)\n            if self.heard",
        "            try:\n                await asyncio.sleep(0.1)\n            except asyncio.CancelledError:\n"
        "                break\n            if self.heard",
    ),
    "it goes on after errors": server("asyncio.create_task(self.tell())  # TML503\n").replace(
        '            await self.socket.send("ping")\n',
        '            try:\n                await self.socket.send("ping")\n            except Exception as error:\n'
        "                print(error)\n",
    ),
    "a function of its own": server(
        """
heard = []

async def look():
    while True:
        await asyncio.sleep(0.1)
        print(len(heard))

asyncio.create_task(look())  # TML503
"""
    ),
}
INNOCENT = {
    "cancelled at the end": server("task = asyncio.create_task(self.watch())\n", "finally:\n    task.cancel()\n"),
    "cancelled by another method": server("self.watching = asyncio.create_task(self.watch())\n").replace(
        "    async def run", "    def close(self):\n        self.watching.cancel()\n\n    async def run"
    ),
    "handed back": server("task = asyncio.create_task(self.watch())\n", "return task\n"),
    "waited for": server("task = asyncio.create_task(self.watch())\n", "await asyncio.gather(task)\n"),
    "one of a pool that serves all": server("asyncio.create_task(self.work(3))\n"),
    "it ends with the connection": server("asyncio.create_task(self.until_it_is_over())\n"),
    "an error of the connection ends it": server("asyncio.create_task(self.tell())\n"),
    "one for the program": SERVER.replace("{run}", "        asyncio.create_task(self.watch())\n        await self.x()")
    .replace("    for socket in sockets:\n        session = Session(socket, model)\n        await session.run()\n", "")
    .replace(
        "async def serve(sockets, model):\n",
        "async def serve(sockets, model):\n    await Session(sockets, model).run()\n",
    ),
    "in a group": server("async with asyncio.TaskGroup() as group:\n    group.create_task(self.watch())\n"),
}


@pytest.mark.parametrize("name", GUILTY)
def test_task_that_stays(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_task_that_ends(name: str) -> None:
    check(INNOCENT[name])


def test_what_only_sets_a_task_going() -> None:
    run = "        asyncio.create_task(self.watch())\n        self.heard.clear()"
    check(SERVER.replace("{run}", run))


def test_endpoint_of_a_framework() -> None:
    check(
        """
        import asyncio
        from fastapi import FastAPI, WebSocket

        app = FastAPI()

        @app.websocket("/listen")
        async def listen(socket: WebSocket):
            heard = []

            async def watch():
                while True:
                    await asyncio.sleep(1)
                    print(len(heard))

            asyncio.create_task(watch())  # TML503
            while True:
                heard.append(await socket.receive_bytes())
        """
    )
