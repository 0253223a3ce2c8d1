"""What an object gains whose thread never ends, though each call makes the object anew."""

from __future__ import annotations

import pytest
from snippets import check

CAMERA = """
import threading

class Camera:
    def __init__(self, url):
        self.frames, self.on = [], True
        {starts}

    def update(self):
        while {goes_on}:
            self.frames.append(torch.rand(3, 48, 64)){mark}
            {then}

    def read(self):
        return self.frames[-1]

@torch.no_grad()
def detect(model, url):
    camera = Camera(url)
    for _ in range(100):
        print(model(camera.read()[None]).argmax())
    camera.on = False
"""
STARTS, MARK = "threading.Thread(target=self.update, daemon=True).start()", "  # TML303"
CASES = {
    "all frames": (STARTS, "True", "pass", MARK),
    "the last ones": (STARTS, "True", "self.frames = self.frames[-4:]", ""),
    "until it is told": (STARTS, "self.on", "pass", ""),
    "no thread": ("self.update()", "len(self.frames) < 8", "pass", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_frames_of_cameras(case: str) -> None:
    starts, goes_on, then, mark = CASES[case]
    check(CAMERA.format(starts=starts, goes_on=goes_on, then=then, mark=mark))
