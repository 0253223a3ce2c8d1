"""Prefetchers that are left in the middle: their thread waits for room in a queue that nobody reads."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

PREFETCH = """
import itertools, threading
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

def batches(n):
    for _ in range(n):
        yield torch.rand(8, 8)

class Ahead(threading.Thread):
    def __init__(self, source, depth=2):
        super().__init__(daemon=True)
        self.room: Queue = Queue(maxsize=depth)
        self.source = source
        self.start()

    def run(self):
        for item in self.source:
            self.room.put(item)
        self.room.put(None)

    def stop(self):
        self.source = ()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def __iter__(self):
        while (item := self.room.get()) is not None:
            yield item

class Buffered:
    def __init__(self, source, depth):
        self.buffer = Queue(depth)
        threading.Thread(target=self._fill, args=(source,), daemon=True).start()

    def _fill(self, source):
        for item in source:
            self._hand_over(item)

    def _hand_over(self, item):
        self.buffer.put(item, True)

    def __iter__(self):
        while True:
            yield self.buffer.get()

class EachPass:
    def __init__(self, source):
        self.source = source

    def _fill(self, buffer):
        for item in self.source:
            buffer.put(item)
        buffer.put(None)

    def __iter__(self):
        buffer = Queue(2)
        threading.Thread(target=self._fill, args=(buffer,), daemon=True).start()  # each pass
        while (item := buffer.get()) is not None:
            yield item

def ahead(source):
    items = Queue(4)

    def fill():
        for item in source:
            items.put(item)
        items.put(None)

    threading.Thread(target=fill, daemon=True).start()  # ahead
    while (item := items.get()) is not None:
        yield item

def safe(source):
    slots = Queue(4)
    done = threading.Event()

    def feed():
        for item in source:
            if done.is_set():
                return
            slots.put(item)
        slots.put(None)

    threading.Thread(target=feed, daemon=True).start()
    try:
        while (item := slots.get()) is not None:
            yield item
    finally:
        done.set()
        slots.get()

def endless_room(source):
    wide = Queue()

    def pour():
        for item in source:
            wide.put(1)

    threading.Thread(target=pour, daemon=True).start()
    while True:
        yield wide.get()

class Loop:
    def __init__(self, model):
        self.model = model
        self.each = EachPass(batches(9))

    def some(self, limit):
{}

    def train(self, epochs):
        for _ in range(epochs):
            print(self.some(3))
"""
LEFT = {
    "break": """
        found = Ahead(batches(50))  # TML505
        for number, item in enumerate(found):
            if number >= limit:
                break
        """,
    "return from the loop": """
        found = Ahead(batches(50))  # TML505
        for item in found:
            if item.mean() > 0.5:
                return item
        """,
    "islice": """
        found = Buffered(batches(50), 4)  # TML505
        for item in itertools.islice(found, limit):
            print(item.mean())
        """,
    "zip with a range": """
        found = Buffered(batches(50), 4)  # TML505
        for item, _ in zip(found, range(limit)):
            print(item.mean())
        """,
    "a generator": """
        for number, item in enumerate(ahead(batches(50))):
            if number >= limit:
                break
        """,
    "a generator with a name": """
        stream = ahead(batches(50))
        for item in stream:
            if item.mean() > 0.5:
                return item
        """,
    "a new thread in each pass": """
        for item in self.each:
            if item.mean() > 0.5:
                return item
        """,
}
# Nobody but a generator can end what it starts.
STARTED = {"a generator": "# ahead", "a generator with a name": "# ahead", "a new thread in each pass": "# each pass"}
DONE = {
    "read to the end": """
        for item in Ahead(batches(50)):
            print(item.mean())
        """,
    "breaks at the end that the producer sends": """
        for item in Ahead(batches(50)):
            if item is None:
                break
        """,
    "stopped": """
        found = Ahead(batches(50))
        for item in found:
            if item.mean() > 0.5:
                break
        found.stop()
        """,
    "entered": """
        with Ahead(batches(50)) as found:
            for item in found:
                if item.mean() > 0.5:
                    break
        """,
    "handed over": """
        found = Ahead(batches(50))
        for item in found:
            if item.mean() > 0.5:
                break
        return found
        """,
    "a generator that ends its thread": """
        for item in safe(batches(50)):
            if item.mean() > 0.5:
                break
        """,
    "room for all": """
        for item in endless_room(batches(50)):
            if item > 0:
                break
        """,
    "a break in a loop of its own": """
        for item in Ahead(batches(50)):
            for row in item:
                if row.mean() > 0.5:
                    break
        """,
}


def program(body: str) -> str:
    return PREFETCH.format(textwrap.indent(textwrap.dedent(body), "        "))


@pytest.mark.parametrize("case", LEFT)
def test_prefetchers_that_are_left(case: str) -> None:
    text = program(LEFT[case])
    if case in STARTED:
        text = text.replace(STARTED[case], "# TML505")
    check(text)


@pytest.mark.parametrize("case", DONE)
def test_prefetchers_that_are_not(case: str) -> None:
    check(program(DONE[case]))


def test_prefetchers_that_are_left_once() -> None:
    for case in LEFT.values():
        check(program(case).replace("for _ in range(epochs)", "if epochs").replace("  # TML505", ""))


def test_puts_that_give_up() -> None:
    text = program(LEFT["break"]).replace("self.room.put(item)", "self.room.put(item, timeout=5)")
    check(text.replace("  # TML505", ""))
    check(text.replace("self.room.put(item, timeout=5)", "self.room.put(item, block=False)").replace("  # TML505", ""))


PACKED = """
import multiprocessing
from multiprocessing import Process

CONTEXT = multiprocessing.get_context("spawn")

def pack(out, number):
    for _ in range(number):
        out.put(torch.rand(8, 8))
    out.put(None)

class Packed:
    def __init__(self, number):
        self.number = number

    def __iter__(self):
        rows = CONTEXT.Queue(maxsize=2)
        worker = {process}(target=pack, args=(rows, self.number), daemon=True)
        worker.start(){mark}
        {guard}:
            while (row := rows.get()) is not None:
                yield row
        {after}

def epoch(data, limit):
    for number, rows in enumerate(data):
        print(rows.mean())
        if {until}:
            break

def train(epochs):
    for _ in range(epochs):
        epoch({given}, 3)
"""
FORMS = {
    "made for the call": {},
    "made before": {"given": "data", "make": "data = Packed(9)\n    for"},
    "without a context": {"process": "Process"},
}
FINE = {
    "ended": {"guard": "try", "after": "finally:\n            worker.terminate()"},
    "read to the end": {"until": "rows is None"},
    "given something else": {"given": "[torch.rand(8, 8)]"},
}


def packed(mark: str = "", make: str = "for", **parts: str) -> str:
    plain = {"process": "CONTEXT.Process", "guard": "if True", "after": "worker.join()", "until": "number == limit"}
    text = PACKED.format(**{**plain, "given": "Packed(9)", "mark": mark, **parts})
    return text.replace("    for _ in range(epochs)", f"    {make} _ in range(epochs)")


@pytest.mark.parametrize("form", FORMS)
def test_processes_that_fill_for_a_reader_who_leaves(form: str) -> None:
    check(packed("  # TML505", **FORMS[form]))


@pytest.mark.parametrize("form", FINE)
def test_processes_that_end(form: str) -> None:
    check(packed(**FINE[form]))


OWN_THREAD = """
import itertools, threading
from queue import Queue

class Feeder(threading.Thread):
    def __init__(self, room, source):
        super().__init__(daemon=True)
        self.out, self.source = room, source
        self.ended = threading.Event()

    def run(self):
        for item in self.source:
            self.out.put(item)
            if self.ended.is_set():
                return

class Buffered:
    def __init__(self, source):
        self.room = Queue(4)
        self.feeder = Feeder(self.room, source)
        self.feeder.start()

    def __iter__(self):
        return self

    def __next__(self):
        return self.room.get()

    def close(self):
        self.feeder.ended.set()
        while not self.room.empty():
            self.room.get()
        self.feeder.join()

def batch_of(batches):
    found = next(iter(batches))
    return found.float()

def drained(batches):
    return torch.cat(list(batches))

def validate(source, wanted):
    data = Buffered(source){mark}
    {read}
        print(x.mean().item())
    {end}

def main(source, epochs):
    for _ in range(epochs):
        validate(source, 3)
"""
READS = {
    "a few": "for x in itertools.islice(data, wanted):",
    "one after the other": "for _ in range(wanted):\n        x = next(data)",
    "by a helper": "for _ in range(wanted):\n        x = batch_of(data)",
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_thread_with_a_class_of_its_own(read: str) -> None:
    check(OWN_THREAD.format(mark="  # TML505", read=read, end="return wanted"))
    check(OWN_THREAD.format(mark="", read=read, end="data.close()"))


def test_a_helper_that_takes_all() -> None:
    check(OWN_THREAD.format(mark="", read="for _ in range(wanted):\n        x = drained(data)", end="return wanted"))


def test_as_many_as_there_are() -> None:
    check(OWN_THREAD.format(mark="", read="for _ in range(len(source)):\n        x = next(data)", end="return wanted"))
