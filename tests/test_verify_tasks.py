"""Flagged lines that start threads and processes, run with stand-ins: which of them go on, and what a wait is for."""

from __future__ import annotations

import importlib.util

import pytest

if any(importlib.util.find_spec(name) is None for name in ("torch", "psutil")):
    pytest.skip("torch is not installed", allow_module_level=True)

from conftest import Judge

READER = """
import {module} as mp
import queue
import threading
import torch

def read(paths, rows, stopped):
    while {test}:
        {turn}

class Reader:
    def __init__(self, paths):
        self.rows, self.stopped = {queue}, mp.Event()
        self.worker = mp.{kind}(target=read, args=(paths, self.rows, self.stopped), daemon=True)
        self.worker.start()

    def close(self):
        {close}

def evaluate(model, paths):
    reader = Reader(paths)  # here
    score = model(reader.rows.get(){timeout})
    {end}
    return score
"""
PUT = "rows.put(torch.rand(4))"
KINDS = {
    "threads": {"module": "threading", "kind": "Thread", "queue": "queue.Queue(2)"},
    "processes": {"module": "multiprocessing", "kind": "Process", "queue": "mp.Queue(2)"},
    "processes of torch": {"module": "torch.multiprocessing", "kind": "Process", "queue": "mp.SimpleQueue()"},
    "processes of a context": {
        "module": "multiprocessing",
        "kind": "get_context('spawn').Process",
        "queue": "mp.Queue(2)",
    },
}
LEFT = {
    "nobody ends it": {},
    "it waits for more": {"turn": "rows.put(paths.get())"},
    "its flag is never set": {"test": "not stopped.is_set()"},
    "it is closed too late": {"test": "not stopped.is_set()", "end": "model.reader = reader"},
}
ENDED = {
    "it has been told by a flag": {
        "test": "not stopped.is_set()",
        "turn": "stopped.wait(0.01) or rows.put(1)",
        "end": "reader.close()",
    },
    "it ends by itself": {"test": "rows.qsize() < 2", "turn": PUT},
    "its text is unknown": {"test": "paths.more()", "turn": PUT},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LEFT)
def test_what_goes_on(judged: Judge, name: str, kind: str) -> None:
    verdict = judged(reader(**KINDS[kind], **LEFT[name]), "TML505" if kind == "threads" else "TML408")
    assert verdict.status == "growing" and verdict.scope == "call", verdict.reason
    said = f"goes on: 1 {'thread' if kind == 'threads' else 'process'} more at each of 24 hits"
    assert said in verdict.reason, verdict.reason


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ENDED)
def test_what_ends(judged: Judge, name: str, kind: str) -> None:
    close = "self.stopped.set()" if kind == "threads" else "self.worker.terminate()"
    verdict = judged(reader(**KINDS[kind], close=close, **ENDED[name]), "TML505" if kind == "threads" else "TML408")
    assert not verdict.confirmed, verdict.reason


def reader(**words: str) -> str:
    """A reader of each evaluation."""
    known = {"test": "True", "turn": PUT, "close": "self.stopped.set()", "end": "pass", "timeout": ""}
    text = READER
    for name, word in {**known, **words}.items():
        text = text.replace(f"{{{name}}}", word)
    return text


PIPED = """
import multiprocessing as mp

def serve(pipe):
    while True:
        try:
            text = pipe.recv()
        except EOFError:
            break
        pipe.send(len(text))

def measure(texts):
    ours, theirs = mp.Pipe()
    worker = mp.Process(target=serve, args=(theirs,))  # here
    worker.start()
    ours.send("one")
    ours.recv()
    {end}
"""


@pytest.mark.parametrize(("end", "grows"), [("pass", True), ("ours.close()", False), ("worker.kill()", False)])
def test_an_end_of_a_pipe(judged: Judge, end: str, grows: bool) -> None:
    verdict = judged(PIPED.replace("{end}", end), "TML408")
    assert verdict.confirmed is grows, verdict.reason


POOLED = """
from concurrent.futures import ProcessPoolExecutor

POOLS = []

def work(number):
    return number

def measure(texts):
    pool = ProcessPoolExecutor(2)  # here
    {keep}
    return pool.submit(work, 1).result()
"""


@pytest.mark.parametrize(("keep", "grows"), [("POOLS.append(pool)", True), ("pool.shutdown()", False), ("", False)])
def test_executors(judged: Judge, keep: str, grows: bool) -> None:
    """One that nobody refers to ends its workers itself (concurrent/futures/process.py, `weakref_cb`)."""
    assert judged(POOLED.replace("{keep}", keep), "TML408").confirmed is grows


def test_a_loop_that_was_cut_says_nothing(judged: Judge) -> None:
    """The reader of a generator takes a few of its items here: that the thread behind it waits is no news."""
    text = reader(**KINDS["threads"], turn="rows.put(1)").replace(
        "    score =", "    for row in rows_of(reader): print(row)\n    score ="
    )
    text += "\ndef rows_of(reader):\n    while True:\n        yield reader.rows.get()\n"
    assert judged(text, "TML505").status == "inconclusive"


WAITS = {
    "for an item": "queue.Queue().get()",
    "for a thread": "one = threading.Thread(target=threading.Event().wait, daemon=True); one.start(); one.join()",
    "for a result": "concurrent.futures.Future().result()",
    "for a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
}


@pytest.mark.parametrize("name", WAITS)
def test_no_wait_is_for_ever(judged: Judge, name: str) -> None:
    text = "import concurrent.futures, queue, threading\n\nKEPT = []\n\ndef run(loss):\n    for step in range(4):\n"
    verdict = judged(f"{text}        {WAITS[name]}\n        KEPT.append(loss + step)  # here\n", "TML102")
    assert verdict.status == "growing", verdict.reason


def test_a_file_of_an_unknown_name_is_one(judged: Judge) -> None:
    """A stand-in has a number, too, and is not to be taken for that of a descriptor: the answer's, say."""
    text = "FILES = []\n\ndef run(paths):\n    for path in paths:\n        FILES.append(open({}, 'rb'))  # here\n"
    for path in ("path", "path.name"):
        assert judged(text.replace("{}", path), "TML406").status == "growing"
    closed = "def run(paths):\n    for path in paths:\n        with open(path, 'rb') as file:  # here\n"
    closed += "            file.read()\n"
    assert not judged(closed, "TML406").confirmed
