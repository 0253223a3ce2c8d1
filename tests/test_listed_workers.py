"""Objects with workers of their own that pile up or are replaced, and what keeps one entry for each thread or task."""

from __future__ import annotations

import textwrap

import pytest
from snippets import check

IMPORTS = """
import concurrent.futures
import multiprocessing as mp
import threading
from dataclasses import dataclass
"""


def _check(text: str) -> None:
    check(textwrap.dedent(IMPORTS) + textwrap.dedent(text))


FEED = """
class Feed:
    def __init__(self, loader):
        self.loader, self.queue, self.over, self.threads = loader, queue.Queue(2), threading.Event(), []

    def work(self):
        while not self.over.is_set():
            batch = next(self.loader)
            while not self.over.is_set():
                try:
                    self.queue.put(batch, timeout=0.2)
                    break
                except queue.Full:
                    continue

    def _start(self):
        thread = threading.Thread(target=self.work, daemon=True)
        self.threads.append(thread)
        thread.start()

    def __next__(self):
        if not self.threads:
            self._start()
        return self.queue.get()

    def _finish(self):
        self.over.set()

class Trainer:
    def __init__(self, make):
        self.make, self.feed, self.means = make, None, []

    def epoch(self, seed):
        {before}
        self.feed = Feed(self.make(seed)){mark}
        for _ in range(4):
            self.means.append(next(self.feed).mean().item())

    def on_end(self):
        {after}

def main(make, epochs):
    trainer = Trainer(make)
    for epoch in range(epochs):
        trainer.epoch(epoch)
        trainer.on_end()
    if trainer.feed is not None:
        trainer.feed._finish()
"""


@pytest.mark.parametrize(
    ("before", "after", "mark"),
    [
        ("pass", "pass", "  # TML505"),
        ("self.feed and self.feed._finish()", "pass", ""),
        ("pass", "self.feed._finish()", ""),
        ("pass", "finish(self.feed)", ""),
    ],
)
def test_the_last_one_is_ended_and_none_before(before: str, after: str, mark: str) -> None:
    _check(FEED.format(before=before, after=after, mark=mark))


MANAGERS = """
def serve(pipe, shards):
    while True:
        asked = pipe.recv()
        if asked is None:
            break
        pipe.send(torch.load(shards[asked]))

class Manager:
    def __init__(self, shards):
        self.pipe, other = mp.Pipe()
        self.process = mp.Process(target=serve, args=(other, shards))
        self.process.start()

    def ask(self, index):
        self.pipe.send(index)
        return self.pipe.recv()

    def stop(self):
        self.pipe.send(None)

class Shards:
    def __init__(self, shards):
        self.shards, self.managers = shards, []

    def __iter__(self):
        self.managers.append(Manager(self.shards)){mark}
        for index in range(len(self.shards)):
            yield self.managers[-1].ask(index)
        {after}
"""


@pytest.mark.parametrize(
    ("after", "mark"),
    [("return", "  # TML408"), ("self.managers[-1].stop()", ""), ("end_all(self.managers)", "")],
)
def test_managers_in_a_list(after: str, mark: str) -> None:
    _check(MANAGERS.format(after=after, mark=mark))


SAVES = """
@dataclass
class Save:
    step: int
    future: concurrent.futures.Future

class Saver:
    def __init__(self):
        self.executor = concurrent.futures.ThreadPoolExecutor(1)
        self.saves = []

    def write(self, step, state):
        torch.save(state, f"{{step}}.pt")
        return state

    def save(self, step, model):
        state = {{name: value.clone() for name, value in model.state_dict().items()}}
        future = self.executor.submit(self.write, step, state)
        self.saves.append(Save(step, future)){mark}

    def wait(self):
        for save in self.saves:
            save.future.result()
        {after}

def train(model, steps):
    saver = Saver()
    for step in range(steps):
        saver.save(step, model)
        saver.wait()
    saver.executor.shutdown()
"""


@pytest.mark.parametrize(("after", "mark"), [("return", "  # TML503"), ("self.saves.clear()", "")])
def test_futures_in_records_of_their_tasks(after: str, mark: str) -> None:
    _check(SAVES.format(after=after, mark=mark))


SCRATCH = """
class Scratch:
    def __init__(self):
        self.table = {{}}

    def get(self):
        current = threading.current_thread()
        if current not in self.table:
            self.table[current] = torch.zeros(3, 256, 256){mark}
        return self.table[current]

class Server:
    def __init__(self):
        self.scratch, self.answers = Scratch(), []

    def handle(self, item):
        self.answers.append((self.scratch.get() + item).mean().item())

    def serve(self, items):
        for {item} in items:
            threading.Thread(target=self.handle, args=({item},)).start()

def main(items):
    Server().serve(items)
"""


@pytest.mark.parametrize(("item", "mark"), [("request", "  # TML311"), ("rank", "")])
def test_a_thread_for_each_request_and_one_for_each_rank(item: str, mark: str) -> None:
    _check(SCRATCH.format(item=item, mark=mark))


HOSTS = """
def serve(host, conn):
    {loop}
        conn.send(torch.zeros(3) * len(command))

class Hosts:
    def __init__(self):
        self.processes, self.conns = {{}}, {{}}

    def connect(self, hosts):
        for host in hosts:
            ours, theirs = mp.Pipe()
            process = mp.Process(target=serve, args=(host, theirs))
            process.start()
            self.processes[host.name] = process{mark}
            self.conns[host.name] = ours

    def finish(self):
        for name, conn in self.conns.items():
            conn.send({word})
"""
LEFT = """while True:
        command = conn.recv()
        if command {test}:
            break"""


@pytest.mark.parametrize(
    ("loop", "word", "guilty"),
    [
        (LEFT.format(test='== "exit"'), '"exit"', False),
        (LEFT.format(test="is None"), "None", False),
        ('for command in iter(conn.recv, "exit"):', '"exit"', False),
        ('while (command := conn.recv()) != "exit":', '"exit"', False),
        (LEFT.format(test='== "exit"'), '"work"', True),
        (LEFT.format(test='== "exit"').replace("break", "conn.send(0)"), '"exit"', True),
        ("while command := conn.recv() or True:", '"exit"', True),
    ],
)
def test_processes_that_are_told_to_end_by_a_word(loop: str, word: str, guilty: bool) -> None:
    _check(HOSTS.format(loop=loop, word=word, mark="  # TML408" * guilty))
