"""Connections to an object's own signals, and handlers of those of the process."""

from __future__ import annotations

import pytest
from snippets import check

VIEWER = """
from PySide6.QtCore import QObject, Signal

class Viewer(QObject):
    saved = Signal(str)

    def __init__(self, worker):
        super().__init__()
        worker.detected.connect(self.show)

    def show(self, frame):
        {}

    def snapshot(self):
        self.saved.emit("frame")
"""


def test_a_connection_for_each_frame() -> None:
    check(VIEWER.format("self.saved.connect(lambda path: torch.save(frame, path))  # TML314"))


@pytest.mark.parametrize(
    "body",
    [
        "self.saved.disconnect(); self.saved.connect(lambda path: torch.save(frame, path))",
        "self.saved.connect(lambda path: print(path))",
        "button = self.button(); button.clicked.connect(lambda: torch.save(frame, 'x'))",
        "self.latest = frame",
    ],
)
def test_connections_that_keep_nothing(body: str) -> None:
    check(VIEWER.format(body))


def test_a_connection_made_once() -> None:
    text = VIEWER.format("self.saved.connect(lambda path: torch.save(frame, path))")
    check(text.replace("detected.connect(self.show)", "run()"))


GUARD = """
import signal

class Guard:
    def __init__(self, model, number=signal.SIGUSR1):
        self.number, self.model = number, model
        previous = signal.getsignal(number)

        def save(caught, frame):
            torch.save(self.model.state_dict(), "last.pt")
            previous(caught, frame)

        self.previous = previous
        signal.signal(number, save){}

    def close(self):
        {}

def jobs(seeds):
    for seed in seeds:
        guard = Guard(Net())
        guard.close()
"""


@pytest.mark.parametrize(
    ("close", "told"),
    [
        ("print(self.number)", "  # TML314"),
        ("signal.signal(signal.SIGTERM, self.previous)", "  # TML314"),
        ("signal.signal(self.number, self.previous)", ""),
    ],
)
def test_a_handler_that_is_put_back_by_the_number_that_was_kept(close: str, told: str) -> None:
    check(GUARD.format(told, close))
