"""Timers that keep what was dropped before they fire; `# TML314` says what is due."""

from __future__ import annotations

import pytest
from snippets import check

SESSIONS = """
import threading
from functools import partial

TTL = 600.0

class Session:
    def __init__(self, manager, key):
        self.key, self.audio = key, torch.zeros(4, 4)
        {own}

    def feed(self, chunk):
        self.audio = torch.cat([self.audio, chunk]).detach()

class Manager:
    def __init__(self):
        self.sessions, self.timers, self.waiting = {{}}, {{}}, {{}}

    def open(self, key):
        session = Session(self, key)
        self.sessions[key] = session
        {opened}
        return session

    def expire(self, session):
        self.sessions.pop(session.key, None)

    def forget(self, key):
        print(self.sessions[key])

    def close(self, session):
        {closed}

def main(chunks):
    manager = Manager()
    for key, chunk in enumerate(chunks):
        session = manager.open(key)
        session.feed(chunk)
        manager.close(session)
"""
POP = "self.sessions.pop(session.key, None)"
KEEPING = {
    "an attribute": (
        "self.timer = threading.Timer(TTL, manager.expire, (self,)); self.timer.start()  # TML314",
        "pass",
    ),
    "nothing": ("threading.Timer(120, manager.expire, args=[self]).start()  # TML314", "pass"),
    "a method of its own": ("t = threading.Timer(TTL, partial(manager.expire, self)); t.start()  # TML314", "pass"),
    "by the manager": ("pass", "threading.Timer(TTL, self.expire, args=(session,)).start()  # TML314"),
    "by a lambda": ("pass", "threading.Timer(TTL, lambda: self.expire(session)).start()  # TML314"),
}
LETTING_GO = {
    "cancelled": (KEEPING["an attribute"][0], "session.timer.cancel(); " + POP),
    "cancelled by another name": (KEEPING["an attribute"][0], "timer = session.timer; timer.cancel(); " + POP),
    "dropped by the timer alone": (KEEPING["an attribute"][0], "session.audio = None"),
    "another table": (KEEPING["an attribute"][0], "self.waiting.pop(session.key, None)"),
    "a short time": ("threading.Timer(2, manager.expire, args=[self]).start()", POP),
    "a key": ("threading.Timer(TTL, manager.forget, args=[self.key]).start()", POP),
}


@pytest.mark.parametrize("case", KEEPING)
def test_timers_that_keep_what_was_dropped(case: str) -> None:
    own, opened = KEEPING[case]
    check(SESSIONS.format(own=own, opened=opened, closed=POP))


@pytest.mark.parametrize("case", LETTING_GO)
def test_timers_that_do_not(case: str) -> None:
    own, closed = LETTING_GO[case]
    check(SESSIONS.format(own=own.replace("  # TML314", ""), opened="pass", closed=closed))
