"""Requests under a number of their own, of which only those that are answered in time leave the table."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

BATCHER = """
import asyncio
import itertools

class Batcher:
    def __init__(self, model):
        self.model = model.eval()
        self.inputs = {{}}
        self.waiting = {{}}
        self.numbers = itertools.count()

    async def infer(self, x):
        number = next(self.numbers)
        future = asyncio.get_running_loop().create_future()
        self.inputs[number] = x{mark}
        self.waiting[number] = future
{wait}
        return result

    async def run(self):
        while True:
            await asyncio.sleep(0.01)
            for number, future in list(self.waiting.items()):
                if not future.done():
                    with torch.no_grad():
                        future.set_result(self.model(self.inputs[number]).argmax().item())

async def serve(steps):
    batcher = Batcher(Net())
    runner = asyncio.create_task(batcher.run())
    for _ in range(steps):
        try:
            print(await batcher.infer(torch.randn(512, 8)))
        except asyncio.TimeoutError:
            print("too late")

def main(steps):
    asyncio.run(serve(steps))
"""
BARE = """
        result = await asyncio.wait_for(future, 1.0)
        del self.inputs[number], self.waiting[number]
"""
SAID = """
        try:
            result = await asyncio.wait_for(future, 1.0)
        except asyncio.TimeoutError:
            print("no answer to", number)
            raise
        self.inputs.pop(number)
        self.waiting.pop(number)
"""
FINALLY = """
        try:
            result = await asyncio.wait_for(future, 1.0)
        finally:
            self.inputs.pop(number)
            self.waiting.pop(number)
"""
UNLIMITED = BARE.replace("asyncio.wait_for(future, 1.0)", "future")
OF_THE_ANSWER = """
        number = await asyncio.wait_for(future, 1.0)
        result = self.inputs.pop(number), self.waiting.pop(number)
"""


@pytest.mark.parametrize("wait", [BARE, SAID])
def test_who_is_not_answered_in_time(wait: str) -> None:
    check(BATCHER.format(wait=wait, mark="  # TML311"))


@pytest.mark.parametrize("wait", [FINALLY, UNLIMITED, OF_THE_ANSWER])
def test_all_of_them_leave(wait: str) -> None:
    check_innocent(BATCHER.format(wait=wait, mark=""))
