"""A limit that lets one entry go, after a loop that may have added many."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

PLAYER = """
import random

LIMIT = 64
SHARED = []

class World:
    def __init__(self, size=32):
        self.size, self.at = size, 0

    def reset(self):
        self.at = 0
        return torch.zeros(self.size, self.size)

    def step(self, action):
        self.at += 1
        return torch.rand(self.size, self.size), self.at == self.size

class Player:
    def __init__(self, world, limit=LIMIT):
        self.world, self.limit, self.rows = world, limit, {made}
        self.net = nn.Linear(32, 4)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def play(self):
        state, done = self.world.reset(), False
        while not done:
            with torch.no_grad():
                action = self.net(state).argmax()
            after, done = self.world.step(action)
            {adds}
            {each}
            state = after

    def learn(self):
        rows = random.sample({rows}, min(16, len({rows})))
        loss = self.net(torch.stack([row[0] for row in rows])).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def evict(self):
        {evict}

    def train(self, episodes):
        for _ in range(episodes):
            self.play()
            {limits}
            self.learn()

def main(episodes):
    Player(World()).train(episodes)
"""
OWN = "self.rows.append((state, after))"
MISSED = {
    "pop": ("[]", OWN, "if len(self.rows) > self.limit: self.rows.pop(0)"),
    "popleft": ("deque()", OWN, "if len(self.rows) >= self.limit: self.rows.popleft()"),
    "del": ("[]", OWN, "if self.limit < len(self.rows): del self.rows[0]"),
    "one of two tests": ("[]", OWN, "if self.limit and len(self.rows) > self.limit: self.rows.pop(0)"),
    "by a method": ("[]", OWN, "self.evict()"),
    "of the module": ("[]", "SHARED.append((state, after))", "if len(SHARED) > LIMIT: SHARED.pop(0)"),
}
KEPT_SHORT = {
    "while": ("[]", OWN, "while len(self.rows) > self.limit: self.rows.pop(0)"),
    "for": ("[]", OWN, "for _ in range(len(self.rows) - self.limit): self.rows.pop(0)"),
    "cut": ("[]", OWN, "if len(self.rows) > self.limit: del self.rows[:-self.limit]"),
    "the last ones": ("[]", OWN, "if len(self.rows) > self.limit: self.rows = self.rows[-self.limit:]"),
    "by itself": ("deque(maxlen=64)", OWN, "if len(self.rows) > self.limit: self.rows.popleft()"),
    "both": ("[]", OWN, "if len(self.rows) > self.limit: self.rows.pop(0)\n            self.rows = self.rows[-99:]"),
}


def program(made: str, adds: str, limits: str, note: str, each: str = "pass") -> str:
    rows = "SHARED" if "SHARED" in adds else "self.rows"
    evict = "if len(self.rows) > self.limit: self.rows.pop(0)" if "evict" in limits else "pass"
    return PLAYER.format(made=made, adds=adds + note, limits=limits, each=each, rows=rows, evict=evict)


@pytest.mark.parametrize("made, adds, limits", MISSED.values(), ids=MISSED)
def test_one_goes_for_all_that_have_come(made: str, adds: str, limits: str) -> None:
    check(program(made, adds, limits, "  # TML301" if "SHARED" in adds else "  # TML303"))


@pytest.mark.parametrize("made, adds, limits", KEPT_SHORT.values(), ids=KEPT_SHORT)
def test_as_many_go_as_are_too_much(made: str, adds: str, limits: str) -> None:
    check_innocent(program(made, adds, limits, ""))


def test_one_goes_for_each_that_has_come() -> None:
    check_innocent(program("[]", OWN, "pass", "", "if len(self.rows) > self.limit: self.rows.pop(0)"))


WORK = """
class Search:
    def __init__(self):
        self.open = []

    def run(self, net, first: torch.Tensor, rounds):
        self.open.append(first)
        for _ in range(rounds):
            {takes}
            for row in range(4):
                self.open.append(net(first[row]).detach())

def main(rounds):
    Search().run(Net(), torch.randn(8, 8), rounds)
"""


@pytest.mark.parametrize("takes", ["first = self.open.pop(0)", "if len(self.open) > 1: first = self.open.pop()"])
def test_work_that_is_taken_up(takes: str) -> None:
    check_innocent(WORK.format(takes=takes))


BANK = """
class Bank:
    def __init__(self, limit=24):
        self.limit, self.rows = limit, []

    def put(self, row):
        self.rows.append(row){note}

    def trim(self):
        {test} len(self.rows) > self.limit:
            self.rows.pop(0)

@torch.inference_mode()
def main(clips):
    net, bank = Net().eval(), Bank()
    for frames in clips:
        for frame in frames:
            bank.put(net(frame))
            {each}
        bank.trim()
    return bank.rows[-1]
"""


def test_one_goes_for_all_that_a_clip_has_brought() -> None:
    check(BANK.format(test="if", each="pass", note="  # TML303"))
    check_innocent(BANK.format(test="while", each="pass", note=""))
    check_innocent(BANK.format(test="if", each="bank.trim()", note=""))
