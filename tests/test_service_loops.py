"""Lists that a worker fills while it serves, and timers that start themselves anew."""

from __future__ import annotations

import pytest
from snippets import check

WORKER = """
import threading

class Worker:
    def __init__(self, model: nn.Module):
        self.model = model
        self.items, self.results = queue.Queue(8), queue.Queue(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        seen = []
        while True:
            item = self.items.get()
            if item is None:
                break
            with torch.no_grad():
                out = self.model(item)
            {kept}
            self.results.put(out.argmax().item())
            del item, out
        {after}

    def close(self):
        self.items.put(None)
"""


@pytest.mark.parametrize(
    ("kept", "after"),
    [
        pytest.param("seen.append(out)  # TML502", "self.items.task_done()", id="that nothing reads"),
        pytest.param("seen.append(out.mean().item())", "self.items.task_done()", id="of numbers"),
        pytest.param("seen.append(out)", "self.results.put(torch.cat(seen))", id="that is joined in the end"),
        pytest.param(
            "seen.append(out)\n            if len(seen) > 8: seen.clear()", "self.items.task_done()", id="emptied"
        ),
    ],
)
def test_lists_of_a_worker(kept: str, after: str) -> None:
    check(WORKER.format(kept=kept, after=after))


TICKER = """
import threading

class Ticker:
    def __init__(self, model: nn.Module, probe):
        self.model, self.probe = model, probe
        self.rows, self.timer = [], None

    def tick(self):
        with torch.no_grad():
            out = self.model(self.probe)
        {keep}
        self.timer = threading.Timer(5.0, self.{next})
        self.timer.daemon = True
        self.timer.start()

    def rest(self):
        pass

    def stop(self):
        self.timer.cancel()

def main():
    ticker = Ticker(Net(), torch.rand(1, 8))
    ticker.tick()
    input()
    ticker.stop()
"""


@pytest.mark.parametrize(
    ("keep", "following"),
    [
        pytest.param("self.rows.append(out)  # TML303", "tick", id="that keeps all"),
        pytest.param("self.rows = [out]", "tick", id="that keeps the last"),
    ],
)
def test_timers_that_start_themselves_anew(keep: str, following: str) -> None:
    check(TICKER.format(keep=keep, next=following))
