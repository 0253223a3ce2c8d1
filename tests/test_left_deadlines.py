"""Timers over one piece of work each: those that go on when it is done, and those that somebody cancels or wants."""

from __future__ import annotations

import pytest
from snippets import PRELUDE, codes

PROGRAM = """
import asyncio
import contextlib
import os
import threading
from functools import partial
from threading import Timer

LIMIT = 45.0

class Late(Exception):
    pass

class Job:
    def __init__(self, frames):
        self.frames, self.answer, self.failed = frames, None, None
    def fail(self, why):
        self.failed = why
    def overdue(self):
        print("late", self)
    def give_up(self):
        self.fail(TimeoutError())

class Desk:
    def __init__(self, net, seconds=LIMIT, short=2):
        self.net, self.seconds, self.short, self.jobs = net, seconds, short, dict()
    @torch.no_grad()
    def work(self, job):
        job.answer = self.net(job.frames).argmax().item()
    def on_timeout(self, job):
        print("late", job)
    def forget(self, job):
        self.jobs.pop(id(job), None)
    def check(self, job):
        print("still there", job)

    {}

def main(batches, net):
    desk = Desk(net.eval())
    for frames in batches:
        desk.serve(Job(frames))
"""

LEFT = [
    """
    def serve(self, job):
        def late():
            job.fail(TimeoutError("too late"))
        timer = threading.Timer(self.seconds, late)
        timer.start()
        self.work(job)
    """,
    """
    def serve(self, job):
        Timer(60, self.on_timeout, (job,)).start()
        self.work(job)
        return job.answer
    """,
    """
    def serve(self, job):
        watch = Timer(self.seconds, job.overdue)
        watch.daemon = True
        watch.name = "watch"
        watch.start()
        try:
            self.work(job)
        except ValueError:
            print("failed")
    """,
    """
    def serve(self, job):
        Timer(LIMIT, lambda: job.give_up()).start()
        self.work(job)
    """,
    """
    def serve(self, job, timeout=90):
        timer = threading.Timer(timeout, partial(job.fail, "late"))
        timer.start()
        self.work(job)
    """,
    """
    def serve(self, job):
        self.watch(job)
        self.work(job)
    def watch(self, job):
        timer = threading.Timer(self.seconds, self.on_timeout, args=[job])
        timer.daemon = True
        timer.start()
    """,
    """
    @contextlib.contextmanager
    def limited(self, job):
        timer = threading.Timer(self.seconds, self.on_timeout, kwargs=dict(job=job))
        timer.start()
        yield job
    def serve(self, job):
        with self.limited(job):
            self.work(job)
    """,
    """
    async def serve(self, job):
        asyncio.get_running_loop().call_later(120, self.on_timeout, job)
        await asyncio.to_thread(self.work, job)
    """,
]
NOT_LEFT = [
    """
    def serve(self, job):
        timer = threading.Timer(self.seconds, self.on_timeout, (job,))
        timer.start()
        try:
            self.work(job)
        finally:
            timer.cancel()
    """,
    """
    def serve(self, job):
        timer = threading.Timer(self.seconds, self.on_timeout, (job,))
        timer.start()
        job.done = timer.cancel
        self.work(job)
    """,
    """
    def serve(self, job):
        with self.watch(job):
            self.work(job)
    @contextlib.contextmanager
    def watch(self, job):
        timer = threading.Timer(self.seconds, self.on_timeout, (job,))
        timer.start()
        yield
        timer.cancel()
    """,
    """
    def serve(self, job):
        timer = self.watch(job)
        self.work(job)
        timer.cancel()
    def watch(self, job):
        timer = threading.Timer(self.seconds, self.on_timeout, (job,))
        timer.start()
        return timer
    """,
    """
    def serve(self, job):
        with contextlib.ExitStack() as stack:
            timer = threading.Timer(self.seconds, self.on_timeout, (job,))
            stack.callback(timer.cancel)
            timer.start()
            self.work(job)
    """,
    """
    def serve(self, job):
        timer = threading.Timer(self.short, self.on_timeout, (job,))
        timer.start()
        self.work(job)
    """,
    """
    def serve(self, job):
        Timer(2, self.on_timeout, (job,)).start()
        self.work(job)
    """,
    """
    def serve(self, job):
        self.jobs[id(job)] = job
        Timer(self.seconds, self.forget, (job,)).start()
        self.work(job)
        job.frames = None
    """,
    """
    def serve(self, job):
        Timer(self.seconds, self.check, (job,)).start()
        self.work(job)
    """,
    """
    def serve(self, job):
        self.work(job)
        Timer(self.seconds, self.on_timeout, (job.answer,)).start()
    """,
    """
    def serve(self, job):
        self.work(job)
    def start(self):
        Timer(self.seconds, self.on_timeout, (self,)).start()
        self.work(self.first)
    """,
    """
    async def serve(self, job):
        handle = asyncio.get_running_loop().call_later(120, self.on_timeout, job)
        await asyncio.to_thread(self.work, job)
        handle.cancel()
    """,
]


@pytest.mark.parametrize("method", LEFT)
def test_timers_that_go_on_when_the_work_is_done(method: str) -> None:
    assert "TML505" in codes(PROGRAM.format(method.strip()), PRELUDE)


@pytest.mark.parametrize("method", NOT_LEFT)
def test_timers_that_do_not_or_are_to(method: str) -> None:
    assert not codes(PROGRAM.format(method.strip()), PRELUDE)
