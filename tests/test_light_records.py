"""What a table gets while it is light, what is tried again, what leaves a device late, and who never leaves."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_LISTENER = """class Number:
    def __init__(self):
        self._listeners = []

    def listen(self, listener):
        self._listeners.append(listener)

    def leave(self, listener):
        self._listeners.remove(listener)


SHARED = Number()


class Fit:
    def __init__(self, rows):
        self.rows = rows @ rows.T
        SHARED.listen(self.changed)%s

    def changed(self, value):
        self.rows = self.rows * value

    def close(self):
        SHARED.leave(self.changed)


def main(steps):
    for _ in range(steps):
        fit = Fit(torch.randn(64, 64))
        fit.changed(2.0)%s
"""

_BUS = """class Bus:
    def __init__(self):
        self.handlers = []

    def subscribe(self, handler):
        self.handlers.append(handler)


bus = Bus()
bus.subscribe(print)


class Panel:
    def __init__(self):
        self.net = Net()

    def show(self, value):
        self.last = value


class Window:
    def __init__(self):
        self.panel = Panel()
        bus.subscribe(self.panel.show)  # TML314


def main(steps):
    for _ in range(steps):
        window = Window()
        window.panel.show(1)
"""

SEEN = {
    "the method of a part, said where it subscribes and not of the bus as well": _BUS,
    "a listener that could leave, and whom nobody tells to": _LISTENER % ("  # TML314", ""),
    "a dictionary for each session": """
        import secrets

        class App:
            def __init__(self, model: Net):
                self.model = model
                self.sessions = {}

            def session(self, key):
                if key not in self.sessions:
                    self.sessions[key] = {"hidden": None, "count": 0}  # TML311
                return self.sessions[key]

            @torch.inference_mode()
            def step(self, key, x):
                state = self.session(key)
                state["hidden"] = self.model(x)
                state["count"] += 1

        def main(steps):
            app = App(Net())
            for _ in range(steps):
                key = secrets.token_hex(8)
                for x in torch.randn(3, 8):
                    app.step(key, x)
        """,
    "a list for each request, which its own variable fills": """
        class Server:
            def __init__(self, model: Net):
                self.model = model
                self.chunks = {}

            @torch.inference_mode()
            def serve(self, request_id, parts):
                chunks = []
                self.chunks[request_id] = chunks  # TML311
                for part in parts:
                    chunks.append(self.model(part))
                return len(chunks)

        def main(steps):
            server = Server(Net())
            for number in range(steps):
                server.serve(f"request {number}", torch.randn(3, 8))
        """,
    "one growth is said once": """
        class Server:
            def __init__(self, model: Net):
                self.model = model
                self.chunks = {}

            @torch.inference_mode()
            def serve(self, request_id, part):
                if request_id not in self.chunks:
                    self.chunks[request_id] = []
                self.chunks[request_id].append(self.model(part))  # TML303

        def main(steps):
            server = Server(Net())
            for number in range(steps):
                server.serve(number, torch.randn(3, 8))
        """,
    "a part of the class is what runs again": """
        class Block(nn.Module):
            def forward(self, x):
                return x @ x.T

        class Prefill:
            def __init__(self):
                self.block = Block()
                self.size = 64

            def in_chunks(self, rows, size):
                return [self.block(part) for part in rows.split(size)]

            def __call__(self, rows):
                try:
                    return self.in_chunks(rows, self.size)
                except torch.OutOfMemoryError:
                    self.size //= 2
                    return self.in_chunks(rows, self.size)  # TML307
        """,
    "frames that leave the device by a helper": """
        import numpy as np

        def to_image(frame):
            return frame.detach().cpu().numpy()

        def restyle(net: Net, frames, device):
            found = {"images": [], "norms": []}
            with torch.no_grad():
                for frame in frames:
                    x = torch.from_numpy(frame).to(device).unsqueeze(0)
                    image = net(x)[0]
                    found["images"].append(image)  # TML310
                    found["norms"].append(image.norm().item())
            return found

        def main(steps):
            found = restyle(Net(), [np.ones(8) for _ in range(steps)], "cuda")
            np.save("frames.npy", np.stack([to_image(image) for image in found["images"]]))
        """,
}

QUIET = {
    "a listener that leaves": _LISTENER % ("", "\n        fit.close()"),
    "a helper that computes the size": """
        class Plan:
            def __init__(self):
                self.block = Net()

            def smaller(self, size):
                return max(1, size // 2)

            def run(self, rows, size):
                fits = True
                try:
                    size = self.smaller(size)
                    found = self.block(rows[:size])
                except torch.OutOfMemoryError:
                    size, fits = self.smaller(size), False
                return found if fits else self.block(rows[:size])
        """,
    "the states of one sample": """
        def sample(net: Net, x, count, device):
            states = []
            with torch.no_grad():
                for i in range(count):
                    x = net(x + torch.full((1,), i).to(device))
                    states.append(x)
            return [state.cpu() for state in states]
        """,
    "a session that is closed": """
        import secrets

        class App:
            def __init__(self, model: Net):
                self.model = model
                self.sessions = {}

            @torch.inference_mode()
            def serve(self, rows):
                key = secrets.token_hex(8)
                self.sessions[key] = {"hidden": None}
                try:
                    for x in rows:
                        self.sessions[key]["hidden"] = self.model(x)
                finally:
                    del self.sessions[key]

        def main(steps):
            app = App(Net())
            for _ in range(steps):
                app.serve(torch.randn(3, 8))
        """,
    "records of numbers": """
        class App:
            def __init__(self, model: Net):
                self.model = model
                self.sessions = {}

            @torch.inference_mode()
            def serve(self, request_id, rows):
                self.sessions[request_id] = {"score": None}
                for x in rows:
                    self.sessions[request_id]["score"] = self.model(x).sum().item()

        def main(steps):
            app = App(Net())
            for number in range(steps):
                app.serve(number, torch.randn(3, 8))
        """,
}


@pytest.mark.parametrize("name", SEEN)
def test_seen(name: str) -> None:
    check(SEEN[name])


@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str) -> None:
    check_innocent(QUIET[name])
