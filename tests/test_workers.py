"""Small programs with threads, processes, ranks, streams and cells; `# TML203` says what is due."""

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


# -- views ----------------------------------------------------------------------------------------

VIEWS = """
def first(states, mode="cls"):
    if mode == "mean":
        return states.mean(1)
    return states[:, 0]

def own(states):
    return states[:, 0].clone()

def ends(model, x):
    states = model(x, x)
    return states[:, -1]

def weights(model):
    return model.table[:, 0]

@torch.inference_mode()
def embed(xs):
    model, kept, last = nn.Transformer().eval(), [], []
    for x in xs:
        states = model(x, x)
        {}
    return kept
"""
KEPT_VIEWS = [
    "kept.append(states[:, 0])  # TML309",
    "kept.append(states[..., -1, :].detach())  # TML309",
    "first = states[:, 0].squeeze(); kept.append(first)  # TML309",
    "kept.append(model(x, x)[:, 0])  # TML309",
    "kept.append(first(states))  # TML309",
    "kept.append(first(model(x, x).detach()).unsqueeze(1))  # TML309",
    "kept.append(ends(model, x))  # TML309",
]
COPIES = [
    "kept.append(states[:, 0].clone())",
    "kept.append(states[:, 0].cpu())",
    "kept.append(states[:, 0] * 2)",
    "kept.append(states[:, [0]])",
    "kept.append(states[:, :])",
    "kept.append(states[0])",  # of a tuple, maybe
    "kept.append(states); last.append(states[:, 0])",
    "kept = []; kept.append(states[:, 0])",
    "kept.append(states[:, 0].norm().item())",
    "kept.append(own(states))",
    "kept.append(first(states).clone())",
    "kept.append(weights(model))",
]


@pytest.mark.parametrize("line", KEPT_VIEWS)
def test_views_that_are_kept(line: str) -> None:
    check(VIEWS.format(line))


@pytest.mark.parametrize("line", COPIES)
def test_copies_that_are_kept(line: str) -> None:
    check(VIEWS.format(line))


# -- ranks ----------------------------------------------------------------------------------------

GATHER = """
import torch.distributed as dist

def gather(mine, size):
    parts = [None] * size
    dist.all_gather_object(parts, mine){0}
    {1}
"""
FOR_ONE = [
    "if dist.get_rank() == 0:\n        save(parts)",
    "rows = [row for part in parts for row in part]\n    if is_main_process():\n        save(rows)",
    "if dist.get_rank() != 0:\n        return None\n    return len(parts)",
    "if mine and accelerator.is_main_process:\n        save(parts)\n    del parts",
    "return parts\n\ndef main(rank):\n    found = gather([1], 2)\n    if rank == 0:\n        print(found)",
    "return list(parts)\n\ndef main(rank):\n    found = gather([1], 2)\n    if rank == 0:\n        print(found)",
]
FOR_ALL = [
    "return parts",
    "return sum(parts)",
    "if dist.get_rank() == 0:\n        save(parts)\n    return len(parts)",
    "if size == 0:\n        save(parts)",
    "if dist.get_rank() == 1 or mine:\n        save(parts)",
    "return parts\n\ndef main(rank):\n    found = gather([1], 2)\n    print(found)",
    "pass",
]


@pytest.mark.parametrize("after", FOR_ONE)
def test_what_one_rank_reads(after: str) -> None:
    check(GATHER.format("  # TML410", after))


@pytest.mark.parametrize("after", FOR_ALL)
def test_what_all_ranks_read(after: str) -> None:
    check(GATHER.format("", after))


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


QUEUED = """
import threading, time

class Reader(threading.Thread):
    def __init__(self, out, count, room):
        super().__init__()
        self.out, self.count, self.room = out, count, room

    def run(self):
        for index in range(self.count):
            {}

class Asking:
    def __init__(self):
        self.tasks, self.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            self.answers.put(self.tasks.get().mean().item())

    def ask(self, x: torch.Tensor):
        self.tasks.put(x)

    def answer(self):
        return self.answers.get()

def make(depth=0):
    return queue.Queue(depth)

def main(count):
    frames = make()
    Reader(frames, count, threading.Semaphore(4)).start()
    asking = Asking()
    for _ in range(count):
        asking.ask(frames.get())
        print(asking.answer())
"""
NOT_HELD_BACK = [
    "self.out.put(torch.rand(64, 64))  # TML504",
    "self.out.put(torch.rand(64, 64)); time.sleep(0.01)  # TML504",
    "if self.out.qsize() > 4:\n                time.sleep(0.01)\n"
    "            self.out.put(torch.rand(64, 64))  # TML504",
]
HELD_BACK = [
    "self.out.put(torch.rand(64, 64)); self.room.acquire()",
    "self.out.put(torch.rand(64, 64))\n            while len(self.out.queue) > 4:\n                time.sleep(0.01)",
    "self.out.put(index); time.sleep(0.01)",
    "if self.out.qsize() > 4:\n                time.sleep(5)\n            self.out.put(torch.rand(64, 64))",
    "if self.out.qsize() > 4:\n                time.sleep(0.1)\n                continue\n"
    "            self.out.put(torch.rand(64, 64))",
    "while self.out.qsize() > 4:\n                time.sleep(0.1)\n            self.out.put(torch.rand(64, 64))",
    "if self.out.qsize() < 4:\n                self.out.put(torch.rand(64, 64))",
    "if self.out.qsize() > 4:\n                self.out.get()\n            self.out.put(torch.rand(64, 64))",
]
CLIPS = """
import multiprocessing as mp
import numpy as np

CONTEXT = mp.get_context("spawn")

class Clip({}):
    def __init__(self, out, done, count):
        super().__init__(daemon=True)
        self.out, self.done, self.count = out, done, count

    def run(self):
        base = np.zeros((64, 64))
        for number in range(self.count):
            self.out.put((number, np.roll(base, number)))  # TML504
        self.done.put(number)

def main(count, model):
    frames, done = CONTEXT.Queue(), CONTEXT.Queue()
    clip = Clip(frames, done, count)
    clip.start()
    for _ in range(count):
        number, frame = frames.get()
        print(model(torch.from_numpy(frame)).argmax().item())
"""


@pytest.mark.parametrize("line", NOT_HELD_BACK)
def test_queues_that_fill_up(line: str) -> None:
    check(QUEUED.format(line))


@pytest.mark.parametrize("line", HELD_BACK)
def test_queues_that_stay_short(line: str) -> None:
    check(QUEUED.format(line))
    check(QUEUED.format(NOT_HELD_BACK[0].partition("  #")[0]).replace("depth=0", "depth=4"))


@pytest.mark.parametrize("base", ["mp.Process", "CONTEXT.Process", 'mp.get_context("fork").Process'])
def test_queues_that_a_process_fills(base: str) -> None:
    check(CLIPS.format(base))
    check(
        CLIPS.format(base)
        .replace("frames, done = CONTEXT.Queue()", "frames, done = CONTEXT.Queue(8)")
        .replace("  # TML504", "")
    )


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
]
KEPT_COPIES = [
    "boxes.append(where.clone())",
    "boxes.append(where.tolist())",
    "where = where + 1; boxes.append(where)",
    "boxes.append(where); boxes.pop()",
    "scores.append(model(crops).argmax(1))",
]


@pytest.mark.parametrize("line", KEPT_PARTS)
def test_parts_of_batches_that_are_kept(line: str) -> None:
    check(LOADED.format(2, False, line))
    for workers, pinned in ((0, False), (2, True)):
        check(LOADED.format(workers, pinned, line.partition("  #")[0]))


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


# -- contexts -------------------------------------------------------------------------------------

CONTEXTS = """
import threading
import pycuda.driver as cuda

class Worker(threading.Thread):
    def run(self):
        context = cuda.Device(0).make_context()
        {}
        context.pop()
        {}
"""
DIES_ELSEWHERE = [
    ("self.buffer = cuda.mem_alloc(8)  # TML705", ""),
    ("part = cuda.mem_alloc(8)\n        self.parts.put(part)  # TML705", ""),
]
DIES_HERE = [
    ("self.buffer = cuda.mem_alloc(8)\n        self.buffer.free()", ""),
    ("self.buffer = cuda.mem_alloc(8)\n        self.buffer = None", ""),
    ("self.buffer = cuda.mem_alloc(8)", "context.detach()"),
    ("part = cuda.mem_alloc(8)", ""),
]


@pytest.mark.parametrize("parts", DIES_ELSEWHERE)
def test_objects_that_outlive_their_context(parts: tuple[str, str]) -> None:
    check(CONTEXTS.format(*parts))


@pytest.mark.parametrize("parts", DIES_HERE)
def test_objects_that_go_with_their_context(parts: tuple[str, str]) -> None:
    check(CONTEXTS.format(*parts))


# -- graphs and raw memory ------------------------------------------------------------------------

GRAPHS = """
_TABLE = {{}}

class Entry:
    def __init__(self, x):
        self.graph = torch.cuda.CUDAGraph()
        self.x = x

def record(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2

    def play(z):
        x.copy_(z)
        graph.replay()
        return y

    return play

class Runner:
    def __init__(self, sizes):
        self.sizes, self.entries, self.count = sizes, {{}}, 0

    def run(self, x, rows):
        {}

    def serve(self, xs):
        return [self.run(x, {}) for x in xs]
"""
GRAPHS_PER_KEY = [
    ("self.entries[x.shape] = Entry(x)  # TML703", "len(x)"),
    ("self.entries[rows] = (record(x), x)  # TML703", "len(x)"),
    ("return self.entries.setdefault(rows, record(x))  # TML703", "x.shape[0]"),
    ("_TABLE[tuple(x.shape)] = record(x)  # TML703", "len(x)"),
]
GRAPHS_OF_FEW_KEYS = [
    ("self.entries[rows] = Entry(x)", "-(-len(x) // 64) * 64"),
    ("self.entries[rows] = record(x)", "next_pow2(len(x))"),
    ("for size in self.sizes:\n            self.entries[size] = Entry(x[:size])", "len(x)"),
    ("self.entries[rows] = Entry(x)\n        while len(self.entries) > 4:\n            evict(self.entries)", "len(x)"),
    ("self.entries[rows] = Entry(x)\n        self.entries.popitem()", "len(x)"),
    ("self.entries[rows] = record(x)(x).shape", "len(x)"),
    ("entries = {}; entries[rows] = Entry(x); return entries", "len(x)"),
]


@pytest.mark.parametrize("parts", GRAPHS_PER_KEY)
def test_graphs_for_each_key(parts: tuple[str, str]) -> None:
    check(GRAPHS.format(*parts))


@pytest.mark.parametrize("parts", GRAPHS_OF_FEW_KEYS)
def test_graphs_for_a_few_keys(parts: tuple[str, str]) -> None:
    check(GRAPHS.format(*parts))


POINTERS = """
def pinned(x, rt):
    rt.cudaHostRegister(x.data_ptr(), x.nbytes, 0)
    try:
        return x.cuda()
    finally:
        rt.cudaHostUnregister(x.data_ptr())

class Arena:
    def __init__(self, rt):
        self.rt, self.size, self.base, self.pages = rt, 0, 0, []

    def add(self, page):
        {}

    def reserve(self, size):
        {}

    def close(self):
        {}
"""
FREE = "torch.cuda.caching_allocator_delete(self.base)"
ALLOCATE = "self.base = torch.cuda.caching_allocator_alloc(size)"
NEVER_FREED = [
    ("self.rt.cudaHostRegister(page.data_ptr(), 8, 0)  # TML702", "pass", "self.pages.clear()"),
    ("pass", f"if self.size < size:\n            {ALLOCATE}  # TML702", FREE),
    ("pass", f"if size > self.size and self.rt:\n            {ALLOCATE}  # TML702\n            self.size = size", FREE),
]
FREED = [
    ("self.rt.cudaHostRegister(page.data_ptr(), 8, 0)", "pass", "self.rt.cudaHostUnregister(self.pages[0].data_ptr())"),
    ("self.rt.cudaHostRegister(page.data_ptr(), 8, 0)", "pass", "self.pages[0].end(self.rt.cudaHostUnregister)"),
    ("pass", f"if self.size < size:\n            self.close()\n            {ALLOCATE}", FREE),
    (
        "pass",
        f"if self.size < size:\n            old = self.base\n            {ALLOCATE}\n            self.close()",
        FREE,
    ),
    ("pass", f"if self.size == 0:\n            {ALLOCATE}", FREE),
    ("pass", f"if size > 0:\n            {ALLOCATE}", FREE),
    ("pass", ALLOCATE, FREE),  # once, maybe
]


@pytest.mark.parametrize("parts", NEVER_FREED)
def test_raw_memory_that_nobody_frees(parts: tuple[str, str, str]) -> None:
    check(POINTERS.format(*parts))


@pytest.mark.parametrize("parts", FREED)
def test_raw_memory_that_its_owner_frees(parts: tuple[str, str, str]) -> None:
    check(POINTERS.format(*parts))


# -- exceptions -----------------------------------------------------------------------------------

ERRORS = """
import sys, traceback

_PROBLEM = None

def fast():
    global _PROBLEM
    try:
        import fast_ops
    except ImportError as error:
        {}
        return None
    return fast_ops

def fits(model, x):
    return model(x).sum().item()

class Block(nn.Module):
    def forward(self, x):
        return fast()(x)

class Search:
    def __init__(self):
        self.rows = []

    def run(self, model, xs):
        for x in xs:
            row = dict(size=len(x))
            try:
                row["score"] = fits(model, x)
            except ValueError:
                {}
            self.rows.append(row)
"""
KEPT_ERRORS = [
    ("_PROBLEM = error  # TML307", "pass"),
    ("_PROBLEM = ('fast_ops', error)  # TML307", "pass"),
    ("pass", "row['why'] = sys.exc_info()  # TML307"),
    ("pass", "row['why'] = sys.exc_info()[1]  # TML307"),
]
KEPT_WORDS = [
    ("_PROBLEM = str(error)", "row['why'] = traceback.format_exc()"),
    ("_PROBLEM = error.with_traceback(None)", "row['why'] = sys.exc_info()[0]"),
    ("error.__traceback__ = None; _PROBLEM = error", "row = sys.exc_info()[1].args"),
    ("problem = error", "why = {'error': sys.exc_info()}; print(why)"),
]


@pytest.mark.parametrize("parts", KEPT_ERRORS)
def test_errors_that_are_kept(parts: tuple[str, str]) -> None:
    check(ERRORS.format(*parts))


@pytest.mark.parametrize("parts", KEPT_WORDS)
def test_what_an_error_says_is_kept(parts: tuple[str, str]) -> None:
    check(ERRORS.format(*parts))


def test_an_error_of_a_module_without_tensors() -> None:
    text = ERRORS.format("_PROBLEM = error", "pass")
    check(text.replace("class Block(nn.Module)", "class Block"))


# -- circles --------------------------------------------------------------------------------------

CIRCLE = """
from torch.optim.lr_scheduler import LambdaLR, StepLR

class Fold:
    def __init__(self, data, warmup):
        self.model, self.warmup = nn.Linear(64, 64), warmup
        self.optimizer = torch.optim.Adam(self.model.parameters())
        {}

    def rate(self, step):
        return min(1.0, step / self.warmup)

    def fit(self, xs):
        for x in xs:
            self.model(x).sum().backward()
            self.optimizer.step()

def folds(data):
    for part in data:
        fold = Fold(part, 3)
        fold.fit(part)
"""
CIRCLES = [
    "self.schedule = LambdaLR(self.optimizer, self.rate)  # TML315",
    "self.schedule = LambdaLR(self.optimizer, lr_lambda=[lambda step: step / self.warmup])  # TML315",
    "self.loader = torch.utils.data.DataLoader(data, collate_fn=lambda rows: rows[: self.warmup])  # TML315",
    "self.table = defaultdict(lambda: self.warmup)  # TML315",
]
NO_CIRCLES = [
    "self.schedule = LambdaLR(self.optimizer, lambda step: step / warmup)",
    "self.schedule = StepLR(self.optimizer, 3)",
    "schedule = LambdaLR(self.optimizer, self.rate)",
    "self.loader = torch.utils.data.DataLoader(data, collate_fn=list)",
    "self.table = defaultdict(list)",
]


@pytest.mark.parametrize("line", CIRCLES)
def test_objects_that_their_callbacks_hold(line: str) -> None:
    check(CIRCLE.format(line))


@pytest.mark.parametrize("line", NO_CIRCLES)
def test_objects_that_no_callback_holds(line: str) -> None:
    check(CIRCLE.format(line))


# -- cells ----------------------------------------------------------------------------------------

CELLS = "# %%\nmodel, x = Net(), torch.rand(8, 8)\n# %%\n{}\n# %%\n{}\n"
KEPT_BY_OUT = [
    ("model", "del model  # TML802"),
    ("model.eval()", "import gc\ndel x, model  # TML802\ngc.collect()"),
    ("x  # TML801", "del x"),
    ("model", "model = None  # TML802\ntorch.cuda.empty_cache()"),
]
NOT_KEPT = [
    ("print(model)", "del model"),
    ("model;", "del model"),
    ("model", "model = Net()\ndel model"),
    ("model", "Out.clear()\ndel model"),
    ("model", "model = None"),
    ("model.layer.weight.shape", "del model"),
    ("len(x)", "del x"),
]


@pytest.mark.parametrize("cells", KEPT_BY_OUT)
def test_names_that_out_keeps(cells: tuple[str, str]) -> None:
    check(CELLS.format(*cells))


@pytest.mark.parametrize("cells", NOT_KEPT)
def test_names_that_nothing_else_keeps(cells: tuple[str, str]) -> None:
    check(CELLS.format(*cells))


def test_snippets_are_programs() -> None:
    for text in (in_evaluation("pass", ""), CAPTURED, SHARED.format("pass"), STREAMS.format("pass")):
        compile(PRELUDE + textwrap.dedent(text), "snippet", "exec")
