"""Who puts something into a queue and waits for what becomes of it is not ahead of who takes it out."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = """
import asyncio, threading
from concurrent.futures import Future

class Encoder:
    def __init__(self, model):
        self.model = model.eval()
        self.jobs = queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            self.answer(*self.jobs.get())

    def answer(self, image, reply):
        with torch.inference_mode():
            reply.set_result(self.model(image))

{ask}

def requests(model, images):
    encoder = Encoder(model)
    return [encoder.ask(torch.rand(8)) for _ in range(images)]
"""
WAITING = {
    "for a future": """
        def ask(self, image):
            reply = Future()
            self.jobs.put((torch.relu(image), reply))
            return reply.result().mean().item()
        """,
    "for a future in a record": """
        def ask(self, image):
            reply = Future()
            job = [torch.relu(image), reply]
            self.jobs.put(job)
            return reply.result().mean().item()
        """,
    "for an event of the record": """
        def ask(self, image):
            job = {"image": torch.relu(image), "done": threading.Event(), "scores": None}
            self.jobs.put(job)
            job["done"].wait()
            return job["scores"]
        """,
    "in a coroutine": """
        async def ask(self, image):
            reply = asyncio.get_running_loop().create_future()
            self.jobs.put((torch.relu(image), reply))
            return (await reply).mean().item()
        """,
}
AHEAD = {
    "the future is for the caller": """
        def ask(self, image):
            reply = Future()
            self.jobs.put((torch.relu(image), reply))  # TML504
            return reply
        """,
    "all are put before the first is waited for": """
        def ask(self, image):
            replies = []
            for _ in range(image.shape[0]):
                reply = Future()
                self.jobs.put((torch.relu(image), reply))  # TML504
                replies.append(reply)
            return replies
        """,
    "it waits for another one": """
        def ask(self, image):
            reply, before = Future(), self.before
            self.jobs.put((torch.relu(image), reply))  # TML504
            self.before = reply
            return before
        """,
}


def program(ask: str) -> str:
    return HEAD.replace("{ask}", textwrap.indent(textwrap.dedent(ask).strip("\n"), "    "))


@pytest.mark.parametrize("name", WAITING)
def test_who_waits(name: str) -> None:
    check(program(WAITING[name]))


@pytest.mark.parametrize("name", AHEAD)
def test_who_goes_on(name: str) -> None:
    check(program(AHEAD[name]))
