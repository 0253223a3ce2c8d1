"""Threads that wait for the next item in a `try`, in time, or on a condition, with the last item still bound."""

from __future__ import annotations

import pytest
from snippets import check

ENCODER = """
import queue
import threading

class Encoder:
    def __init__(self):
        self.model = nn.Linear(8, 8).eval()
        self.requests, self.norms, self.waiting = queue.Queue(maxsize=8), queue.Queue(), []
        self.ready, self.stopped = threading.Condition(), False
        threading.Thread(target=self.serve, daemon=True).start()

    @torch.inference_mode()
    def serve(self):
        while not self.stopped:
            {get}
            batch = torch.rand(rows, 8)
            self.norms.put(self.model(batch).norm().item())
            {end}

    def encode(self, rows):
        self.requests.put(rows)
        return self.norms.get()
"""
IN_TIME = """
            try:
                rows = self.requests.get(timeout=1){mark}
            except queue.Empty:
                {late}"""
MARK = "  # TML502"
CONDITION = """
            with self.ready:
                while not self.waiting:
                    self.ready.wait()  # TML502
                rows = self.waiting.pop(0)"""


@pytest.mark.parametrize(
    "get",
    [
        "rows = self.requests.get()  # TML502",
        IN_TIME.format(mark=MARK, late="continue"),
        IN_TIME.format(mark=MARK, late="print('idle'); continue"),
        CONDITION,
    ],
)
def test_what_is_bound_while_nothing_comes(get: str) -> None:
    check(ENCODER.format(get=get.strip(), end="pass"))


@pytest.mark.parametrize(
    ("get", "end"),
    [
        (IN_TIME.format(mark="", late="batch = None; continue"), "pass"),
        (IN_TIME.format(mark="", late="break"), "pass"),
        (IN_TIME.format(mark="", late="return"), "pass"),
        (IN_TIME.format(mark="", late="continue"), "del batch"),
        (CONDITION.replace(MARK, "").replace("self.ready.wait()", "batch = None; self.ready.wait()"), "pass"),
        ("batch = None; rows = self.requests.get()", "pass"),
    ],
)
def test_what_is_let_go_of_first(get: str, end: str) -> None:
    check(ENCODER.format(get=get.strip(), end=end))
