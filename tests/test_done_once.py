"""Tasks, streams and the like that a flag, or what is there already, keeps from being made a second time."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent

POOL = """
import asyncio

watching = False

class Pool:
    def __init__(self, links):
        self.links, self.ready, self.task, self.event = links, False, None, asyncio.Event()

    async def watch(self):
        while True:
            await asyncio.sleep(0.1)
            if self.links:
                with torch.inference_mode():
                    print(self.links[-1].norm())

    def begin(self):
        self.ready = True
        asyncio.create_task(self.watch())

    def stop(self):
        self.event.set()

    async def connect(self, link):
{body}
        self.links.append(link)
        await self.event.wait()

async def serve(links):
    pool = Pool([])
    for link in links:
        await pool.connect(link)
"""
ONCE = {
    "a flag": "if not self.ready:\n    asyncio.create_task(self.watch())\n    self.ready = True",
    "a flag that is set first": "if self.ready is False:\n    self.ready = True\n    asyncio.create_task(self.watch())",
    "a flag that ends it": "self.links.append(link)\nif self.ready:\n    await self.event.wait()\n    return\n"
    "self.ready = True\nasyncio.create_task(self.watch())",
    "the task": "if self.task is None:\n    self.task = asyncio.create_task(self.watch())",
    "a helper": "if not self.ready:\n    self.begin()",
    "a helper that ends it": "if self.ready:\n    return\nself.begin()",
    "a global": "global watching\nif not watching:\n    watching = True\n    asyncio.create_task(self.watch())",
}
AGAIN = {
    "a flag that nobody sets": "if not self.ready:\n    asyncio.create_task(self.watch())  # TML503",
    "a flag that is taken back": "if not self.ready:\n    self.ready = True\n"
    "    asyncio.create_task(self.watch())  # TML503\nself.ready = False",
    "another flag": "if not self.ready:\n    asyncio.create_task(self.watch())  # TML503\n    self.task = 1",
    "a variable of the call": "begun = False\nif not begun:\n    asyncio.create_task(self.watch())  # TML503\n"
    "    begun = True",
    "beside the flag": "if not self.ready:\n    self.ready = True\nasyncio.create_task(self.watch())  # TML503",
}


def pool(body: str) -> str:
    return POOL.format(body=textwrap.indent(body, 8 * " "))


@pytest.mark.parametrize("case", ONCE)
def test_begun_once(case: str) -> None:
    check_innocent(pool(ONCE[case]))


@pytest.mark.parametrize("case", AGAIN)
def test_begun_again(case: str) -> None:
    check(pool(AGAIN[case]))


def test_one_pool_for_each_link() -> None:
    check(
        pool("if not self.ready:\n    asyncio.create_task(self.watch())  # TML503\n    self.ready = True").replace(
            "await pool.connect(link)", "await Pool([]).connect(link)"
        )
    )


RUNNER = """
class Runner:
    def __init__(self, net):
        self.net, self.graph, self.x = net, None, torch.zeros(1, 8)

    def capture(self):
        side = torch.cuda.Stream(){mark}
        with torch.cuda.stream(side):
            self.net(self.x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.net(self.x)
        return graph

    @torch.no_grad()
    def run(self, rows):
        for row in rows:
            {asks}
            self.graph.replay()
"""


@pytest.mark.parametrize(
    ("asks", "mark"),
    [
        ("if self.graph is None:\n                self.graph = self.capture()", ""),
        ("if len(row) and not self.graph:\n                self.graph = self.capture()", ""),
        ("self.graph = self.capture()", "  # TML506"),
    ],
)
def test_captured_once(asks: str, mark: str) -> None:
    check(RUNNER.format(asks=asks, mark=mark))
