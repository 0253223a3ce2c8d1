"""Work beside the main thread, and what is kept of it: event loops, workers, a program's one object."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

HEAD = """
import asyncio
import threading
import multiprocess
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
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

POOL = """
    def segment(path):
        return {given}

    def collect(paths):
        masks = []
        with {pool} as pool:
            for mask in pool.{how}(segment, paths):
                {keep}
        return masks
    """

TABLE = """
    class Front:
        def __init__(self, engine):
            self.engine = engine
            self.states = {{}}

        def enter(self, request):
            self.states[request.rid] = State(request)

        def validate(self, request):
            if len(request.ids) > 128:
                raise ValueError("too long")

        async def generate(self, request):
            {first}
            {second}
            await self.engine.send(request.ids)
            return await self.states[request.rid].answer

        {receives}
            state = self.states.pop(rid)
            state.answer.set_result(token)

    async def main(front, requests):
        for request in requests:
            try:
                print(await front.generate(request))
            except ValueError as error:
                print(error)
    """
TIMERS = """
    class Service:
        def __init__(self, net):
            self.net = net
            self.timer = None

        def expire(self, frames, found):
            print(len(frames), found)
            {again}

        def answer(self, frames):
            with torch.no_grad():
                found = self.net(frames).argmax(-1).tolist()
            {before}
            self.timer = threading.Timer({delay}, lambda: self.expire(frames, found)){mark}
            self.timer.start()
            return found

        def stop_timer(self):
            if self.timer is not None:
                self.timer.cancel()
    """
PLAIN = {"again": "pass", "before": "pass", "delay": "self.idle_timeout", "mark": ""}
GROUP = """
    import multiprocessing

    context = multiprocessing.get_context("{method}")

    def serve(remote, other):
        other.close()
        while True:
            command = remote.recv()
            if command == "close":
                break
            remote.send(torch.rand(4).tolist())

    class Group:
        def __init__(self, count):
            self.remotes, ends = zip(*[context.Pipe() for _ in range(count)])
            for end, remote in zip(ends, self.remotes):
                context.Process(target=serve, args=(end, remote), daemon=True).start()

        def step(self):
            for remote in self.remotes:
                remote.send("step")
            return [remote.recv() for remote in self.remotes]

        def close(self):
            for remote in self.remotes:
                remote.send("close")

    def evaluate(count):
        group = Group(count){mark}
        return group.step()

    def main(rounds):
        for _ in range(rounds):
            print(evaluate(3))
    """
RECEIVES = "def on_answer(self, rid, token):"

GUILTY = {
    "requests that are refused after they were entered": TABLE.format(
        first="self.enter(request)", second="self.validate(request)", receives=RECEIVES
    ).replace("State(request)", "State(request)  # TML303"),
    "requests that are refused in the same place": TABLE.format(
        first="self.states[request.rid] = State(request)  # TML303",
        second="if request.rid in self.blocked: raise PermissionError(request.rid)",
        receives=RECEIVES,
    ),
    "masks of a pool": POOL.format(
        given="torch.rand(32, 32) > 0.5", pool="mp.Pool(4)", how="imap", keep="masks.append(mask)  # TML409"
    ),
    "masks of an executor of processes": POOL.format(
        given="path, torch.rand(32, 32)", pool="ProcessPoolExecutor()", how="map", keep="masks.append(mask)  # TML409"
    ),
    "a thread that asks the event loop to fill a queue": RELAY.format(
        limit="", put="self.loop.call_soon_threadsafe(self.frames.put_nowait, frame)  # TML504"
    ),
    "processes forked by the module's context": GROUP.format(method="fork", mark="  # TML408"),
    "a timer for each answer": TIMERS.format(**{**PLAIN, "mark": "  # TML505"}),
    "a timer of ten minutes for each answer": TIMERS.format(**{**PLAIN, "mark": "  # TML505", "delay": "600"}),
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
    "requests that are checked first": TABLE.format(
        first="self.validate(request)", second="self.enter(request)", receives=RECEIVES
    ),
    "requests that are taken out when they are refused": TABLE.format(
        first="self.enter(request)",
        second="""
            try:
                self.validate(request)
            except ValueError:
                self.states.pop(request.rid)
                raise""",
        receives=RECEIVES,
    ),
    "requests whose table is cleared when one fails": TABLE.format(
        first="self.enter(request)", second="self.validate(request)", receives=RECEIVES
    ).replace("print(error)", "front.states.clear()"),
    "requests that are sent before something is checked": TABLE.format(
        first="self.enter(request)",
        second="self.engine.submit(request); self.validate(request)",
        receives=RECEIVES,
    ),
    "answers beside messages of another kind": """
        class Front:
            def __init__(self):
                self.inbox = asyncio.Queue(4)
                self.answers = {}

            async def ask(self, number):
                self.answers[number] = asyncio.get_running_loop().create_future()
                await self.inbox.put(number)
                return await self.answers[number]

            async def work(self):
                while True:
                    number = await self.inbox.get()
                    if number < 0:
                        print("asked for news")
                        continue
                    self.answers.pop(number).set_result(torch.rand(64, 64))

        async def serve(front, steps):
            task = asyncio.create_task(front.work())
            for number in range(steps):
                print((await front.ask(number)).mean())
            task.cancel()
        """,
    "answers that a task takes out beside": """
        class Front:
            def __init__(self):
                self.inbox = asyncio.Queue(4)
                self.answers = {}

            async def ask(self, number):
                self.answers[number] = asyncio.get_running_loop().create_future()
                await self.inbox.put(number)
                return await self.answers[number]

            async def work(self):
                while True:
                    number = await self.inbox.get()
                    self.answers.pop(number).set_result(torch.rand(64, 64))

        async def serve(steps):
            front = Front()
            task = asyncio.create_task(front.work())
            for number in range(steps):
                print((await front.ask(number)).mean())
            task.cancel()

        if __name__ == "__main__":
            asyncio.run(serve(1000))
        """,
    "copies of a pool's masks": POOL.format(
        given="torch.rand(32, 32)", pool="mp.Pool(4)", how="imap", keep="masks.append(mask.clone())"
    ),
    "arrays of a pool": POOL.format(
        given="torch.rand(32, 32).numpy()", pool="mp.Pool(4)", how="imap", keep="masks.append(mask)"
    ),
    "masks of a pool of threads": POOL.format(
        given="torch.rand(32, 32)", pool="ThreadPoolExecutor(4)", how="map", keep="masks.append(mask)"
    ),
    "masks of a pool that pickles by itself": POOL.format(
        given="torch.rand(32, 32)", pool="multiprocess.Pool(4)", how="imap", keep="masks.append(mask)"
    ),
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
    "processes spawned by the module's context": GROUP.format(method="spawn", mark=""),
    "one timer after the other": TIMERS.format(**{**PLAIN, "before": "self.stop_timer()"}),
    "one timer, as long as there is one": TIMERS.format(**{**PLAIN, "before": "if self.timer: return found"}),
    "a timer of a moment": TIMERS.format(**{**PLAIN, "delay": "0.2"}),
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
    "the vectors of a search index": """
        class Index:
            def __init__(self):
                self.names, self.vectors = [], []

            def add(self, name, vector):
                self.names.append(name)
                self.vectors.append(vector)

            def search(self, query):
                scores = torch.stack([vector @ query for vector in self.vectors])
                return self.names[scores.argmax().item()]

        index = None

        def main(steps):
            global index
            index = Index()
            for number in range(steps):
                index.add(f"doc{number}", torch.rand(64))
            print(index.search(torch.rand(64)))

        if __name__ == "__main__":
            main(int(input()))
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
