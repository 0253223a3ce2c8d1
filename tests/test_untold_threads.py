"""Threads that nobody can tell to stop, of objects that are made again and again."""

from __future__ import annotations

import textwrap

import pytest
from snippets import codes

IMPORTS = """\
import cv2
import queue
import threading
import time
from threading import Thread
"""

FLAG = """
class Player(threading.Thread):
    def __init__(self, net, sink):
        super().__init__(daemon=True)
        self.net, self.sink = net, sink
        self.running = True
        self.wake = threading.Event()
        self.last = None
    def run(self):
        while self.running:
            if not self.wake.wait(0.2):
                continue
            self.wake.clear()
            self.last = self.net(torch.randn(4, 64))
            self.sink.append(float(self.last.mean()))
class Desk:
    def __init__(self, net):
        self.net, self.players, self.levels = net, {}, []
    def joined(self, name):
        self.players[name] = Player(self.net, self.levels)
        self.players[name].start()
    def left(self, name):
        %s
def main(steps):
    desk = Desk(nn.Linear(64, 64))
    for i in range(steps):
        desk.joined(str(i))
        desk.left(str(i))
"""

EVENT = """
def hand_over(source, ready, done):
    while True:
        if done.is_set():
            return
        try:
            ready.put(source(), timeout=0.1)
        except queue.Full:
            continue
class Feeder:
    def __init__(self, source):
        self.source = source
        self.worker, self.done = None, None
    def __iter__(self):
        return self
    def __next__(self):
        if self.worker is None:
            self._begin()
        return self.ready.get()
    def _begin(self):
        self.ready = queue.Queue(2)
        self.done = threading.Event()
        self.worker = threading.Thread(target=hand_over, args=(self.source, self.ready, self.done), daemon=True)
        self.worker.start()
    def finish(self):
        %s
def fold(number):
    feeder = Feeder(lambda: torch.randn(64, 64))
    total = sum(float(next(feeder).mean()) for _ in range(3))
    feeder.finish()
    return total
def main(steps):
    print([fold(i) for i in range(steps)])
"""

CAMERA = """
class Cameras:
    def __init__(self, urls):
        self.frames = [None] * len(urls)
        for i, url in enumerate(urls):
            cap = cv2.VideoCapture(url)
            Thread(target=self.update, args=(i, cap), daemon=True).start()
    def update(self, i, cap):
        n = 0
        while cap.isOpened() and n < float("inf"):
            n += 1
            cap.grab()
            _, self.frames[i] = cap.retrieve()%s
    def __iter__(self):
        return self
    def __next__(self):
        return self.frames
class Detector:
    def __init__(self, net):
        self.net, self.cameras = net, None
    def set_source(self, urls):
        self.cameras = Cameras(urls)
    def stream(self, urls):
        self.set_source(urls)
        for frames in self.cameras:
            yield self.net(torch.stack([torch.from_numpy(f) for f in frames]))
    def __call__(self, urls):
        return self.stream(urls)
def main(steps):
    detector = Detector(nn.Linear(8, 8))
    for i in range(steps):
        for k, out in enumerate(detector([str(i)])):
            if k == 3:
                break
"""

GUILTY = [
    FLAG % "self.players.pop(name)",
    EVENT % "self.worker = None",
    CAMERA % "",
]

INNOCENT = [
    FLAG % "self.players.pop(name).running = False",
    FLAG % "self.players[name].running = False; del self.players[name]",
    # somebody else gets the flag by name
    FLAG % "setattr(self.players.pop(name), 'running', False)",
    EVENT % "self.done.set(); self.worker.join()",
    EVENT % "stop_all(self.done)",
    # the worker sees the end of its source
    EVENT.replace("        try:\n", "        if source is None:\n            break\n        try:\n")
    % "self.worker = None",
    CAMERA % "\n            if self.frames[i] is None:\n                break",
    CAMERA.replace("self.cameras = Cameras(urls)", "self.cameras = self.cameras or Cameras(urls)")
    % "\n        cap.release()",
    # one for each key, or one for all
    FLAG.replace(
        "self.players[name] = Player(self.net, self.levels)\n        self.players[name].start()",
        "if name not in self.players:\n            self.players[name] = Player(self.net, self.levels)\n"
        "            self.players[name].start()",
    )
    % "pass",
    EVENT.replace("    feeder = Feeder(lambda: torch.randn(64, 64))\n", "").replace(
        "def fold(number):", "feeder = Feeder(lambda: torch.randn(64, 64))\ndef fold(number):"
    )
    % "self.worker = None",
    # a set of workers for the whole run
    """
    class Worker(Thread):
        def __init__(self, jobs):
            super().__init__(daemon=True)
            self.jobs, self.alive = jobs, True
        def run(self):
            while self.alive:
                self.jobs.get()()
    def main(steps):
        jobs = queue.Queue(8)
        workers = []
        for _ in range(4):
            worker = Worker(jobs)
            worker.start()
            workers.append(worker)
    """,
]


@pytest.mark.parametrize("source", GUILTY)
def test_a_thread_that_nobody_tells_to_stop_stays(source: str) -> None:
    assert "TML505" in codes(IMPORTS + textwrap.dedent(source))


@pytest.mark.parametrize("source", INNOCENT)
def test_what_is_told_or_ends_or_is_made_once_does_not(source: str) -> None:
    assert "TML505" not in codes(IMPORTS + textwrap.dedent(source))
