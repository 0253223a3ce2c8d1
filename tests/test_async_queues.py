"""Queues of one event loop: each task that listens gets one of its own, and the list of them grows or does not."""

from __future__ import annotations

import pytest
from snippets import check

NEWS = """
import asyncio

class News:
    def __init__(self):
        self.readers = {start}

    def join(self):
        inbox = asyncio.Queue({limit})
        {joins}
        return inbox

    def leave(self, inbox):
        {leaves}

    async def tell(self, x):
        for inbox in list(self.readers):
            await inbox.put(x)

async def read(news):
    inbox = news.join()
    x = await inbox.get()
    news.leave(inbox)
    return x.mean().item()

async def main(steps):
    news = News()
    for step in range(steps):
        reader = asyncio.create_task(read(news))
        await asyncio.sleep(0)
        await news.tell(torch.rand(64, 64))
        print(await reader)

asyncio.run(main(100))
"""
ADDS = "self.readers.append(inbox)"


@pytest.mark.parametrize(
    ("start", "joins"), [("[]", f"{ADDS}  # TML303"), ("set()", "self.readers.add(inbox)  # TML303")]
)
def test_listeners_that_never_leave(start: str, joins: str) -> None:
    check(NEWS.format(start=start, joins=joins, leaves="print(inbox.qsize())", limit=""))


@pytest.mark.parametrize(
    ("start", "joins", "leaves"),
    [
        ("[]", ADDS, "self.readers.remove(inbox)"),
        ("set()", "self.readers.add(inbox)", "self.readers.discard(inbox)"),
        ("[]", "self.readers = [inbox]", "print(inbox.qsize())"),
    ],
)
def test_listeners_that_leave_or_are_replaced(start: str, joins: str, leaves: str) -> None:
    check(NEWS.format(start=start, joins=joins, leaves=leaves, limit="8"))


ENGINE = """
import asyncio

class Engine:
    def __init__(self, model):
        self.model = model.eval()
        self.waiting = asyncio.Queue()

    async def run(self):
        while True:
            x, answer = await self.waiting.get()
            with torch.no_grad():
                answer.put_nowait(self.model(x))

    async def ask(self, x):
        answer = asyncio.Queue()
        await self.waiting.put((x, answer))
        return await answer.get()

async def pump(source, sink):
    while (x := await source.get()) is not None:
        await sink.put(x * 2)

async def main(model):
    engine, source, sink = Engine(model), asyncio.Queue(), asyncio.Queue()
    asyncio.create_task(engine.run())
    asyncio.create_task(pump(source, sink))
    for x in torch.randn(100, 4, 8):
        print((await engine.ask(x)).mean().item())
        source.put_nowait(x)

asyncio.run(main(Net()))
"""


def test_queues_between_the_tasks_of_one_loop() -> None:
    check(ENGINE)
