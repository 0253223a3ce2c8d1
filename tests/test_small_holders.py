"""Holders of many kinds in small programs: whose list is emptied, what a stack keeps, who waits with what."""

from __future__ import annotations

import pytest
from snippets import check

SNIPPETS = {
    "another class empties a list of its own": """
        class Window:
            def __init__(self, capacity):
                self.capacity, self.frames = capacity, []

            def add(self, frame):
                self.frames.append(frame)
                if len(self.frames) > self.capacity:
                    self.frames.pop(0)

        class Log:
            def __init__(self, capacity):
                self.capacity = capacity
                self.frames = []

            def add(self, frame):
                self.frames.append(frame)  # TML303
                if len(self.frames) > self.capacity:
                    print("too many frames")

        def main(count):
            window, log = Window(4), Log(4)
            for _ in range(count):
                window.add(torch.randn(8, 64))
                log.add(torch.randn(8, 64))
        """,
    "another class was given the list": """
        class Log:
            def __init__(self):
                self.frames = []
                self.trimmer = Trimmer(self.frames)

            def add(self, frame):
                self.frames.append(frame)
                self.trimmer.trim()

        class Trimmer:
            def __init__(self, frames):
                self.frames = frames

            def trim(self):
                if len(self.frames) > 4:
                    self.frames.pop(0)

        def main(count):
            log = Log()
            for _ in range(count):
                log.add(torch.randn(8, 64))
        """,
    "a finalizer takes the entry out": """
        import weakref

        _open = {}

        class Handle:
            def __init__(self, request_id):
                _open[request_id] = torch.zeros(64)
                weakref.finalize(self, _open.pop, request_id)

        def main(count):
            for number in range(count):
                handle = Handle(number)
        """,
    "an entry that is replaced by what it was": """
        class Streams:
            def __init__(self):
                self.cell, self.states = nn.GRUCell(64, 64), {}

            def open(self, session_id):
                self.states[session_id] = torch.zeros(1, 64)  # TML311

            @torch.no_grad()
            def feed(self, session_id, x):
                self.states[session_id] = self.cell(x, self.states[session_id])

        def main(count):
            streams = Streams()
            for session in range(count):
                streams.open(session)
                streams.feed(session, torch.randn(1, 64))
        """,
    "keyed by all that is in the prompt": """
        class Prefixes:
            def __init__(self):
                self.model, self.cache = nn.Linear(64, 64), {}

            @torch.inference_mode()
            def get(self, tokens):
                key = tuple(tokens.tolist())
                if key not in self.cache:
                    self.cache[key] = self.model(tokens.float())  # TML311
                return self.cache[key]

        def main(count):
            prefixes = Prefixes()
            for _ in range(count):
                prefixes.get(torch.randint(0, 9, (64,)))
        """,
    "a thread that was started before it is given something": """
        import threading

        class Saver:
            def __init__(self):
                self.jobs = queue.Queue(maxsize=8)
                threading.Thread(target=self._loop, daemon=True).start()

            def _loop(self):
                for job in iter(self.jobs.get, None):  # TML502
                    job.sum().item()

            def save(self, x):
                self.jobs.put(x.clone())

        class Tidy:
            def __init__(self):
                self.jobs = queue.Queue(maxsize=8)
                threading.Thread(target=self._loop, daemon=True).start()

            def _loop(self):
                while True:
                    job = self.jobs.get()
                    job.sum().item()
                    del job

            def save(self, x):
                self.jobs.put(x.clone())

        class Names:
            def __init__(self):
                self.jobs = queue.Queue(maxsize=8)
                threading.Thread(target=self._loop, daemon=True).start()

            def _loop(self):
                for name in iter(self.jobs.get, None):
                    print(name)

            def save(self, x):
                self.jobs.put(x.sum().item())

        def main(count):
            saver, tidy, names = Saver(), Tidy(), Names()
            for _ in range(count):
                x = torch.randn(8, 64)
                saver.save(x)
                tidy.save(x)
                names.save(x)
        """,
    "a stack of contexts that turns gradients off": """
        import contextlib

        def evaluate(model: nn.Module, loader):
            model.eval()
            total = 0
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.no_grad())
                for x in loader:
                    total += model(x).sum().item()
            return total
        """,
    "files that are open at the same time, or one by one": """
        import contextlib
        from torch.utils.data import IterableDataset

        class Merged(IterableDataset):
            def __init__(self, paths):
                self.paths = paths

            def __iter__(self):
                with contextlib.ExitStack() as stack:
                    files = [stack.enter_context(open(path, "rb")) for path in self.paths]
                    for _ in range(4):
                        for file in files:
                            yield torch.frombuffer(file.read(64), dtype=torch.float32)

        class OneByOne(IterableDataset):
            def __init__(self, paths):
                self.paths = paths

            def __iter__(self):
                for path in self.paths:
                    with contextlib.ExitStack() as stack:
                        file = stack.enter_context(open(path, "rb"))
                        yield torch.frombuffer(file.read(64), dtype=torch.float32)

        class Listed(IterableDataset):
            def __init__(self, paths):
                self.paths = paths

            def __iter__(self):
                opened = []
                for path in self.paths:
                    file = open(path, "rb")
                    opened.append(file)  # TML406
                    yield torch.frombuffer(file.read(64), dtype=torch.float32)
                for file in opened:
                    file.close()
        """,
    "a cycle while the collector is off": """
        import gc

        class Step:
            def __init__(self, x):
                self.x = x
                self.on_done = self.finish  # TML315

            def finish(self):
                return self.x.mean().item()

        def run(count):
            gc.disable()
            for _ in range(count):
                Step(torch.randn(8, 64)).on_done()
            gc.enable()

        def tidy():
            gc.collect()
        """,
    "device arrays that are freed when the block ends": """
        from numba import cuda

        def sweep(batches):
            with cuda.defer_cleanup():  # TML702
                for batch in batches:
                    total = cuda.to_device(batch).copy_to_host().sum()

        def sweep_in_parts(batches):
            for batch in batches:
                with cuda.defer_cleanup():
                    total = cuda.to_device(batch).copy_to_host().sum()
        """,
    "positions for each height and width that layers hand on": """
        import torch
        from torch import nn

        class Merge(nn.Module):
            def forward(self, x, height, width):
                return x[:, ::4], height // 2, width // 2

        class Ladder(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.cache = {}
                self.by_value = {}
                stages = []
                for _ in range(depth):
                    blocks = nn.ModuleList([nn.Linear(16, 16) for _ in range(depth)])
                    stages.append(nn.ModuleDict({"blocks": blocks, "merge": Merge()}))
                self.stages = nn.ModuleList(stages)

            def positions(self, height, width):
                key = (height, width)
                if key not in self.cache:
                    self.cache[key] = torch.linspace(0, 1, height * width)
                return self.cache[key]

            def forward(self, x, height, width):
                for stage in self.stages:
                    x = x + self.positions(height, width)
                    self.by_value[x] = x * 2  # TML311
                    x, height, width = stage["merge"](x, height, width)
                return x

        def run(ladder, batches):
            with torch.no_grad():
                for batch in batches:
                    ladder(batch, 16, 16)
        """,
    "a part that refers to the whole, and keeps something": """
        import torch
        from torch import nn

        class Pass:
            def __init__(self, runner):
                self.runner = runner
                self.outputs = []

            def run(self, net, batches):
                for batch in batches:
                    self.outputs.append(net(batch))  # TML303
                self.runner.tell(len(self.outputs))

            def forget(self):
                self.outputs.clear()

        class Runner:
            def __init__(self, watchers=()):
                self.watchers = list(watchers)
                self.passes = Pass(self)

            def tell(self, count):
                for watcher in self.watchers:
                    watcher(count)

            @torch.no_grad()
            def predict(self, net, batches):
                net.eval()
                self.passes.run(net, batches)

        def main(loader):
            runner = Runner([print])
            net = nn.Linear(8, 8)
            for _ in range(10):
                runner.predict(net, loader)
        """,
    "states of a metric, of which one is not reset": """
        import torch
        from torch import nn

        class Metric:
            def __init__(self):
                self.defaults = {}

            def add_state(self, name, default):
                self.defaults[name] = default
                setattr(self, name, [] if isinstance(default, list) else default)

            def reset(self):
                for name, default in self.defaults.items():
                    setattr(self, name, [] if isinstance(default, list) else default)

        class Kept(Metric):
            def __init__(self):
                super().__init__()
                self.add_state("maps", [])

            def update(self, maps):
                self.maps.append(maps)  # TML303

        class Emptied(Metric):
            def __init__(self):
                super().__init__()
                self.add_state("maps", [])

            def update(self, maps):
                self.maps.append(maps)

        class Segmenter(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Conv2d(4, 4, 3)
                self.kept = Kept()
                self.emptied = Emptied()

            def score(self, batches):
                for batch in batches:
                    maps = self.net(batch)
                    self.kept.update(maps)
                    self.emptied.update(maps)
                print(torch.cat(self.kept.maps).mean(), torch.cat(self.emptied.maps).mean())
                self.emptied.reset()

        def main(loader):
            segmenter = Segmenter()
            for epoch in range(10):
                with torch.no_grad():
                    segmenter.score(loader)
        """,
    "a context of its own, and one that others pop": """
        import pycuda.driver as cuda

        def first(devices):
            for number in devices:
                ctx = cuda.Device(number).make_context()  # TML701
                print(cuda.mem_get_info())

        def second(devices):
            for number in devices:
                ctx = cuda.Device(number).make_context()
                try:
                    print(cuda.mem_get_info())
                finally:
                    ctx.pop()

        def third(number):
            ctx = cuda.Device(number).make_context()
            leave(ctx)

        def leave(ctx):
            ctx.pop()
        """,
}


@pytest.mark.parametrize("snippet", SNIPPETS.values(), ids=SNIPPETS)
def test_snippets(snippet: str) -> None:
    check(snippet)
