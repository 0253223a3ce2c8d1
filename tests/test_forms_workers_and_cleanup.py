"""Workers and their cleanup in the ordinary words of scripts and classes: each guilty form with an innocent twin."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = """
import asyncio
import gc
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
import numpy as np
"""

GUILTY = {
    "a script that submits and submits": """
        model = nn.Linear(64, 64).eval()

        @torch.no_grad()
        def predict(x):
            return model(x)

        pool = ThreadPoolExecutor(2)
        futures = []
        while True:
            future = pool.submit(predict, torch.rand(8, 64))
            futures.append(future)  # TML503
            print(future.result().mean())
        """,
    "a script that keeps its threads": """
        class Job(threading.Thread):
            def __init__(self, image):
                super().__init__()
                self.image = image

            def run(self):
                self.mask = self.image.sigmoid()

        jobs = []
        while True:
            job = Job(torch.rand(3, 64, 64))
            jobs.append(job)  # TML501
            job.start()
            job.join()
        """,
    "a task for each message, in a variable": """
        class Client:
            def __init__(self, socket, net):
                self.socket = socket
                self.net = net

            async def answer(self, message):
                with torch.no_grad():
                    return self.net(torch.tensor(message))

            async def listen(self):
                tasks = []
                try:
                    async for message in self.socket:
                        tasks.append(asyncio.create_task(self.answer(message)))  # TML503
                finally:
                    print(len(tasks))
                    for task in tasks:
                        task.cancel()
        """,
}

INNOCENT = {
    "a script that waits for all": """
        def predict(x):
            return x.mean().item()

        pool = ThreadPoolExecutor(2)
        futures = []
        for number in range(10):
            futures.append(pool.submit(predict, torch.rand(8, 64)))
        print([future.result() for future in futures])
        """,
    "a script that drops what is done": """
        def predict(x):
            with torch.no_grad():
                return x @ x.T

        pool = ThreadPoolExecutor(2)
        futures = []
        while True:
            futures.append(pool.submit(predict, torch.rand(8, 64)))
            futures = [future for future in futures if not future.done()]
        """,
    "a few threads of a script": """
        class Job(threading.Thread):
            def __init__(self, image):
                super().__init__()
                self.image = image

            def run(self):
                self.mask = self.image.sigmoid()

        jobs = []
        for _ in range(4):
            job = Job(torch.rand(3, 64, 64))
            jobs.append(job)
            job.start()
        for job in jobs:
            job.join()
            print(job.mask.mean())
        """,
    "tasks that serve until they are cancelled": """
        async def serve(channel, net):
            while True:
                net(await channel.get())

        async def main(channel, net):
            workers = []
            for _ in range(4):
                workers.append(asyncio.create_task(serve(channel, net)))
            await channel.join()
            for worker in workers:
                worker.cancel()
        """,
    "a task for each message, discarded when done": """
        class Client:
            def __init__(self, socket, net):
                self.socket = socket
                self.net = net

            async def answer(self, message):
                with torch.no_grad():
                    return self.net(torch.tensor(message))

            async def listen(self):
                tasks = set()
                async for message in self.socket:
                    task = asyncio.create_task(self.answer(message))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        """,
    "a task for each message of one request, all of them awaited": """
        async def answer(net, message):
            with torch.no_grad():
                return net(torch.tensor(message))

        async def collect(net, stream):
            tasks = []
            async for message in stream:
                tasks.append(asyncio.create_task(answer(net, message)))
            return await asyncio.gather(*tasks)
        """,
}


@pytest.mark.parametrize("form", GUILTY.values(), ids=GUILTY)
def test_what_stays(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


@pytest.mark.parametrize("form", INNOCENT.values(), ids=INNOCENT)
def test_what_goes(form: str) -> None:
    check(HEAD + textwrap.dedent(form))
