"""Queues of which the one who puts something in takes out the one before; `# TML504` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

GRABBER = """
import threading

class Grabber(threading.Thread):
    def __init__(self, camera):
        super().__init__(daemon=True)
        self.camera, self.frames, self.paused = camera, queue.Queue(), False

    def run(self):
        while True:
            frame = torch.from_numpy(self.camera.read())
            {}
            self.frames.put(frame){}

def main(camera, steps):
    grabber = Grabber(camera)
    grabber.start()
    for _ in range(steps):
        print(grabber.frames.get().float().mean())
"""
TAKES = """if not self.frames.empty():
                try:
                    self.frames.get_nowait()
                except queue.Empty:
                    pass"""


@pytest.mark.parametrize("takes", [TAKES, TAKES.replace("not self.frames.empty()", "self.frames.qsize() > 2")])
def test_the_newest_frame_only(takes: str) -> None:
    check_innocent(GRABBER.format(takes, ""))


@pytest.mark.parametrize(
    "takes",
    ["pass", TAKES.replace("not self.frames.empty()", "self.paused"), TAKES.replace("frames.get", "camera.get")],
)
def test_every_frame(takes: str) -> None:
    check(GRABBER.format(takes, "  # TML504"))
