"""Tables of futures that are taken out once they have an answer: those with an exception stay."""

from __future__ import annotations

import pytest
from snippets import check

SERVER = """
import asyncio
import itertools

class Batcher:
    def __init__(self, model):
        self.model = model
        self.waiting = {{}}
        self.inbox = asyncio.Queue(64)
        self.numbers = itertools.count()

    async def embed(self, text):
        number = next(self.numbers)
        future = asyncio.get_running_loop().create_future()
        self.waiting[number] = future{kept}
        await self.inbox.put((number, text))
        {wait}

    async def serve(self):
        while True:
            number, text = await self.inbox.get()
            future = self.waiting.get(number)
            try:
                with torch.inference_mode():
                    future.set_result(self.model(text))
            except RuntimeError as error:
                {failed}
"""
TOLD = "future.set_exception(error)"
TAKEN = "answer = await {}\n        del self.waiting[number]\n        return answer"


@pytest.mark.parametrize(
    ("kept", "wait", "failed"),
    [
        ("  # TML503", TAKEN.format("self.waiting[number]"), TOLD),
        ("  # TML503", TAKEN.format("future"), TOLD),
        ("", TAKEN.format("future"), "future.set_result(None)"),
        ("", TAKEN.format("future"), f"{TOLD}\n                self.waiting.pop(number)"),
        ("", "return await self.waiting.pop(number)", TOLD),
        ("", "try:\n            return await future\n        finally:\n            del self.waiting[number]", TOLD),
        (
            "",
            "try:\n            answer = await future\n        except RuntimeError:\n"
            "            del self.waiting[number]\n            raise\n"
            "        del self.waiting[number]\n        return answer",
            TOLD,
        ),
        (
            "",
            "answer = None\n        with contextlib.suppress(Exception):\n            answer = await future\n"
            "        del self.waiting[number]\n        return answer",
            TOLD,
        ),
    ],
)
def test_who_waits_takes_out(kept: str, wait: str, failed: str) -> None:
    check("import contextlib\n" + SERVER.format(kept=kept, wait=wait, failed=failed))


def test_where_others_raise_it() -> None:
    check("""
import concurrent.futures

class Client:
    def __init__(self):
        self.asked = {}

    def ask(self, number, images):
        self.asked[number] = future = concurrent.futures.Future()  # TML503
        self.send(number, images)
        answer = self.asked[number].result(timeout=60)
        self.asked.pop(number)
        return answer

    def receive(self, number, answer):
        if isinstance(answer, Exception):
            self.asked[number].set_exception(answer)
        else:
            self.asked[number].set_result(answer)

def main(client, loader):
    for number, images in enumerate(loader):
        print(client.ask(number, images))
""")
