"""Worker processes that one function starts and another one gets, to end them or not: `# TML408` says what is due."""

from __future__ import annotations

import pytest
from snippets import check, check_innocent

_ENCODED = """
import torch.multiprocessing as mp

@torch.no_grad()
def encode(net, tasks, answers):
    while True:
        {work}

class Encoder:
    def __init__(self):
        self.net = Net()

    def start_workers(self, count=2):
        tasks, answers, workers = mp.Queue(), mp.Queue(), []
        for _ in range(count):
            worker = mp.Process(target=encode, args=(self.net, tasks, answers), daemon=True)
            worker.start()
            workers.append(worker)
        return {{"tasks": tasks, "answers": answers, "workers": workers}}

    @staticmethod
    def end_workers(pool):
        for worker in pool["workers"]:
            worker.terminate()

    def run(self, texts, pool):
        for text in texts:
            pool["tasks"].put(text)
        found = [pool["answers"].get() for _ in texts]
        {after_run}
        return found

class Evaluator:
    def __init__(self, texts):
        self.texts, self.pool = texts, None

    def __call__(self, encoder):
        pool = encoder.start_workers(){mark}
        found = encoder.run(self.texts, pool)
        {after}
        return len(found)

def main(steps):
    encoder, evaluate = Encoder(), Evaluator(["a", "b"])
    {use}
"""
_SERVES = "answers.put(net(tasks.get()))"
_EACH = "for _ in range(steps): print(evaluate(encoder))"


def program(mark: str, after: str = "pass", after_run: str = "pass", use: str = _EACH, work: str = _SERVES) -> str:
    return _ENCODED.format(mark=mark, after=after, after_run=after_run, use=use, work=work)


@pytest.mark.parametrize("use", [_EACH, "print([evaluate(encoder) for _ in range(steps)])"])
def test_nothing_ends_them(use: str) -> None:
    check(program("  # TML408", use=use))


@pytest.mark.parametrize(
    "change",
    [
        {"after": "encoder.end_workers(pool)"},
        {"after": "for worker in pool['workers']: worker.kill()"},
        {"after": "self.pool = pool"},
        {"after": "return pool"},
        {"after_run": "pool['tasks'].put(None)"},
        {"use": "print(evaluate(encoder))"},
        {"work": "answers.put(net(tasks.get(timeout=9)))"},
    ],
    ids=["ended", "killed", "kept", "handed back", "told", "once", "not for long"],
)
def test_somebody_may(change: dict[str, str]) -> None:
    check_innocent(program("", **change))


_LIBRARY = """
from sentence_transformers import SentenceTransformer

def embed(model, texts):
    pool = model.start_multi_process_pool(){mark}
    found = model.encode_multi_process(texts, pool)
    {after}
    return found

def main(steps):
    model = SentenceTransformer("tiny")
    for _ in range(steps):
        print(embed(model, ["a", "b"]).shape)
"""


def test_those_of_a_library() -> None:
    check(_LIBRARY.format(mark="  # TML408", after="pass"))
    check_innocent(_LIBRARY.format(mark="", after="model.stop_multi_process_pool(pool)"))


_READ = """
import torch.multiprocessing as mp

def read(paths, batches):
    while True:
        for path in paths:
            batches.put(torch.load(path))

def start_reader(paths):
    batches = mp.Queue(2)
    reader = mp.Process(target=read, args=(paths, batches), daemon=True)
    reader.start()
    return reader, batches

def evaluate(net, paths):
    reader, batches = start_reader(paths){}
    with torch.no_grad():
        scores = [net(batches.get()).mean().item() for _ in paths]
    {}
    return sum(scores)

def main(steps, net, paths):
    {}
"""
_EVALUATES = "for _ in range(steps):\n        print(evaluate(net, paths))"


def test_one_that_supplies_for_ever_comes_with_its_queue() -> None:
    check(_READ.format("  # TML408", "pass", _EVALUATES))
    check_innocent(_READ.format("", "reader.terminate()", _EVALUATES))
    check_innocent(_READ.format("", "pass", "print(evaluate(net, paths))"))
