"""Threads that are started first, and given losses through a queue later."""

from __future__ import annotations

import pytest
from snippets import check

LOGGED = """
import threading

class Logger(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.inbox, self.rows = queue.Queue(16), []

    def run(self):
        total = 0.0
        while True:
            item = self.inbox.get()
            if item is None:
                break
            {of_class}
            del item

def work(inbox, rows):
    total = 0.0
    for item in iter(inbox.get, None):
        {of_function}
        del item

def main(batches):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {start}
    for x in batches:
        loss = model(x).mean()
        optimizer.zero_grad()
        {trained}
        optimizer.step()
        inbox.put({put})
    inbox.put(None)

main(torch.rand(9, 4, 8))
"""
OF_CLASS = "logger = Logger(); logger.start(); inbox = logger.inbox"
OF_FUNCTION = "inbox = queue.Queue(16); threading.Thread(target=work, args=(inbox, [])).start()"


def program(kept: str, put: str, start: str, trained: str = "loss.backward()") -> str:
    lines = (kept, "pass") if start == OF_CLASS else ("pass", kept)
    return LOGGED.format(of_class=lines[0], of_function=lines[1], put=put, start=start, trained=trained)


@pytest.mark.parametrize("start", [OF_CLASS, OF_FUNCTION])
def test_what_a_thread_adds_up(start: str) -> None:
    check(program("total = total + item  # TML101", "loss", start))
    check(program("total = total + item", "loss.item()", start))
    check(program("total = total + float(item)", "loss", start))


def test_what_a_thread_differentiates() -> None:
    check(program("item.backward()", "loss", OF_CLASS, "pass"))
