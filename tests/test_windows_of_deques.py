"""Deques that wait until there are enough for a window: they have no slices, so the window is cut out of a list."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

WINDOW = """
class Window:
    def __init__(self, size):
        self.size, self.frames = size, deque({limit})

    def push(self, frame):
        self.frames.append(frame)
        if len(self.frames) < self.size:
            return None
        {reads}

def main(steps):
    window = Window(4)
    for _ in range(steps):
        print(window.push(torch.randn(64, 64)))
"""
LAST = "return torch.stack(list(self.frames)[-self.size :]).mean()"


def test_a_window_of_what_only_grows() -> None:
    check(WINDOW.format(limit="", reads=LAST).replace("append(frame)", "append(frame)  # TML303"))


@pytest.mark.parametrize(
    ("limit", "reads"),
    [
        ("maxlen=4", LAST),
        ("", f"self.frames.popleft()\n        {LAST}"),
        ("", "whole = torch.stack(list(self.frames)).mean()\n        self.frames.clear()\n        return whole"),
    ],
    ids=["limited", "taken out", "emptied"],
)
def test_windows_with_an_end(limit: str, reads: str) -> None:
    check_innocent(WINDOW.format(limit=limit, reads=reads))
