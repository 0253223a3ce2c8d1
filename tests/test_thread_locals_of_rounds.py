"""What tasks put into a container of their thread's own, made where it is missing, while a loop hands them in."""

from __future__ import annotations

import pytest
from snippets import check

SERVICE = """
import threading
from concurrent.futures import ThreadPoolExecutor

class Service:
    def __init__(self):
        self.model = nn.Linear(8, 8)
        self.own = threading.local()
        self.pool = ThreadPoolExecutor(max_workers=4)

    @torch.no_grad()
    def score(self, x):
        {made}
        {filled}
        return {answer}

def main(batches):
    service = Service()
    for x in batches:
        print(service.pool.submit(service.score, x).result())
"""
MISSING = 'if not hasattr(self.own, "seen"):\n            self.own.seen = []'
ADDS, MARK = "self.own.seen.append(self.model(x))", "  # TML502"
CASES = {
    "made when it is missing": (MISSING, ADDS + MARK, "len(self.own.seen)"),
    "by another name": (MISSING, f"seen = self.own.seen\n        seen.append(self.model(x)){MARK}", "len(seen)"),
    "made for each task": ("self.own.seen = []", ADDS, "self.own.seen[0].mean().item()"),
    "emptied by each task": (MISSING, ADDS, "self.own.seen.pop().mean().item()"),
    "numbers": (MISSING, "self.own.seen.append(self.model(x).mean().item())", "sum(self.own.seen)"),
}


@pytest.mark.parametrize("case", CASES)
def test_thread_locals_of_rounds(case: str) -> None:
    made, filled, answer = CASES[case]
    check(SERVICE.format(made=made, filled=filled, answer=answer))
