"""Connections to an object's own signals."""

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
