"""Answers that wait for who asked, of which who breaks off is taken out of another table only."""

from __future__ import annotations

import pytest
from snippets import check

EXECUTOR = """
class Executor:
    def __init__(self):
        self.model = Net().eval()
        self.sizes, self.outputs, self.gone = {{}}, {{}}, set()

    def add(self, rid, size):
        self.sizes[rid] = size

    def abort(self, rid):
        {abort}

    def step(self):
        for rid, size in list(self.sizes.items()):
            with torch.inference_mode():
                self.outputs[rid] = self.model(torch.rand(size, 8)){mark}
            self.sizes.pop(rid, None)

    def fetch(self, rid):
        return self.outputs.pop(rid)

class Server:
    def __init__(self):
        self.executor = Executor()

    def respond(self, rid, gone):
        {respond}

def main(requests):
    server = Server()
    for rid, gone in requests:
        server.executor.add(rid, 4)
        server.executor.step()
        server.respond(rid, gone)

main([("a", True), ("b", False)])
"""
INSTEAD = """if gone:
            self.executor.abort(rid)
            return None
        return self.executor.fetch(rid).mean().item()"""
BOTH = """if gone:
            self.executor.abort(rid)
        return self.executor.fetch(rid).mean().item()"""
ALONE = "self.sizes.pop(rid, None)"


@pytest.mark.parametrize("abort", [ALONE, ALONE + "; self.gone.add(rid)", "if rid in self.sizes: del self.sizes[rid]"])
def test_nobody_fetches_what_was_broken_off(abort: str) -> None:
    check(EXECUTOR.format(abort=abort, respond=INSTEAD, mark="  # TML311"))


@pytest.mark.parametrize(
    ("abort", "respond"),
    [
        (ALONE + "; self.outputs.pop(rid, None)", INSTEAD),
        (ALONE, BOTH),
        (ALONE, INSTEAD.replace("return None", "return self.executor.fetch(rid)")),
        (ALONE, INSTEAD.replace("            self.executor.abort(rid)\n", "")),
        (ALONE + "; self.later(rid)\n\n    def later(self, rid):\n        self.outputs.pop(rid, None)", INSTEAD),
        (ALONE + "\n\n    def sweep(self):\n        [self.outputs.pop(r) for r in 'ab']", INSTEAD),
    ],
)
def test_somebody_takes_it_out(abort: str, respond: str) -> None:
    check(EXECUTOR.format(abort=abort, respond=respond, mark=""))
