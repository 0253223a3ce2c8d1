"""Answers that are put in the place of the ticket of who waits for them, and who gives up waiting."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

DESK = """
import asyncio
import uuid

class Desk:
    def __init__(self, answers):
        self.answers, self.box = answers, {{}}

    async def sort(self, model):
        while True:
            number, x = await self.answers.get()
            {sorts}

    async def ask(self, x):
        number, event = uuid.uuid4(), asyncio.Event()
        self.box[number] = event
        {asks}
        return self.box.pop(number)

async def main(model):
    desk = Desk(asyncio.Queue(4))
    asyncio.create_task(desk.sort(model))
    for x in torch.randn(100, 4, 8):
        await desk.ask(x)

asyncio.run(main(Net().eval()))
"""
PUTS = """
event = self.box.pop(number, None)
with torch.no_grad():
    self.box[number] = model(x){mark}
if event is not None:
    event.set()
"""
PUTS_AT_ONCE = """
event = self.box[number]
with torch.no_grad():
    self.box[number] = model(x){mark}
event.set()
"""
ASKED = """
if number in self.box:
    event = self.box.pop(number)
    with torch.no_grad():
        self.box[number] = model(x)
    event.set()
"""
LIMITED = """
try:
    await asyncio.wait_for(event.wait(), 2.0)
except asyncio.TimeoutError:
    return None
"""
RAISED = LIMITED.replace("asyncio.TimeoutError:", "Exception as error:").replace(
    "return None", "raise OSError from error"
)
TAKEN = LIMITED.replace("return None", "self.box.pop(number, None)\n    return None")
LATER = LIMITED.replace("return None", "print(number)")
FINALLY = LIMITED + "finally:\n    self.late.add(number)\n"


def _check(sorts: str, asks: str, mark: str = "") -> None:
    inside = [textwrap.indent(lines.strip(), by * " ").strip() for lines, by in ((sorts, 12), (asks, 8))]
    check(DESK.format(sorts=inside[0].format(mark=mark), asks=inside[1]))


@pytest.mark.parametrize("sorts", [PUTS, PUTS_AT_ONCE], ids=["in its place", "over it"])
@pytest.mark.parametrize("asks", [LIMITED, RAISED], ids=["returns", "raises"])
def test_answers_for_who_has_given_up(sorts: str, asks: str) -> None:
    _check(sorts, asks, "  # TML311")


@pytest.mark.parametrize(
    ("sorts", "asks"),
    [(ASKED, TAKEN), (PUTS, TAKEN), (PUTS, LATER), (PUTS, "await event.wait()"), (PUTS, FINALLY)],
    ids=["asked for", "taken out", "goes on", "waits", "seen to"],
)
def test_answers_that_are_fetched_or_not_put_there(sorts: str, asks: str) -> None:
    _check(sorts, asks)
