"""Releases of tables that some entries never come to: what has ended, and what nobody waits for any more."""

from __future__ import annotations

import pytest
from snippets import check

ROOMS = """
class Room:
    def __init__(self, model):
        self.model = model
        self.state = torch.zeros(512, 512)
        self.closed = False

    @torch.no_grad()
    def play(self, messages):
        for message in messages:
            if message is None:
                self.closed = True
                return
            self.state = self.state + self.model.layer(message).sum()

class Lobby:
    def __init__(self):
        self.model = Net()
        self.rooms = {{}}

    def visit(self, room_id, messages):
        room = Room(self.model)
        self.rooms[room_id] = room{mark}
        try:
            room.play(messages)
        finally:
            self.leave(room_id, room)

    def leave(self, room_id, room):
{body}

def main(guests):
    lobby = Lobby()
    for number, messages in enumerate(guests):
        lobby.visit(number, messages)
"""
ENDED = {
    "in the table, and not closed": """
        if room_id in self.rooms and not room.closed:
            del self.rooms[room_id]
""",
    "compared": """
        if room.closed is False:
            self.rooms.pop(room_id, None)
""",
    "the other arm": """
        if room.closed:
            print("closed", room_id)
        else:
            del self.rooms[room_id]
""",
    "left before": """
        if room.closed:
            return
        del self.rooms[room_id]
""",
    "asked for by its number": """
        if not self.rooms[room_id].closed:
            del self.rooms[room_id]
""",
}
NOT_ONLY_ENDED = {
    "always": """
        if room_id in self.rooms:
            del self.rooms[room_id]
""",
    "in both arms": """
        if room.closed:
            self.rooms.pop(room_id)
        else:
            print("broken off")
            del self.rooms[room_id]
""",
    "what has ended": """
        if room.closed:
            del self.rooms[room_id]
""",
    "afterwards as well": """
        if not room.closed:
            print("broken off")
            del self.rooms[room_id]
        self.rooms.pop(room_id, None)
""",
    "it closes what is open": """
        if not room.closed:
            room.closed = True
            del self.rooms[room_id]
""",
    "something else has not ended": """
        if not self.model.closed:
            del self.rooms[room_id]
""",
}


@pytest.mark.parametrize("body", ENDED.values(), ids=ENDED)
def test_what_has_ended_stays(body: str) -> None:
    check(ROOMS.format(body=body.strip("\n"), mark="  # TML311"))


@pytest.mark.parametrize("body", NOT_ONLY_ENDED.values(), ids=NOT_ONLY_ENDED)
def test_what_has_ended_goes(body: str) -> None:
    check(ROOMS.format(body=body.strip("\n"), mark=""))


def test_another_method_takes_it_out() -> None:
    body = ENDED["compared"].strip("\n")
    sweep = "\n    def sweep(self):\n        self.rooms = {r: one for r, one in self.rooms.items() if not one.closed}\n"
    called = "        lobby.sweep()\n"
    check(ROOMS.format(body=body + "\n" + sweep, mark="") + called)


DESK = """
import asyncio

class Desk:
    def __init__(self, model):
        self.model = model
        self.answers = {{}}
        self.ready = {{}}

    @torch.no_grad()
    def work(self, question_id, question):
        self.answers[question_id] = self.model(question){mark}
        self.ready[question_id].set()

    async def answer(self, question_id):
{body}

async def ask(desk, question_id, question):
    desk.ready[question_id] = asyncio.Event()
    desk.work(question_id, question)
{call}

async def main():
    desk = Desk(Net())
    for number in range(100):
        await ask(desk, number, torch.randn(4, 8))

asyncio.run(main())
"""
LIMITED = "    return await asyncio.wait_for(desk.answer(question_id), 1.0)"
AFTER = """
        await self.ready[question_id].wait()
        return self.answers.pop(question_id).sum().item()
"""
WAITED = {
    "after a wait": (AFTER, LIMITED),
    "after looking for it": (
        """
        while not self.ready[question_id].is_set():
            await asyncio.sleep(0.01)
        value = self.answers[question_id].sum().item()
        del self.answers[question_id]
        return value
""",
        LIMITED,
    ),
    "when it goes on after an item": (
        """
        await self.ready[question_id].wait()
        yield self.answers[question_id].sum().item()
        del self.answers[question_id]
""",
        """
    try:
        async for value in desk.answer(question_id):
            print(value)
    except asyncio.CancelledError:
        raise
""".strip("\n"),
    ),
    "its own limit": (
        """
        await asyncio.wait_for(self.ready[question_id].wait(), 1.0)
        return self.answers.pop(question_id).sum().item()
""",
        "    return await desk.answer(question_id)",
    ),
    "cancelled by name": (
        AFTER,
        """
    task = asyncio.create_task(desk.answer(question_id))
    await asyncio.sleep(1.0)
    task.cancel()
""".strip("\n"),
    ),
    "caught": (
        AFTER,
        """
    try:
        return await desk.answer(question_id)
    except asyncio.CancelledError:
        print("gone")
        raise
""".strip("\n"),
    ),
    "under a timeout": (AFTER, "    async with asyncio.timeout(1.0):\n        return await desk.answer(question_id)"),
}
IN_ANY_CASE = {
    "in a finally": (
        """
        try:
            await self.ready[question_id].wait()
            return self.answers[question_id].sum().item()
        finally:
            self.answers.pop(question_id, None)
""",
        LIMITED,
    ),
    "nobody cancels it": (AFTER, "    return await desk.answer(question_id)"),
    "taken out by who is cancelled": (
        AFTER,
        """
    try:
        return await desk.answer(question_id)
    except asyncio.CancelledError:
        desk.answers.pop(question_id, None)
        raise
""".strip("\n"),
    ),
    "it goes on when the time is over": (
        """
        try:
            await asyncio.wait_for(self.ready[question_id].wait(), 1.0)
        except asyncio.TimeoutError:
            print("late")
        return self.answers.pop(question_id).sum().item()
""",
        "    return await desk.answer(question_id)",
    ),
    "before it waits": (
        """
        value = self.answers.pop(question_id).sum().item()
        await asyncio.sleep(0.1)
        return value
""",
        LIMITED,
    ),
    "shielded": (AFTER, "    return await asyncio.wait_for(asyncio.shield(desk.answer(question_id)), 1.0)"),
    "cancelled when all is over": (
        AFTER,
        """
    desk.task = asyncio.create_task(desk.answer(question_id))
    await desk.task

def shutdown(desk):
    desk.task.cancel()
""".strip("\n"),
    ),
}


@pytest.mark.parametrize(("body", "call"), WAITED.values(), ids=WAITED)
def test_what_nobody_waits_for_stays(body: str, call: str) -> None:
    check(DESK.format(body=body.strip("\n"), call=call, mark="  # TML311"))


@pytest.mark.parametrize(("body", "call"), IN_ANY_CASE.values(), ids=IN_ANY_CASE)
def test_what_nobody_waits_for_goes(body: str, call: str) -> None:
    check(DESK.format(body=body.strip("\n"), call=call, mark=""))


FUTURES = """
import asyncio
from concurrent.futures import Future

class Desk:
    def __init__(self, model):
        self.model = model
        self.results = {}

    def accept(self, question_id):
        self.results[question_id] = Future()  # MARK

    def work(self, question_id, question):
        self.results[question_id].set_result(self.model(question).detach())

    async def answer(self, question_id):
        result = self.results[question_id]
        WAIT
        self.results.pop(question_id, None)
        return result.result().sum().item()

async def main():
    desk = Desk(Net())
    for number in range(100):
        desk.accept(number)
        task = asyncio.create_task(desk.answer(number))
        try:
            print(await asyncio.wait_for(task, 0.1))
        except asyncio.TimeoutError:
            print("late")

asyncio.run(main())
"""


def test_futures() -> None:
    polled = "while not result.done():\n            await asyncio.sleep(0.01)"
    check(FUTURES.replace("MARK", "TML503").replace("WAIT", polled))
    check(FUTURES.replace("  # MARK", "").replace("WAIT", "await asyncio.wrap_future(result)"))  # cancelled with it
    check(
        FUTURES.replace("  # MARK", "")
        .replace("WAIT", "await asyncio.sleep(0)")
        .replace("wait_for(task, 0.1)", "sleep(1)")
    )
