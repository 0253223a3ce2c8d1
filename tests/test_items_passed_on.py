"""Threads that hold an item while they wait, which they only pass on, and that their owner ends: one more among those
that lie before and after it. What a round makes for itself, and what nobody ends, is another matter."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check, check_innocent, codes

STATION = """
import threading

class Station:
    def __init__(self, net, call):
        self.net, self.call = net.eval(), call
        self.inbox, self.outbox, self.done = queue.Queue(maxsize=8), queue.Queue(maxsize=8), {{}}
        self.lock, self.halted = threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    @torch.inference_mode()
    def work(self):
        while not self.halted.is_set():
{works}

    def file(self, number, value):
        with self.lock:
            self.done[number] = value

    def give(self, number):
        self.inbox.put((number, torch.rand(256, 8)))

    def close(self):
        self.halted.set()
        {end}

station = Station(Net(), print)
for number in range(100):
    station.give(number)
station.close()
"""
JOINED, LEFT = "self.thread.join(timeout=5)", "pass"
PASSED_ON = {
    "to a callback": "number, x = self.inbox.get(){mark}\nself.call(x)",
    "in time": """
        try:
            job = self.inbox.get(timeout=0.1){mark}
        except queue.Empty:
            continue
        self.call(job)
        """,
    "a part of it": "job = self.inbox.get(){mark}\nx = job[1]\nself.call(number=job[0], x=x)",
    "what is made of it, into a table": """
        number, _ = self.inbox.get(){mark}
        y = self.net(torch.rand(64, 8))
        with self.lock:
            self.done[number] = y
        """,
    "... by a method": "number, _ = self.inbox.get(){mark}\ny = self.net(torch.rand(64, 8))\nself.file(number, y)",
    "... into a queue": """
        number, _ = self.inbox.get(){mark}
        y = self.net(torch.rand(64, 8))
        self.outbox.put((number, y))
        """,
    "... to who waits": "answer, _ = self.inbox.get(){mark}\ny = self.net(torch.rand(64, 8))\nanswer.set_result(y)",
}
KEPT = {
    "what nobody gets": """
        number, _ = self.inbox.get(){mark}
        y = self.net(torch.rand(64, 8))
        self.call(y.argmax(1).tolist())
        """,
    "of which a number goes on": """
        answer, x = self.inbox.get(){mark}
        y = self.net(torch.rand(64, 8))
        answer.set_result(y.mean().item())
        """,
}


def station(works: str, end: str, mark: str = "") -> str:
    return STATION.format(works=textwrap.indent(textwrap.dedent(works).strip(), 12 * " ").format(mark=mark), end=end)


@pytest.mark.parametrize("works", PASSED_ON.values(), ids=PASSED_ON)
def test_what_a_thread_passes_on_that_its_owner_ends(works: str) -> None:
    check_innocent(station(works, JOINED))
    check_innocent(station(works, "for one in (self.thread,):\n            one.join()"))


@pytest.mark.parametrize("end", [LEFT, "self.inbox.join()", "print(', '.join(('all', 'done')))"])
@pytest.mark.parametrize("works", PASSED_ON.values(), ids=PASSED_ON)
def test_what_a_thread_passes_on_that_nobody_ends(works: str, end: str) -> None:
    check(station(works, end, "  # TML502"))


@pytest.mark.parametrize("end", [JOINED, LEFT])
@pytest.mark.parametrize("works", KEPT.values(), ids=KEPT)
def test_what_a_thread_makes_for_itself(works: str, end: str) -> None:
    check(station(works, end, "  # TML502"))


def test_what_has_a_graph() -> None:
    works = PASSED_ON["... into a queue"]
    check_innocent(station(works, JOINED))
    recorded = station(works, JOINED).replace("    @torch.inference_mode()\n", "")
    assert codes(recorded) == {"TML201", "TML502"}


SUBCLASS = """
import threading

class Scorer(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.inbox = queue.Queue(maxsize=8)

    def run(self):
        for x in iter(self.inbox.get, None):{mark}
            print(float(x.mean()))

    def stop(self):
        self.inbox.put(None)
        {end}

scorer = Scorer()
scorer.start()
for _ in range(100):
    scorer.inbox.put(torch.rand(64, 64))
scorer.stop()
"""


@pytest.mark.parametrize(("end", "mark"), [("self.join()", ""), ("print('told')", "  # TML502")])
def test_a_class_that_is_a_thread(end: str, mark: str) -> None:
    check(SUBCLASS.format(end=end, mark=mark))
