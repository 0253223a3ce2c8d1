"""Entries of a queue that are taken out when their turn comes, which may be never."""

from __future__ import annotations

from snippets import check

QUEUE = """
import heapq
import time

class Item:
    def __init__(self, number, priority, prompt: torch.Tensor):
        self.number = number
        self.priority = priority
        self.prompt = prompt

    def __lt__(self, other):
        return self.priority < other.priority

class Scheduler:
    def __init__(self):
        self.waiting = []
        self.busy = False

    def add(self, item):
        {add}

    def poll(self, number):
        if not self.waiting or self.busy:
            return False
        if self.waiting[0].number == number:
            {take}
            return True
        return False

    def forget(self, number):
        self.waiting = [one for one in self.waiting if one.number != number]

class Router:
    def __init__(self, model):
        self.model = model
        self.scheduler = Scheduler()

    @torch.no_grad()
    def run(self, number, prompt: torch.Tensor):
        item = Item(number, 0, prompt)
        self.scheduler.add(item)
        end = time.monotonic() + 1
        granted = False
        while not granted and time.monotonic() < end:
            granted = self.scheduler.poll(item.number)
        if not granted:
            {late}
        return self.model(prompt).sum().item()

def main():
    router = Router(Net())
    for number in range(1000):
        try:
            print(router.run(number, torch.randn(64, 8)))
        except TimeoutError:
            print("late")
"""
HEAP = {"add": "heapq.heappush(self.waiting, item)", "take": "heapq.heappop(self.waiting)"}
LIST = {"add": "self.waiting.append(item)", "take": "self.waiting.pop(0)"}


def test_who_gives_up() -> None:
    for way in (HEAP, LIST):
        marked = {**way, "add": way["add"] + "  # TML303"}
        text = QUEUE.replace("    def forget(self, number):\n", "").replace(
            "        self.waiting = [one for one in self.waiting if one.number != number]\n", ""
        )
        check(text.format(**marked, late='raise TimeoutError("late")'))


def test_who_tells_so() -> None:
    for way in (HEAP, LIST):
        check(QUEUE.format(**way, late='self.scheduler.forget(number)\n            raise TimeoutError("late")'))
        check(QUEUE.format(**way, late="pass"))
