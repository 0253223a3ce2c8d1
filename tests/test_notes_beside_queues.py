"""Objects with several queues: one for what their thread reads ahead, and others for notes or for answers."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

CAMERA = """
import threading

class Camera:
    def __init__(self, frames):
        self.frames, self.ahead, self.notes = frames, queue.Queue(), queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for number in range(self.frames):
            self.ahead.put(torch.rand(3, 64, 64)){mark}
            {beside}

    def detect(self, net):
        while True:
            with torch.inference_mode():
                print(net(self.ahead.get()[None]).argmax())
            {asks}

Camera(10000).detect(nn.Conv2d(3, 1, 3))
"""


@pytest.mark.parametrize(
    ("beside", "asks", "mark"),
    [
        ("print(number)", "print('done')", "  # TML504"),
        ("self.notes.put(number)", "print(self.notes.get())", "  # TML504"),
        ("print(number)", "while not self.notes.empty():\n    print(self.notes.get())", "  # TML504"),
        ("print(number)", "self.notes.put(1)", "  # TML504"),
        ("self.notes.get()", "self.notes.put(1)", ""),  # which waits until one is read
    ],
    ids=["one queue", "notes", "looks for notes", "tells nobody", "waits for an answer"],
)
def test_what_a_thread_reads_ahead(beside: str, asks: str, mark: str) -> None:
    check(CAMERA.format(beside=beside, asks=textwrap.indent(asks, 12 * " ").lstrip(), mark=mark))


def test_who_asks_and_waits_is_not_far_ahead() -> None:
    check(
        """
        import threading

        class Runner:
            def __init__(self, net):
                self.net, self.asked, self.answers = net, queue.Queue(), queue.Queue()
                threading.Thread(target=self.serve, daemon=True).start()

            def serve(self):
                while True:
                    with torch.inference_mode():
                        self.answers.put(self.net(self.asked.get()).sum().item())

            def run(self, x):
                self.asked.put(torch.randn(64, 64) + x)
                return self.answers.get()

        runner = Runner(nn.Linear(64, 64))
        for x in range(1000):
            print(runner.run(x))
        """
    )
