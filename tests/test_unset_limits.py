"""Limits that nobody sets, listeners of a bus that a function made, errors filed by key, and what is few by nature."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

GUILTY = {
    "unless zero": """
        class Results:
            def __init__(self, size=0):
                self.done = []
                self.size = size

            def finish(self, x):
                self.done.append(x)  # TML303
                if self.size != 0 and len(self.done) > self.size:
                    self.done.pop(0)

        def main():
            results = Results()
            while True:
                results.finish(torch.rand(64, 64))
        """,
    "unless none": """
        class Recorder:
            def __init__(self, path, max_frames=None):
                self.path = path
                self.max_frames = max_frames
                self.frames = []

            def process(self, frame):
                self.frames.append(frame.clone())  # TML303
                if self.max_frames is not None:
                    while len(self.frames) > self.max_frames:
                        self.frames.pop(0)

        def main(camera):
            recorder = Recorder("out")
            while True:
                recorder.process(torch.rand(3, 64, 64))
        """,
    "if set, sliced": """
        class Memory:
            def __init__(self, *, limit: int | None = None):
                self.limit = limit
                self.items = []

            def remember(self, item):
                self.items.append(item)  # TML303
                if self.limit and len(self.items) > self.limit:
                    self.items = self.items[-self.limit:]

        def main():
            memory = Memory()
            while True:
                memory.remember(torch.rand(64, 64))
        """,
    "in a helper": """
        class Store:
            def __init__(self, capacity=0):
                self.capacity = capacity
                self.rows = []

            def _trim(self):
                if self.capacity > 0 and len(self.rows) > self.capacity:
                    del self.rows[0]

            def add(self, row):
                self.rows.append(row)  # TML303
                self._trim()

        def main():
            store = Store()
            while True:
                store.add(torch.rand(64, 64))
        """,
    "by key": """
        class Sessions:
            def __init__(self, keep=None):
                self.keep = keep
                self.states = {}

            def update(self, session_id, state):
                self.states[session_id] = state  # TML311
                if self.keep is not None and len(self.states) > self.keep:
                    self.states.pop(next(iter(self.states)))

        def main(requests):
            sessions = Sessions()
            while True:
                session_id = requests.get()
                sessions.update(session_id, torch.rand(64, 64))
        """,
    "on an instance": """
        class Log:
            def __init__(self, keep=0):
                self.keep = keep
                self.history = deque()

            def note(self, x):
                self.history.append(x)  # TML303
                if self.keep and len(self.history) > self.keep:
                    self.history.popleft()

        class Server:
            def __init__(self):
                self.log = Log()

            def run(self):
                while True:
                    self.log.note(torch.rand(64, 64))

        def main():
            Server().run()
        """,
    "a bus that the function made": """
        class Bus:
            def __init__(self):
                self.handlers = {}

            def on(self, name, handler):
                self.handlers.setdefault(name, []).append(handler)

        class View:
            def __init__(self, bus):
                self.table = torch.zeros(512, 512)
                bus.on("changed", self.refresh)  # TML314

            def refresh(self):
                self.table = self.table * 2

        def main():
            bus = Bus()
            for step in range(100):
                view = View(bus)
                print(view.table.sum().item())
        """,
    "as a part of another": """
        class Signal:
            def __init__(self):
                self.slots = []

            def connect(self, slot):
                self.slots.append(slot)

        class Grid:
            def __init__(self, signal):
                self.cells = torch.zeros(512, 512)
                signal.connect(self.redraw)  # TML314

            def redraw(self):
                self.cells.zero_()

        class Window:
            def __init__(self, signal):
                self.grid = Grid(signal)

        def main():
            signal = Signal()
            for step in range(100):
                window = Window(signal)
                print(window.grid.cells.sum().item())
        """,
    "errors by key": """
        def attempt(size):
            return Net()(torch.randn(size, 8)).mean().item()

        def search(sizes):
            passed, failed = {}, {}
            for size in sizes:
                try:
                    passed[size] = attempt(size)
                except RuntimeError as error:
                    failed[size] = error  # TML307
            return passed, failed
        """,
    "errors in an annotated list": """
        def attempt(size):
            return Net()(torch.randn(size, 8)).mean().item()

        def search(sizes):
            failed: list[Exception] = []
            for size in sizes:
                try:
                    attempt(size)
                except RuntimeError as error:
                    failed.append(error)  # TML307
            return failed
        """,
    "for each remote engine": """
        class Worker:
            def __init__(self):
                self.staging = {}

            def handshake(self, meta):
                if meta.engine_id not in self.staging:
                    self.staging[meta.engine_id] = torch.empty(64, 64)  # TML311
                return self.staging[meta.engine_id]

        def main(pods):
            worker = Worker()
            while True:
                worker.handshake(pods.get())
        """,
}
# A class of which one object is made without the limit, and another one with it.
TWO_OF_A_KIND = """
class Memory:
    def __init__(self, limit=None):
        self.limit = limit
        self.items = []

    def remember(self, item):
        self.items.append(item){mark}
        if self.limit is not None and len(self.items) > self.limit:
            self.items.pop(0)

def main():
    free, bounded = Memory(), Memory(limit=8)
    while True:
        {frames}.remember(torch.rand(64, 64))
        {scores}.remember(0.5)
"""

INNOCENT = {
    "set where it is made": """
        class Results:
            def __init__(self, size=0):
                self.done = []
                self.size = size

            def finish(self, x):
                self.done.append(x)
                if self.size != 0 and len(self.done) > self.size:
                    self.done.pop(0)

        def main():
            results = Results(size=16)
            while True:
                results.finish(torch.rand(64, 64))
        """,
    "set by place": """
        class Recorder:
            def __init__(self, path, max_frames=None):
                self.max_frames = max_frames
                self.frames = []

            def process(self, frame):
                self.frames.append(frame.clone())
                if self.max_frames is not None:
                    while len(self.frames) > self.max_frames:
                        self.frames.pop(0)

        def main(camera):
            recorder = Recorder("out", 30)
            while True:
                recorder.process(torch.rand(3, 64, 64))
        """,
    "a default that is a limit": """
        class Memory:
            def __init__(self, limit=100):
                self.limit = limit
                self.items = []

            def remember(self, item):
                self.items.append(item)
                if self.limit and len(self.items) > self.limit:
                    self.items.pop(0)

        def main():
            memory = Memory()
            while True:
                memory.remember(torch.rand(64, 64))
        """,
    "set later": """
        class Memory:
            def __init__(self, limit=None):
                self.limit = limit
                self.items = []

            def remember(self, item):
                self.items.append(item)
                if self.limit and len(self.items) > self.limit:
                    self.items.pop(0)

        def main(args):
            memory = Memory()
            memory.limit = args.limit
            while True:
                memory.remember(torch.rand(64, 64))
        """,
    "made from settings": """
        class Memory:
            def __init__(self, limit=None):
                self.limit = limit
                self.items = []

            def remember(self, item):
                self.items.append(item)
                if self.limit and len(self.items) > self.limit:
                    self.items.pop(0)

        def main(settings):
            memory = Memory(**settings)
            while True:
                memory.remember(torch.rand(64, 64))
        """,
    "emptied without a limit as well": """
        class Memory:
            def __init__(self, limit=None):
                self.limit = limit
                self.items = []

            def remember(self, item):
                self.items.append(item)
                if self.limit and len(self.items) > self.limit:
                    self.items.pop(0)

            def take(self):
                items, self.items = self.items, []
                return items

        def main():
            memory = Memory()
            while True:
                memory.remember(torch.rand(64, 64))
                memory.take()
        """,
    "a bus of each round": """
        class Bus:
            def __init__(self):
                self.handlers = []

        class View:
            def __init__(self, bus):
                self.table = torch.zeros(512, 512)
                bus.handlers.append(self.refresh)

            def refresh(self):
                self.table = self.table * 2

        def main():
            for step in range(100):
                bus = Bus()
                view = View(bus)
                print(view.table.sum().item())
        """,
    "listeners that stay": """
        class Bus:
            def __init__(self):
                self.handlers = []

        class View:
            def __init__(self, bus):
                self.table = torch.zeros(512, 512)
                bus.handlers.append(self.refresh)

            def refresh(self):
                self.table = self.table * 2

        def main():
            bus, views = Bus(), []
            for name in ("left", "right"):
                views.append(View(bus))
            for handler in bus.handlers:
                handler()
            return views
        """,
    "listeners that leave": """
        class Bus:
            def __init__(self):
                self.handlers = []

        class View:
            def __init__(self, bus):
                self.bus = bus
                self.table = torch.zeros(512, 512)
                bus.handlers.append(self.refresh)

            def refresh(self):
                self.table = self.table * 2

            def close(self):
                self.bus.handlers.remove(self.refresh)

        def main():
            bus = Bus()
            for step in range(100):
                view = View(bus)
                view.close()
        """,
    "texts of errors": """
        def attempt(size):
            return Net()(torch.randn(size, 8)).mean().item()

        def search(sizes):
            passed, failed = {}, {}
            for size in sizes:
                try:
                    passed[size] = attempt(size)
                except RuntimeError as error:
                    failed[size] = str(error)
            return passed, failed
        """,
    "for each layer of the model": """
        class Curvature:
            def __init__(self, model):
                self.model = model
                self.bases = {}

            def _update(self, part: nn.Module):
                self.bases[part] = torch.linalg.eigh(torch.rand(64, 64)).eigenvectors

            def step(self):
                for part in self.model.modules():
                    self._update(part)
        """,
    "a batch is one of many": """
        class Batch:
            def __init__(self):
                self.states = []

            def add_to_batch(self, envs):
                for env in envs:
                    self.states.append(torch.tensor(env.state))

        def main(envs):
            batch = Batch()
            while not all(env.done for env in envs):
                batch.add_to_batch(envs)
            return batch
        """,
    "an index": """
        class ClipIndex:
            def __init__(self):
                self.posters = {}

            def add(self, video_id):
                video = torch.rand(48, 3, 32, 32)
                self.posters[video_id] = video.mean(dim=(2, 3))

        def main():
            index = ClipIndex()
            for video_id in range(24):
                index.add(video_id)
            return index
        """,
    "matrices of cameras": """
        class Drives(torch.utils.data.Dataset):
            def __init__(self, paths):
                self.paths = paths
                self.calib_cache = {}

            def __getitem__(self, i):
                path = self.paths[i]
                if path not in self.calib_cache:
                    self.calib_cache[path] = torch.load(path + ".calib")
                return self.calib_cache[path], torch.load(path)

            def __len__(self):
                return len(self.paths)

        loader = torch.utils.data.DataLoader(Drives(["a"]), num_workers=4)
        """,
}


@pytest.mark.parametrize("name", GUILTY)
def test_guilty(name: str) -> None:
    check(textwrap.dedent(GUILTY[name]))


@pytest.mark.parametrize("name", INNOCENT)
def test_innocent(name: str) -> None:
    check(textwrap.dedent(INNOCENT[name]))


@pytest.mark.parametrize(("frames", "scores", "mark"), [("free", "bounded", "  # TML303"), ("bounded", "free", "")])
def test_each_object_has_its_own_limit(frames: str, scores: str, mark: str) -> None:
    check(TWO_OF_A_KIND.format(frames=frames, scores=scores, mark=mark))
