"""Queues that are filled faster than they are read, and those that are held back."""

from __future__ import annotations

import pytest
from snippets import check

QUEUED = """
import threading, time

class Reader(threading.Thread):
    def __init__(self, out, count, room):
        super().__init__()
        self.out, self.count, self.room = out, count, room
        self.short, self.long = 0.01, 5

    def run(self):
        for index in range(self.count):
            {}

class Asking:
    def __init__(self):
        self.tasks, self.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            self.answers.put(self.tasks.get().mean().item())

    def ask(self, x: torch.Tensor):
        self.tasks.put(x)

    def answer(self):
        return self.answers.get()

def make(depth=0):
    return queue.Queue(depth)

def main(count):
    frames = make()
    Reader(frames, count, threading.Semaphore(4)).start()
    asking = Asking()
    for _ in range(count):
        asking.ask(frames.get())
        print(asking.answer())
"""
NOT_HELD_BACK = [
    "self.out.put(torch.rand(64, 64))  # TML504",
    "self.out.put(torch.rand(64, 64)); time.sleep(0.01)  # TML504",
    "if self.out.qsize() > 4:\n                time.sleep(0.01)\n"
    "            self.out.put(torch.rand(64, 64))  # TML504",
    "if self.out.qsize() > 4:\n                time.sleep(self.short)\n"
    "            self.out.put(torch.rand(64, 64))  # TML504",
]
HELD_BACK = [
    "if self.out.qsize() > 4:\n                time.sleep(self.long)\n            self.out.put(torch.rand(64, 64))",
    "self.out.put(torch.rand(64, 64)); self.room.acquire()",
    "self.out.put(torch.rand(64, 64))\n            while len(self.out.queue) > 4:\n                time.sleep(0.01)",
    "self.out.put(index); time.sleep(0.01)",
    "if self.out.qsize() > 4:\n                time.sleep(5)\n            self.out.put(torch.rand(64, 64))",
    "if self.out.qsize() > 4:\n                time.sleep(0.1)\n                continue\n"
    "            self.out.put(torch.rand(64, 64))",
    "while self.out.qsize() > 4:\n                time.sleep(0.1)\n            self.out.put(torch.rand(64, 64))",
    "if self.out.qsize() < 4:\n                self.out.put(torch.rand(64, 64))",
    "if self.out.qsize() > 4:\n                self.out.get()\n            self.out.put(torch.rand(64, 64))",
]
CLIPS = """
import multiprocessing as mp
import numpy as np

CONTEXT = mp.get_context("spawn")

class Clip({}):
    def __init__(self, out, done, count):
        super().__init__(daemon=True)
        self.out, self.done, self.count = out, done, count

    def run(self):
        base = np.zeros((64, 64))
        for number in range(self.count):
            self.out.put((number, np.roll(base, number)))  # TML504
        self.done.put(number)

def main(count, model):
    frames, done = CONTEXT.Queue(), CONTEXT.Queue()
    clip = Clip(frames, done, count)
    clip.start()
    for _ in range(count):
        number, frame = frames.get()
        print(model(torch.from_numpy(frame)).argmax().item())
"""


@pytest.mark.parametrize("line", NOT_HELD_BACK)
def test_queues_that_fill_up(line: str) -> None:
    check(QUEUED.format(line))


@pytest.mark.parametrize("line", HELD_BACK)
def test_queues_that_stay_short(line: str) -> None:
    check(QUEUED.format(line))
    check(QUEUED.format(NOT_HELD_BACK[0].partition("  #")[0]).replace("depth=0", "depth=4"))


@pytest.mark.parametrize("base", ["mp.Process", "CONTEXT.Process", 'mp.get_context("fork").Process'])
def test_queues_that_a_process_fills(base: str) -> None:
    check(CLIPS.format(base))
    check(
        CLIPS.format(base)
        .replace("frames, done = CONTEXT.Queue()", "frames, done = CONTEXT.Queue(8)")
        .replace("  # TML504", "")
    )


ANSWERED = """
import torch
import torch.multiprocessing as mp

def answer(asked, out, stop):
    {}:
        out.put(torch.rand(64, 64))

def main(count):
    asked, out, stop = mp.Queue(), mp.Queue(), mp.Event()
    mp.Process(target=answer, args=(asked, out, stop), daemon=True).start()
    for number in range(count):
        asked.put(number)
        print(out.get().mean().item())
"""
ROUNDS = [
    ("while (number := asked.get()) is not None", False),
    ("for number in iter(asked.get, None)", False),
    ("while asked.get(timeout=1)", False),
    ("while not stop.wait(0.1)", True),
    ("for number in range(9)", True),
]


@pytest.mark.parametrize(("rounds", "ahead"), ROUNDS)
def test_loops_that_begin_with_waiting_for_a_request(rounds: str, ahead: bool) -> None:
    text = ANSWERED.format(rounds)
    check(text.replace("64))", "64))  # TML504") if ahead else text)


SEVERAL = """
import queue
import threading
import torch
import torch.multiprocessing as mp

class Server:
    def __init__(self, model, count):
        self.model = model
        self.asked = [mp.Queue() for _ in range(count)]
        self.out = mp.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            for asked in self.asked:
                try:
                    x = asked.{look}
                except queue.Empty:
                    continue
                with torch.no_grad():
                    self.out.put(self.model(x)){mark}
                del x
"""


def test_a_thread_that_looks_into_several_queues_for_a_moment() -> None:
    check(SEVERAL.format(look="get(True, 0.001)", mark=""))
    check(SEVERAL.format(look="peek(0)", mark="  # TML504"))
