"""Signals of what lives longer, to which a function is connected that refers to what is made each time."""

from __future__ import annotations

import pytest
from snippets import check

PANELS = """
from functools import partial
from PySide6.QtCore import QObject, Signal

class Settings(QObject):
    changed = Signal(str)

class Panel(QObject):
    closed = Signal()

    def __init__(self, settings, image):
        super().__init__()
        self.heat = image.mean(0)
        {connect}
        self.closed.connect(self.deleteLater)

    def draw(self, theme, scale=1):
        return self.heat.sum().item() * scale

class Window:
    def __init__(self):
        self.settings = Settings()
        self.theme = ""
        self.settings.changed.connect(lambda name: self.keep(name))
        self.panel = None

    def keep(self, name):
        self.theme = name

    def show(self, image):
        if self.panel is not None:
            self.panel.closed.emit()
        panel = Panel(self.settings, image)
        {there}
        self.panel = panel

def main(steps):
    window = Window()
    for _ in range(steps):
        window.show(torch.rand(3, 128, 128))
"""


@pytest.mark.parametrize(
    ("connect", "there"),
    [
        ("settings.changed.connect(lambda name: self.draw(name))  # TML314", "pass"),
        ("settings.changed.connect(partial(self.draw, scale=2))  # TML314", "pass"),
        ("pass", "self.settings.changed.connect(lambda name: panel.draw(name))  # TML314"),
    ],
)
def test_what_the_older_one_keeps(connect: str, there: str) -> None:
    check(PANELS.format(connect=connect, there=there))


@pytest.mark.parametrize(
    ("connect", "there"),
    [
        ("settings.changed.connect(self.draw)", "pass"),
        ("settings.changed.connect(lambda name: print(name))", "pass"),
        ("slot = lambda n: self.draw(n); settings.changed.connect(slot); settings.changed.disconnect(slot)", "pass"),
    ],
)
def test_what_it_does_not_keep(connect: str, there: str) -> None:
    check(PANELS.format(connect=connect, there=there))
