"""Queues that who puts looks at first, and the limit of which may be missing; `# TML504` says what is due."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import check_project
from snippets import check, check_innocent

INBOX = """
import queue
import threading
import torch

class Inbox:
    def __init__(self, work, most=None):
        self.work, self.lost = work, 0
        self.most = most
        self.waiting = queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def add(self, frame):
        {}

    def run(self):
        while True:
            self.work(self.waiting.get())
"""
FEED = """
def show(frame):
    print(frame.mean().item())

def main(count, given):
    inbox = {made}
    for number in range(count):
        inbox.add({frame})
        {then}
"""
PUTS = "self.waiting.put(frame)"
KEPT = {
    "a loop takes out": f"""while self.most is not None and self.waiting.qsize() >= self.most:
            self.waiting.get_nowait()
            self.lost += 1
        {PUTS}""",
    "a loop within": f"""if self.most is not None:
            while self.waiting.qsize() >= self.most:
                self.waiting.get_nowait()
        {PUTS}""",
    "an if within": f"""if self.most:
            if self.waiting.qsize() > self.most:
                self.waiting.get_nowait()
        {PUTS}""",
    "a loop sleeps": f"""while self.most and self.waiting.qsize() >= self.most:
            time.sleep(0.01)
        {PUTS}""",
    "none is put": f"""if self.most is not None and self.waiting.qsize() >= self.most:
            return
        {PUTS}""",
    "none is put, within": f"""if self.most is not None:
            if self.most <= self.waiting.qsize():
                return
        {PUTS}""",
    "while there is room": f"""if self.most is None or self.waiting.qsize() < self.most:
            {PUTS}""",
    "two ways": f"""if self.most is None:
            {PUTS}
            return
        if not self.waiting.qsize() > self.most:
            {PUTS}""",
    "by a name": f"""there = self.waiting.qsize()
        if self.most is not None and there > self.most:
            return
        {PUTS}""",
}


def program(added: str, made: str, frame: str = "torch.rand(64, 64)", then: str = "pass") -> str:
    return INBOX.format(added) + FEED.format(made=made, frame=frame, then=then)


@pytest.mark.parametrize("added", KEPT.values(), ids=KEPT.keys())
def test_a_limit_that_is_not_given(added: str) -> None:
    check(program(added, "Inbox(show)  # TML504"))
    check(program(added, "Inbox(show, None)  # TML504", then="time.sleep(0.01)"))


@pytest.mark.parametrize("added", KEPT.values(), ids=KEPT.keys())
def test_a_limit_that_is_given(added: str) -> None:
    check_innocent(program(added, "Inbox(show, most=4)"))
    check_innocent(program(added, "Inbox(show, given)"))
    check_innocent(program(added, "Inbox(show)").replace("most=None", "most=4"))


@pytest.mark.parametrize(
    "more",
    [
        {"frame": "number"},
        {"then": "inbox.waiting.join()"},
        {"then": "while len(inbox.waiting.queue) > 4:\n            time.sleep(0.1)"},
        {"made": "Inbox(show)\n    inbox.most = given"},
    ],
    ids=["small", "waits", "sleeps while many are there", "set later"],
)
def test_limits_that_nobody_needs(more: dict[str, str]) -> None:
    check_innocent(program(KEPT["a loop takes out"], **{"made": "Inbox(show)", **more}))


@pytest.mark.parametrize(
    "added",
    [
        f"if self.waiting.qsize() > 4:\n            print('many')\n        {PUTS}",
        f"if self.waiting.qsize() > 4:\n            {PUTS}",
        f"if self.lost > 4:\n            return\n        {PUTS}",
    ],
    ids=["only said", "when there are many", "another number"],
)
def test_looks_that_limit_nothing(added: str) -> None:
    check(program(added.replace(PUTS, f"{PUTS}  # TML504"), "Inbox(show)"))


PUSH = """
def push(waiting, frame, most=None):
    while most is not None and waiting.qsize() >= most:
        waiting.get_nowait()
    waiting.put(frame)
"""
PUSHES = """
import queue
import threading
import torch
from inbox import push

def run(waiting):
    while True:
        print(waiting.get().mean().item())

def main(count):
    waiting = queue.Queue()
    threading.Thread(target=run, args=(waiting,), daemon=True).start()
    for _ in range(count):
        push(waiting, torch.rand(64, 64){})
"""
HUB = """
class Hub:
    def __init__(self):
        self.inboxes = {}

    def listen(self, topic, work, most=None):
        inbox = Inbox(work, most)
        self.inboxes.setdefault(topic, []).append(inbox)

    def send(self, topic, frame):
        for inbox in self.inboxes.get(topic, ()):
            inbox.add(frame)
"""
LISTENS = """
import time
import torch
from inbox import Hub

def show(frame):
    print(frame.mean().item())

def main(count):
    hub = Hub()
    hub.listen("frames", show{})
    hub.listen("numbers", print, most=2)
    for number in range(count):
        hub.send("frames", torch.rand(64, 64))
        hub.send("numbers", number)
        time.sleep(0.01)
"""


@pytest.mark.parametrize(("given", "due"), [("", True), (", most=None", True), (", most=4", False)])
def test_limits_across_files(given: str, due: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = {
        "inbox.py": INBOX.format(KEPT["a loop takes out"]) + HUB,
        "feed.py": LISTENS.format(given).replace(f"show{given})", f"show{given}){'  # TML504' if due else ''}"),
    }
    check_project(hub, tmp_path / "hub", monkeypatch)
    pushed = {
        "inbox.py": PUSH,
        "feed.py": PUSHES.format(given).replace(f"64){given})", f"64){given}){'  # TML504' if due else ''}"),
    }
    check_project(pushed, tmp_path / "push", monkeypatch)
