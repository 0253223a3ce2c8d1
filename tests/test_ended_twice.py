"""Tables from which a method takes what ends by itself, beside another one that only ends it."""

from __future__ import annotations

import pytest
from snippets import check

MANAGER = """
class State:
    def __init__(self, embeds):
        self.embeds, self.finished, self.reason = embeds, False, ""

class Manager:
    def __init__(self):
        self.model = Net().eval()
        self.states = {{}}

    @torch.inference_mode()
    def submit(self, request_id, x):
        self.states[request_id] = State(self.model(x)){mark}

    def on_output(self, request_ids):
        for request_id in request_ids:
            state = self.states[request_id]
            state.finished = True
            del self.states[request_id]

    def on_abort(self, request_id):
        {abort}

    def waited(self, request_id):
        {after}

def main(steps):
    manager = Manager()
    for number in range(steps):
        manager.submit(number, torch.randn(64, 8))
        if number % 3:
            manager.on_output([number])
        else:
            manager.on_abort(number)
            manager.waited(number)
"""
ENDS = "state = self.states[request_id]; state.finished = True; state.reason = 'aborted'"


@pytest.mark.parametrize("abort", [ENDS, "self.states[request_id].finished = True"])
def test_what_is_aborted_stays(abort: str) -> None:
    check(MANAGER.format(abort=abort, after="pass", mark="  # TML311"))


@pytest.mark.parametrize(
    ("abort", "after"),
    [
        (f"{ENDS}; self.states.pop(request_id)", "pass"),
        ("state = self.states[request_id]; state.reason = 'aborted'", "pass"),  # it ends later, as the others do
        (ENDS, "state = self.states[request_id]\n        if state.finished:\n            del self.states[request_id]"),
    ],
)
def test_what_is_aborted_goes(abort: str, after: str) -> None:
    check(MANAGER.format(abort=abort, after=after, mark=""))
