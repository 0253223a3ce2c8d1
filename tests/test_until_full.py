"""Lists of what waits for room in a queue: they grow where more is added than the other end takes."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

SENDER = """
from collections import deque
from queue import Full, Queue

class Learner:
    def __init__(self):
        self.inbox = Queue(maxsize=4)

class Sender:
    def __init__(self, learner):
        self.learner, self.waiting = learner, {made}

    def send(self, rollout):
{add}
{hand_on}

    def other(self):
{other}

def main(steps):
    sender = Sender(Learner())
    for _ in range(steps):
        sender.send(torch.rand(64, 64))
"""
ADD = "self.waiting.append(torch.relu(rollout)){mark}"
BY_NAME = """
while self.waiting:
    item = self.waiting[0]
    try:
        self.learner.inbox.put(item, timeout=0.01)
        self.waiting.pop(0)
    except Full:
        break
"""
ALL = """
try:
    while self.waiting:
        self.learner.inbox.put_nowait(self.waiting[0])
        self.waiting.popleft()
except queue.Full:
    return
"""
DELETED = """
while self.waiting:
    try:
        self.learner.inbox.put_nowait(self.waiting[0])
        del self.waiting[0]
    except Full:
        return
"""


def sender(hand_on: str, *, made: str = "[]", add: str = ADD, other: str = "return 1", guilty: bool = False) -> str:
    text = SENDER.replace("{hand_on}", textwrap.indent(hand_on.strip("\n"), 8 * " "))
    text = text.replace("{add}", textwrap.indent(add.replace("{mark}", "  # TML303" if guilty else ""), 8 * " "))
    return text.replace("{other}", textwrap.indent(other, 8 * " ")).replace("{made}", made)


GUILTY = {
    "by a name": sender(BY_NAME, guilty=True),
    "all in one try": sender(ALL, made="deque()", guilty=True),
    "deleted": sender(DELETED, guilty=True),
}
INNOCENT = {
    "it waits for room": sender(
        BY_NAME.replace(", timeout=0.01", "")
        .replace("    try:\n    ", "")
        .replace("        self", "    self")
        .replace("    except Full:\n        break\n", "")
    ),
    "a deque with a limit": sender(ALL, made="deque(maxlen=8)"),
    "no more than so many": sender(
        BY_NAME, add="if len(self.waiting) < 8:\n    self.waiting.append(torch.relu(rollout))"
    ),
    "the oldest goes elsewhere": sender(BY_NAME, other="return self.waiting.pop(0)"),
    "what has no room is dropped": sender(BY_NAME.replace("        break", "        self.waiting.clear()")),
}


@pytest.mark.parametrize("name", GUILTY)
def test_what_waits_for_room(name: str) -> None:
    check(GUILTY[name])


@pytest.mark.parametrize("name", INNOCENT)
def test_what_does_not_pile_up(name: str) -> None:
    check(INNOCENT[name])
