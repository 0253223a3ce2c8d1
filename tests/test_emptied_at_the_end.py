"""Tasks and futures that a service takes out of their list only when it is stopped."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SERVER = """
import asyncio

class Server:
    def __init__(self, model):
        self.model, self.inbox, self.stopped, self.tasks = model.eval(), asyncio.Queue(8), False, []

    async def answer(self, image):
        with torch.inference_mode():
            return self.model(image)

{methods}
"""
LOOP = """
async def run(self):
    try:
        while not self.stopped:
            image = await self.inbox.get()
            task = asyncio.create_task(self.answer(image))
            self.tasks.append(task){mark}
{inside}
    finally:
        self.stopped = True
{after}
"""


def server(*, inside: str = "", after: str = "", methods: str = "", guilty: bool = False) -> str:
    run = LOOP.replace("{inside}", textwrap.indent(inside.strip("\n"), 12 * " "))
    run = run.replace("{after}", textwrap.indent(after.strip("\n"), 8 * " "))
    run = run.replace("{mark}", "  # TML503" if guilty else "")
    return SERVER.replace("{methods}", textwrap.indent(f"{run}\n{methods}", 4 * " "))


STOP = """
def stop(self):
    for task in self.tasks:
        task.cancel()
    self.tasks.clear()
"""
HELPER = """
def _cancel_all(self):
    for task in self.tasks:
        task.cancel()
    self.tasks = []
"""
GUILTY = {
    "after the loop": server(after="self.tasks = []", guilty=True),
    "by a helper after the loop": server(after="self._cancel_all()", methods=HELPER, guilty=True),
    "by the method that stops it": server(methods=STOP, guilty=True),
    "by a helper of that": server(methods=HELPER + "\nasync def close(self):\n    self._cancel_all()\n", guilty=True),
    "by nothing, and a flag is set in the end": server(guilty=True),
}
INNOCENT = {
    "in each round": server(inside="self.tasks = [one for one in self.tasks if not one.done()]"),
    "when it is done": server(inside="task.add_done_callback(self.tasks.remove)"),
    "by a method that others call": server(methods="async def next(self):\n    return await self.tasks.pop(0)\n"),
    "by one that is told which": server(methods="def cleanup(self, task):\n    self.tasks.remove(task)\n"),
    "by one that is told where": server(methods="def close_request(self, place):\n    del self.tasks[place]\n"),
    "by a helper that is called in each round": server(inside="self._cancel_all()", methods=HELPER),
    "by a helper that gets the list": server(inside="prune(self.tasks)", methods="x = 1\n")
    + "\ndef prune(tasks):\n    tasks[:] = [one for one in tasks if not one.done()]\n",
    "a few that are waited for": SERVER.replace(
        "{methods}",
        """
    async def run(self, images):
        for image in images:
            self.tasks.append(asyncio.create_task(self.answer(image)))
        await asyncio.gather(*self.tasks)
        self.tasks.clear()
""",
    ),
}


@pytest.mark.parametrize("name", GUILTY)
def test_tasks_that_stay_as_long_as_it_serves(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_tasks_that_are_taken_out(name: str) -> None:
    check(INNOCENT[name])
