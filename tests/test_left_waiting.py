"""Tasks that wait for an event of their object when another one is done first."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import asyncio
"""

SERVING = """
class Handler:
    def __init__(self, model):
        self.model = model
        self.closing = asyncio.Event()

    async def _abort(self, request):
        await self.closing.wait()
        print(request)

    async def answer(self, request):
        reply = asyncio.create_task(self.run(request))
        %s
        if stop in done:
            return None
        return reply.result()

    async def run(self, request):
        with torch.no_grad():
            return self.model(request).mean().item()
"""
WAIT = "done, %s = await asyncio.wait([reply, stop], return_when=asyncio.FIRST_COMPLETED)"
GUILTY = "stop = asyncio.create_task(self._abort(request))  # TML503"


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


@pytest.mark.parametrize("made", [GUILTY, "stop = asyncio.ensure_future(self.closing.wait())  # TML503"])
def test_a_task_that_waits_for_the_end_of_all(made: str) -> None:
    _check(SERVING % f"{made}\n        {WAIT % '_'}")


@pytest.mark.parametrize(
    "ended", ["stop.cancel()", "for task in pending:\n            task.cancel()", "await asyncio.gather(*pending)"]
)
def test_tasks_that_are_cancelled_or_waited_for(ended: str) -> None:
    made = GUILTY.replace("  # TML503", "")
    _check(SERVING % f"{made}\n        {WAIT % 'pending'}\n        {ended}")


def test_tasks_that_end_by_themselves() -> None:
    bounded = "stop = asyncio.create_task(asyncio.wait_for(self.closing.wait(), 5))"
    _check(SERVING % f"{bounded}\n        {WAIT % '_'}")
    both = "stop = asyncio.create_task(self._abort(request))\n        done, _ = await asyncio.wait([reply, stop])"
    _check(SERVING % both)
    of_the_request = "stop = asyncio.create_task(request.closed.wait())"
    _check(SERVING % f"{of_the_request}\n        {WAIT % '_'}")


def test_a_task_made_for_the_wait() -> None:
    _check("""
        class Reader:
            def __init__(self):
                self.closing = asyncio.Event()

            async def take(self, answer):
                await asyncio.wait(
                    [answer, asyncio.create_task(self.closing.wait())],  # TML503
                    return_when=asyncio.FIRST_COMPLETED,
                )
                return answer.result()
    """)


WATCHING = """
class Worker:
    def __init__(self, model):
        self.model = model
        self.closing = asyncio.Event()

    async def watch(self, request):
        gone = asyncio.ensure_future(request.gone())
        {made}
        {wait}

    async def answer(self, request):
        watch = asyncio.create_task(self.watch(request))
        try:
            with torch.no_grad():
                return self.model(request.x).mean().item()
        finally:
            {end}
"""
STOP = "stop = asyncio.create_task(self.closing.wait())"
FIRST = "await asyncio.wait([gone, stop], return_when=asyncio.FIRST_COMPLETED)"
AFTER = f"done, pending = {FIRST}\n        for task in pending:\n            task.cancel()\n        request.stop()"
FINALLY = f"try:\n            {FIRST}\n        finally:\n            stop.cancel()\n            gone.cancel()"
CAUGHT = (
    f"try:\n            {FIRST}\n        except asyncio.CancelledError:\n            stop.cancel()\n            raise"
)
ROUNDS = (
    f"while not request.over:\n            done, _ = {FIRST}\n            stop.cancel()\n            "
    "stop = asyncio.create_task(self.closing.wait())"
)


@pytest.mark.parametrize("wait", [AFTER, f"{FIRST}\n        stop.cancel()\n        gone.cancel()"])
def test_tasks_that_a_cancelled_wait_leaves(wait: str) -> None:
    made = f"{STOP}  # TML503"
    _check(WATCHING.format(made=made, wait=wait, end="watch.cancel()"))


@pytest.mark.parametrize(
    ("wait", "end"), [(FINALLY, "watch.cancel()"), (CAUGHT, "watch.cancel()"), (AFTER, "await watch")]
)
def test_tasks_that_are_seen_to_when_the_wait_is_cancelled(wait: str, end: str) -> None:
    _check(WATCHING.format(made=STOP, wait=wait, end=end))


def test_tasks_of_a_wait_that_goes_round_or_that_others_have() -> None:
    _check(WATCHING.format(made=STOP, wait=ROUNDS, end="watch.cancel()"))
    _check(WATCHING.format(made=f"{STOP}; request.tasks.add(stop)", wait=AFTER, end="watch.cancel()"))
