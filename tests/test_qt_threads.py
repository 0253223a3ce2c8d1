"""Qt threads with an event loop that nothing ends: `# TML505` where another one is started each time."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_WINDOW = """
import torch
from PySide6.QtCore import QEventLoop, QObject, QThread, Signal

class Depth(QObject):
    done = Signal(object)

    def __init__(self, model, picture):
        super().__init__()
        self.model, self.picture = model, picture

    def estimate(self):
        with torch.no_grad():
            self.done.emit(self.model(self.picture).argmax().item())

class Window(QObject):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.running = []

    def {name}(self, picture):
        thread = QThread({parent})
        worker = Depth(self.model, picture)
        worker.moveToThread(thread)
        thread.started.connect(worker.estimate)
        {more}
        {kept}
        thread.start(){mark}

    def wait(self, worker):
        loop = QEventLoop()
        worker.done.connect(loop.quit)
        loop.exec()
"""
_GIVEN = {
    "name": "open",
    "parent": "",
    "more": "worker.done.connect(self.show)",
    "kept": "self.running.append((thread, worker))",
    "mark": "  # TML505",
}


@pytest.mark.parametrize(
    "change",
    [{}, {"parent": "self", "kept": "self.worker = worker"}, {"kept": "self.running[picture] = thread"}],
    ids=["in a list", "of a parent", "in a table"],
)
def test_nothing_tells_it_to_quit(change: dict[str, str]) -> None:
    check(_WINDOW.format(**{**_GIVEN, **change}))


@pytest.mark.parametrize(
    "change",
    [
        {"more": "worker.done.connect(thread.quit)"},
        {"name": "__init__"},
        {"kept": "self.thread = thread"},
        {"more": "worker.done.connect(lambda: worker.thread().quit())"},
    ],
    ids=["connected", "once", "one at a time", "by the worker"],
)
def test_a_thread_that_ends(change: dict[str, str]) -> None:
    check_innocent(_WINDOW.format(**{**_GIVEN, "mark": "", **change}))
