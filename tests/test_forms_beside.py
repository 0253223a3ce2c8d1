"""Work beside the main thread, and what is kept of it: event loops, workers, a program's one object."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = """
import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
import torch.multiprocessing as mp
"""

RELAY = """
    class Relay:
        def __init__(self, camera):
            self.camera = camera
            self.loop = asyncio.get_running_loop()
            self.frames = asyncio.Queue({limit})
            self.events = asyncio.Queue()
            self.thread = threading.Thread(target=self.read, daemon=True)

        def read(self):
            for i in range(100000):
                frame = torch.rand(3, 64, 64)
                {put}

        async def recv(self):
            return await self.frames.get()
    """

GUILTY = {
    "a thread that asks the event loop to fill a queue": RELAY.format(
        limit="", put="self.loop.call_soon_threadsafe(self.frames.put_nowait, frame)  # TML504"
    ),
    "states that only a loop's name is detached of": """
        def cut(hidden):
            for h in hidden:
                h = h.detach()  # TML605
            return hidden
        """,
    "states in a dictionary, copied to the host": """
        def cut(state):
            for key, value in state.items():
                if value is not None:
                    value = value.detach().cpu()  # TML605
        """,
    "a list of the program's one object": """
        class Grid:
            def __init__(self):
                self.layers = []

            def render(self, x):
                layer = nn.Linear(64, 64)
                self.layers.append(layer)  # TML303
                return layer(x).mean().item()

        grid = None

        @torch.no_grad()
        def main(steps):
            global grid
            grid = Grid()
            for _ in range(steps):
                grid.render(torch.rand(2, 64))

        if __name__ == "__main__":
            main(int(input()))
        """,
}

INNOCENT = {
    "the event loop is asked to wait for room": RELAY.format(
        limit="maxsize=4",
        put="asyncio.run_coroutine_threadsafe(self.frames.put(frame), self.loop).result()",
    ),
    "the event loop sends numbers": RELAY.format(
        limit="", put="self.loop.call_soon_threadsafe(self.events.put_nowait, frame.mean().item())"
    ),
    "the event loop is asked to set an event": RELAY.format(
        limit="", put="self.loop.call_soon_threadsafe(self.ready.set)"
    ),
    "a detached item that goes on": """
        def cut(hidden):
            fresh = []
            for h in hidden:
                h = h.detach()
                fresh.append(h)
            return fresh
        """,
    "the last of the detached items": """
        def last(hidden):
            for h in hidden:
                h = h.detach()
            return h
        """,
    "what the loop replaces in its container": """
        def cut(hidden):
            for i, h in enumerate(hidden):
                hidden[i] = h.detach()
        """,
    "an object that gives up its model before the next": """
        class Adapter:
            def __init__(self):
                self.model = None

            def attach(self, model):
                self.model = model

            def detach(self):
                self.model = None

        class Grid:
            def __init__(self):
                self.adapters = []

            @torch.no_grad()
            def render(self, x):
                for adapter in self.adapters:
                    adapter.detach()
                model = nn.Linear(64, 64)
                adapter = Adapter()
                adapter.attach(model)
                self.adapters.append(adapter)
                return model(x).mean().item()

        def main(steps):
            grid = Grid()
            for _ in range(steps):
                grid.render(torch.rand(2, 64))
        """,
    "the list of each call of a handler": """
        rows = []

        @torch.no_grad()
        def handle(images):
            global rows
            rows = []
            for image in images:
                rows.append(torch.rand(3, 64, 64))
            return torch.stack(rows).mean().item()

        def main(requests):
            for request in requests:
                print(handle(request))
        """,
    "halves of what is there, handed to own threads": """
        import queue
        from concurrent.futures import Future

        class Workers:
            def __init__(self):
                self.commands = queue.Queue()
                threading.Thread(target=self.run, daemon=True).start()

            def run(self):
                while True:
                    future, image = self.commands.get()
                    future.set_result(image.mean().item())
                    del future, image

            def submit(self, image):
                future = Future()
                self.commands.put((future, image))
                return future

        workers = Workers()

        def process(side):
            halves = torch.rand(side, side).chunk(2)
            futures = [workers.submit(half.clone()) for half in halves]
            return sum(future.result() for future in futures)

        def main(steps):
            print([process(64) for _ in range(steps)])
        """,
}


@pytest.mark.parametrize("form", GUILTY.values(), ids=GUILTY)
def test_what_stays(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


@pytest.mark.parametrize("form", INNOCENT.values(), ids=INNOCENT)
def test_what_goes(form: str) -> None:
    check(HEAD + textwrap.dedent(form))
