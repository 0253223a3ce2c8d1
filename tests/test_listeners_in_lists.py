"""Objects that a list has for a while, and the signal that they are connected to for good."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

VIEWER = """
class Signal:
    def __init__(self):
        self.slots = []

    def connect(self, slot):
        self.slots.append(slot)

    def disconnect(self, slot):
        self.slots.remove(slot)

    def emit(self, value):
        for slot in list(self.slots):
            slot(value)


class Layer:
    def __init__(self, changed, image):
        self.changed = changed
        self.logits = image.sigmoid()
        self.mask = self.logits > 0.5
        changed.connect(self.cut){mark}

    def cut(self, threshold):
        self.mask = self.logits > threshold

    def close(self):
        {closing}


class Viewer:
    def __init__(self):
        self.changed = Signal()
        self.layers = []

    def open(self, image):
        self.layers.append(Layer(self.changed, image))

    def close_last(self):
        {last}


def main(steps):
    viewer = Viewer()
    for step in range(steps):
        viewer.open(torch.rand(1, 256, 256))
        viewer.changed.emit(step / steps)
        viewer.close_last()
"""


@pytest.mark.parametrize("last", ["self.layers.pop().close()", "self.layers.pop()", "del self.layers[-1]"])
def test_the_list_lets_go_and_the_signal_does_not(last: str) -> None:
    check(VIEWER.format(last=last, closing="self.mask = None", mark="  # TML314"))


@pytest.mark.parametrize(
    ("last", "closing"),
    [
        ("self.layers.pop().close()", "self.changed.disconnect(self.cut)"),
        ("self.changed.disconnect(self.layers.pop().cut)", "self.mask = None"),
    ],
)
def test_both_let_go(last: str, closing: str) -> None:
    check_innocent(VIEWER.format(last=last, closing=closing, mark=""))
