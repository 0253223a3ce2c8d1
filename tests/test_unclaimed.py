"""Entries that go only if somebody comes for them."""

from __future__ import annotations

import pytest
from snippets import check

STORE = """
import time

class Session:
    def __init__(self, state):
        self.state, self.touched = state, time.monotonic()

class Store:
    def __init__(self, ttl=60.0):
        self.sessions, self.ttl = {{}}, ttl

    def get(self, visitor):
        session = self.sessions.get(visitor)
        if session is None:
            return None
        if {test}:
            {drop}
            return None
        return {given}

    def put(self, visitor, state):
        {sweep}
        self.sessions[visitor] = Session(state){told}

@torch.no_grad()
def main():
    model, store = Net().eval(), Store()
    for number in range(1000):
        user = f"user {{number}}"
        session = store.get(user)
        x = torch.zeros(64, 8) if session is None else session.state
        store.put(user, model(x))
"""
OLD = "time.monotonic() - session.touched > self.ttl"
DROP = "del self.sessions[visitor]"


def store(test: str = OLD, drop: str = DROP, given: str = "session", sweep: str = "pass", told: str = "") -> str:
    return STORE.format(test=test, drop=drop, given=given, sweep=sweep, told=told)


@pytest.mark.parametrize("drop", [DROP, "self.sessions.pop(visitor)", "self.sessions.pop(visitor, None)"])
def test_what_has_expired_goes_when_it_is_asked_for(drop: str) -> None:
    check(store(drop=drop, told="  # TML311"))


@pytest.mark.parametrize(
    "text",
    [
        store(sweep="self.sessions = {key: one for key, one in self.sessions.items() if one.touched > 0}"),
        store(sweep="self.sessions.pop(next(iter(self.sessions), None), None)"),
        store(test="session.state is None"),  # closed, by its owner
        store(given="None"),  # it gives nothing out: it is there to take out
    ],
)
def test_what_goes_otherwise(text: str) -> None:
    check(text)


BROKER = """
import threading

class Broker:
    def __init__(self, model):
        self.model, self.answers = model.eval(), {{}}
        self.ready, self.events, self.gone = threading.Condition(), {{}}, set()

    def fetch(self, request, timeout=1.0):
        {waits}
            {gives_up}
        return self.answers.pop(request)

    @torch.no_grad()
    def serve(self, requests):
        for request in requests:
            answer = self.model(torch.rand(64, 8))
            {put}{told}
            self.ready.notify_all()

def main():
    broker = Broker(Net())
    for number in range(1000):
        broker.serve([number])
        try:
            broker.fetch(number)
        except TimeoutError as error:
            print(error)
"""
IN_A_LOOP = """while request not in self.answers:
            if not self.ready.wait(timeout):
                raise TimeoutError(request)"""
FOR_AN_EVENT = """if not self.events[request].wait(timeout):
            raise TimeoutError(request)"""
PUT = "self.answers[request] = answer"


def broker(waits: str, gives_up: str = "pass", put: str = PUT, told: str = "") -> str:
    return BROKER.format(waits=waits, gives_up=gives_up, put=put, told=told)


@pytest.mark.parametrize("waits", [IN_A_LOOP, FOR_AN_EVENT])
def test_who_waits_gives_up(waits: str) -> None:
    *head, last = waits.splitlines()
    check(broker("\n".join(head), last.strip() if waits == FOR_AN_EVENT else f"    {last.strip()}", told="  # TML311"))


@pytest.mark.parametrize(
    "text",
    [
        broker("while request not in self.answers:", "self.ready.wait(timeout)"),
        broker("if not self.events[request].wait(timeout):", "return self.gone.add(request)"),
        broker("if not self.events[request].wait(timeout):", "self.answers.pop(request, None); raise TimeoutError"),
        broker(
            "if not self.events[request].wait(timeout):",
            "raise TimeoutError",
            put="if request in self.events: self.answers[request] = answer",
        ),
    ],
)
def test_nobody_gives_up_or_somebody_is_told(text: str) -> None:
    check(text)


BOUND = """came = self.events[request].wait(timeout)
        self.events.pop(request)
        if not came:"""
ASKED = """event = self.events.get(request)
            if {test}:
                continue
            self.answers[request] = answer"""


@pytest.mark.parametrize(
    ("waits", "gives_up", "put"),
    [
        (BOUND, "raise TimeoutError(request)", PUT),
        (BOUND, "return None", PUT),
        (BOUND, "raise TimeoutError(request)", f"event = self.events.get(request)\n            {PUT}"),
        (BOUND, "raise TimeoutError(request)", ASKED.format(test="self.model is None")),
    ],
)
def test_what_the_wait_says_has_a_name(waits: str, gives_up: str, put: str) -> None:
    text = broker(waits, gives_up, put)
    check(text.replace(PUT, f"{PUT}  # TML311"))


@pytest.mark.parametrize(
    ("waits", "gives_up", "put"),
    [
        (
            BOUND.replace("if not came", "answer = self.answers.pop(request, None)\n        if not came"),
            "raise TimeoutError",
            PUT,
        ),
        (BOUND, "self.answers.pop(request, None); raise TimeoutError", PUT),
        (BOUND.replace(".wait(timeout)", ".wait()"), "raise TimeoutError", PUT),
        (BOUND, "raise TimeoutError", ASKED.format(test="event is None")),
        (BOUND, "raise TimeoutError", ASKED.format(test="not event")),
        (BOUND, "raise TimeoutError", ASKED.format(test="request not in self.events")),
    ],
)
def test_who_puts_it_there_is_told_or_the_answer_is_taken(waits: str, gives_up: str, put: str) -> None:
    check(broker(waits, gives_up, put))
