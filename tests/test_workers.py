"""Small programs with threads, processes and streams: their mode, what they share, and when they end."""

from __future__ import annotations

import textwrap

import pytest
from snippets import PRELUDE, check

THREADS = """\
import asyncio, threading, concurrent.futures
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from PySide6.QtCore import QObject, QRunnable, QThread, QThreadPool, Signal

class Job(QRunnable):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def run(self):
        self.best = self.model(torch.rand(1, 8)).argmax().item()

class Mover(QObject):
    found = Signal(int)

    def __init__(self, model):
        super().__init__()
        self.model = model

    def work(self):
        self.found.emit(self.model(torch.rand(1, 8)).argmax().item())

class Worker(threading.Thread):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def run(self):
        self.best = self.model(torch.rand(1, 8)).argmax().item()

def best(model, x):
    return model(x).argmax().item()

@torch.inference_mode()
def quiet(model, x):
    return model(x).argmax().item()

def start(function, *given):
    thread = threading.Thread(target=function, args=given)
    thread.start()
    return thread

@torch.no_grad()
def evaluate(xs):
    model = Net().eval()
    pool = ThreadPoolExecutor(2)
"""
WITHOUT_MODE = {
    "thread": "threading.Thread(target=best, args=(model, xs[0])).start()",
    "submit": "return [pool.submit(best, model, x) for x in xs]",
    "map of a model": "return list(pool.map(model, xs))",
    "map of a lambda": "return list(pool.map(lambda x: model(x).tolist(), xs))",
    "pool of threads": "return ThreadPool(2).map(lambda x: model(x).tolist(), xs)",
    "apply in a pool of threads": "return ThreadPool(2).apply_async(best, (model, xs[0]))",
    "partial": "return pool.submit(functools.partial(best, model), xs[0])",
    "subclass": "worker = Worker(model); worker.start()",
    "timer": "threading.Timer(1.0, best, (model, xs[0])).start()",
    "runnable": "QThreadPool.globalInstance().start(Job(model))",
    "moved object": "m, t = Mover(model), QThread(); m.moveToThread(t); t.started.connect(m.work)",
}
WITH_MODE = {
    "its own mode": "return pool.submit(quiet, model, xs[0])",
    "frozen": "model.requires_grad_(False); return pool.submit(best, model, xs[0])",
    "no model": "return pool.map(lambda x: x.tolist(), xs)",
    "an object that stays": "m = Mover(model); m.found.connect(print)",
    "a process": "import multiprocessing; multiprocessing.Pool(2).map(len, xs)",
}
CAPTURED = """
import threading

def parallel(modules, inputs):
    mode = torch.is_grad_enabled()
    results = {}

    def work(index, module, x):
        with torch.set_grad_enabled(mode):
            results[index] = module(x)

    threads = [threading.Thread(target=work, args=(i, *pair)) for i, pair in enumerate(zip(modules, inputs))]
    for thread in threads:
        thread.start()
    return results

@torch.no_grad()
def main(modules: list[nn.Module], xs):
    return parallel(modules, xs)
"""


def in_evaluation(body: str, comment: str) -> str:
    return f"{THREADS}    {body}{comment}\n"


@pytest.mark.parametrize("name", WITHOUT_MODE)
def test_threads_do_not_inherit_the_mode(name: str) -> None:
    check(in_evaluation(WITHOUT_MODE[name], "  # TML203"))


@pytest.mark.parametrize("name", WITH_MODE)
def test_threads_with_a_mode_of_their_own(name: str) -> None:
    check(in_evaluation(WITH_MODE[name], ""))


def test_a_mode_that_is_handed_on() -> None:
    check(CAPTURED)


def test_a_helper_that_starts_threads() -> None:
    made = "thread = threading.Thread(target=function, args=given)"
    check(in_evaluation("start(best, model, xs[0])", "").replace(made, made + "  # TML203"))


# -- processes ------------------------------------------------------------------------------------

SHARED = """
import torch.multiprocessing as mp

def work(tasks, results):
    for index in range(100):
        results.put(torch.rand(64, 64))
        tasks.get()

def main():
    tasks, results = mp.Queue(), mp.Queue()
    mp.Process(target=work, args=(tasks, results)).start()
    kept = []
    for index in range(100):
        {}
    return kept
"""
KEPT_SHARED = [
    "kept.append(results.get())  # TML409",
    "part = results.get(); kept.append((index, part))  # TML409",
    "batch = torch.rand(64, 64); tasks.put(batch); kept.append(batch)  # TML504 TML409",
    "part = torch.rand(64, 64); mp.Process(target=work, args=(part,)).start(); kept.append(part)  # TML409",
    "given = {'x': torch.rand(64, 64)}; p = mp.Process(target=work, kwargs=given); kept.append((p, given))  # TML409",
]
NOT_SHARED = [
    "kept.append(results.get().clone())",
    "part = results.get(); kept.append(part.sum().item())",
    "part = results.get(); kept.append(part); kept.pop()",
    "tasks.put(index); kept.append(index)",
    "kept = []; kept.append(results.get())",
    "p = mp.Process(target=work, args=(torch.rand(64, 64),)); p.start(); p.join()",
]


@pytest.mark.parametrize("line", KEPT_SHARED)
def test_shared_memory_that_is_kept(line: str) -> None:
    check(SHARED.format(line))


def test_one_result_from_each_worker() -> None:
    text = SHARED.format("kept.append(results.get())")
    check(
        text.replace("    for index in range(100):\n        kept", "    for index in range(num_workers):\n        kept")
    )


@pytest.mark.parametrize("line", NOT_SHARED)
def test_shared_memory_that_is_not_kept(line: str) -> None:
    check(SHARED.format(line))


LOADED = """
from torch.utils.data import DataLoader

class Crops(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return torch.rand(3, 8, 8), torch.tensor([index, index + 1])

@torch.inference_mode()
def predict(count):
    loader = DataLoader(Crops(), num_workers={}, pin_memory={})
    model, boxes, scores = Net().eval(), [], []
    for crops, where in loader:
        {}
    return torch.cat(boxes), scores
"""
KEPT_PARTS = [
    "boxes.append(where)  # TML409",
    "boxes.append((where, 1))  # TML409",
    "box = where; scores.append(model(crops).argmax(1)); boxes.append(box)  # TML409",
    "keep = boxes.append; keep({'where': where, 'n': len(crops)})  # TML409",
    "boxes += [where]  # TML409",
]
KEPT_COPIES = [
    "boxes.append(where.clone())",
    "boxes.append(where.tolist())",
    "where = where + 1; boxes.append(where)",
    "boxes.append(where); boxes.pop()",
    "boxes.append(where)\n        if len(boxes) > 9:\n            boxes.clear()",
    "boxes.append(where.float())",
    "boxes.append(where.to('cuda', non_blocking=True))",
    "boxes.append(where[crops.sum((1, 2, 3)) > 3])",
    "boxes.append(torch.stack([where, where]))",
    "scores.append(model(crops).argmax(1))",
]


@pytest.mark.parametrize("line", KEPT_PARTS)
def test_parts_of_batches_that_are_kept(line: str) -> None:
    check(LOADED.format(2, False, line))
    for workers, pinned in ((0, False), (2, True)):
        check(LOADED.format(workers, pinned, line.partition("  #")[0]))


@pytest.mark.parametrize(("strategy", "mark"), [("file_descriptor", "  # TML409"), ("file_system", "")])
def test_parts_of_batches_that_are_shared_by_name(strategy: str, mark: str) -> None:
    set_up = f"torch.multiprocessing.set_sharing_strategy('{strategy}')"
    check(LOADED.format(2, False, f"boxes.append(where){mark}") + set_up)


def test_parts_of_batches_of_a_loader_that_a_helper_makes() -> None:
    text = LOADED.format(2, False, KEPT_PARTS[0])
    made = "loader = DataLoader(Crops(), num_workers=2, pin_memory=False)"
    helper = f"def make(count):\n    {made.replace('loader =', 'return')}\n\n@torch.inference_mode()\ndef predict"
    check(text.replace(made, "loader = make(count)").replace("@torch.inference_mode()\ndef predict", helper))
    check(
        text.replace(made, "")
        .replace("in loader:", "in make(count):")
        .replace("@torch.inference_mode()\ndef predict", helper)
    )


def test_parts_of_batches_that_helpers_hand_on() -> None:
    text = LOADED.format(2, False, "note(boxes, where)")
    helper = "def note(kept, found):\n    kept.append(found)  # TML409\n\n@torch.inference_mode()\ndef predict"
    text = text.replace("@torch.inference_mode()\ndef predict", helper)
    check(text)
    check(text.replace("found)  # TML409", "found.clone())"))
    batches = "for crops, where in loader:"
    check(text.replace(batches, f"batches = iter(loader)\n    while True:\n        {batches[4:-11]} = next(batches)"))


def test_batches_that_go_on_through_a_queue() -> None:
    text = LOADED.format(2, False, "self.room.put(where)").replace("    return torch.cat(boxes), scores\n", "")
    text = text.replace(
        "@torch.inference_mode()\ndef predict(count):", "class Feed(threading.Thread):\n    def run(self):"
    )
    body = text[text.index("    loader =") :]
    text = text.replace(body, "".join(f"    {line}\n" for line in body.splitlines()))
    check(
        "import threading\n"
        + text
        + """
    def __init__(self, size):
        super().__init__(daemon=True)
        self.room = queue.Queue(size)

    def __next__(self):
        return self.room.get()
"""
    )


STATES = """
from torch.utils.data import DataLoader

class Key:
    def __init__(self, name):
        self.name = name

class Keys:
    now = Key("now")

HERE = Key("here")

def load(data, net):
    state = {{}}
    for batch in DataLoader(data, num_workers=2):
        {}
        print(net(batch[0]).mean().item())
    return state
"""


@pytest.mark.parametrize(
    "line", ["state[Keys.now] = batch[0]", "state[HERE] = batch[1]", "state[Keys.now], state[HERE] = batch"]
)
def test_entries_of_batches_that_go_with_the_next(line: str) -> None:
    check(STATES.format(line))


@pytest.mark.parametrize(
    "line",
    ["state[Key('now')] = batch[0]", "key = Key(len(state)); state[key] = batch[0]", "state[data.key(batch)] = batch"],
)
def test_entries_of_batches_that_stay(line: str) -> None:
    check(STATES.format(line + "  # TML409"))


@pytest.mark.parametrize("line", KEPT_COPIES)
def test_copies_of_batches_that_are_kept(line: str) -> None:
    check(LOADED.format(2, False, line))


SERVED = """
import multiprocessing

def serve(tasks, answers):
    while True:
        task = tasks.get()
        if task is None:
            return
        answers.put(task + 1)

class Service:
    def __init__(self):
        self.tasks, self.answers = multiprocessing.Queue(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=serve, args=(self.tasks, self.answers))
        self.process.start()

    def ask(self, task):
        self.tasks.put(task)
        return self.answers.get()

    def close(self):
        self.tasks.put(None)
        self.process.join()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

def evaluate(keep):
    {}

def main(epochs, keep):
    for _ in range(epochs):
        print(evaluate(keep))
"""
LEFT = [
    "service = Service()  # TML408\n    return service.ask(1)",
    "service = Service()  # TML408\n    found = [keep(service.ask(n)) for n in range(3)]\n    return found",
]
ENDED = [
    "service = Service()\n    try:\n        return service.ask(1)\n    finally:\n        service.close()",
    "with Service() as service:\n        return service.ask(1)",
    "service = Service()\n    with service:\n        return service.ask(1)",
    "service = Service()\n    keep.append(service)\n    return service.ask(1)",
    "service = Service()\n    found = service.ask(1)\n    service.process.terminate()\n    return found",
    "service = Service()\n    return service",
]


@pytest.mark.parametrize("body", LEFT)
def test_processes_that_are_left_running(body: str) -> None:
    check(SERVED.format(body))
    check(SERVED.format(body).replace("  # TML408", "").replace("    for _ in range(epochs):", "    if epochs:"))
    check(SERVED.format(body).replace("  # TML408", "").replace("while True", "for _ in range(3)"))


@pytest.mark.parametrize("body", ENDED)
def test_processes_that_are_ended(body: str) -> None:
    check(SERVED.format(body))


# -- streams --------------------------------------------------------------------------------------

STREAMS = """
from concurrent.futures import ThreadPoolExecutor

class Copier:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.pool = ThreadPoolExecutor(2)

    def serve(self, xs):
        return [self.pool.submit(self.copy, x) for x in xs]

    def copy(self, x):
        {}
"""
NEW_STREAMS = [
    "stream = torch.cuda.Stream()  # TML506\n        with torch.cuda.stream(stream):\n            return x.cuda()",
    "with torch.cuda.stream(torch.cuda.Stream()):  # TML506\n            return x.cuda()",
    "for part in x:\n            side = torch.cuda.Stream()  # TML506\n            torch.cuda.set_stream(side)",
]
OLD_STREAMS = [
    "self.side = torch.cuda.Stream()",
    "stream = torch.cuda.Stream()\n        self.engine.infer(x, stream.cuda_stream)\n        stream.synchronize()",
    "return torch.cuda.Stream()",
    "streams = [torch.cuda.Stream() for _ in range(2)]",
    "stream = getattr(x, 'stream', None)\n        if stream is None:\n            stream = torch.cuda.Stream()",
    "stream = torch.cuda.current_stream()",
]


@pytest.mark.parametrize("body", NEW_STREAMS)
def test_streams_for_each_task(body: str) -> None:
    check(STREAMS.format(body))


@pytest.mark.parametrize("body", OLD_STREAMS)
def test_streams_that_are_kept(body: str) -> None:
    check(STREAMS.format(body))


SENT = """
class Sender:
    def __init__(self):
        self.streams = [torch.cuda.Stream() for _ in range(2)]

    def send(self, tensors):
        {}
        for number, tensor in enumerate(tensors):
            with torch.cuda.stream(streams[number % 2]):
                tensor.clone()

def train(sender, batches):
    for batch in batches:
        sender.send(batch)
"""


@pytest.mark.parametrize(
    "streams",
    [
        "streams = [torch.cuda.Stream() for _ in range(2)]  # TML506",
        "streams = self.streams",
        "streams = self.streams = [torch.cuda.Stream() for _ in range(2)]",
    ],
)
def test_streams_for_each_call_in_a_loop(streams: str) -> None:
    check(SENT.format(streams))


def test_snippets_are_programs() -> None:
    for text in (in_evaluation("pass", ""), CAPTURED, SHARED.format("pass"), STREAMS.format("pass")):
        compile(PRELUDE + textwrap.dedent(text), "snippet", "exec")
