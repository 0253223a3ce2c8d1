"""What pools of processes and threads leave in their workers; `# TML401` says what is due."""

from __future__ import annotations

import textwrap

import pytest
from snippets import PRELUDE, check

START = """\
import asyncio, functools, multiprocessing, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

SEEN = {}
NUMBERS = {}

def load(index):
    return torch.rand(64, 64) * index

def dedupe(function):
    @functools.wraps(function)
    def wrapper(*args):
        if args not in SEEN:
            SEEN[args] = function(*args)%s
        return SEEN[args]
    return wrapper

"""
FILLED = {
    "function attribute": """
        def back(index):
            back.made[index] = load(index)  # TML401
            return index

        back.made = {}

        def main():
            with multiprocessing.Pool(2) as pool:
                return pool.map(back, range(9))
        """,
    "function attribute through a partial": """
        def back(cfg, index):
            back.made.append(load(index))  # TML401
            return index

        back.made = []

        def main():
            with multiprocessing.Pool(2) as pool:
                return list(pool.imap(functools.partial(back, 3), range(9)))
        """,
    "decorator": """
        @dedupe
        def mean(index):
            return load(index)

        def work(index):
            return mean(index).mean().item()

        def main():
            with ProcessPoolExecutor(2) as pool:
                return list(pool.map(work, range(9)))
        """,
    "decorated method": """
        class Scene:
            @dedupe
            def frame(self, index):
                return load(index)

        def work(index):
            return Scene().frame(index).mean().item()

        def main():
            with ProcessPoolExecutor(2) as pool:
                return list(pool.map(work, range(9)))
        """,
    "object of the initializer": """
        class Scene:
            def __init__(self):
                self.trail = {}

            def add(self, index):
                self.trail.setdefault(index % 3, []).append(load(index))  # TML401
                return index

        scene = None

        def begin():
            global scene
            scene = Scene()

        def work(job):
            name, index = job
            return getattr(scene, name)(index)

        def main():
            with ProcessPoolExecutor(2, initializer=begin) as pool:
                return list(pool.map(work, [("add", index) for index in range(9)]))
        """,
    "executor of an event loop": """
        def work(index):
            NUMBERS[index] = load(index)  # TML401
            return index

        async def main(pool: ProcessPoolExecutor):
            with ProcessPoolExecutor(2) as pool:
                for index in range(9):
                    await asyncio.get_running_loop().run_in_executor(pool, work, index)
        """,
    "thread-local class": """
        class Trace(threading.local):
            def __init__(self):
                self.spans = []

            def reset(self):
                self.spans.clear()

        class Scorer:
            def __init__(self):
                self.trace, self.pool = Trace(), ThreadPoolExecutor(2)

            def score(self, index):
                self.trace.spans.append(load(index))  # TML502
                return index

            def serve(self, jobs):
                return list(self.pool.map(self.score, jobs))
        """,
    "thread-local object": """
        own = threading.local()
        own.spans = []

        def score(index):
            own.spans.append(load(index))  # TML502
            return index

        def serve(pool: ThreadPoolExecutor, jobs):
            with ThreadPoolExecutor(2) as pool:
                return [pool.submit(score, job) for job in jobs]
        """,
}
NOT_FILLED = {
    "emptied function attribute": """
        def back(index):
            back.made.clear()
            back.made[index] = load(index)
            return index

        back.made = {}

        def main():
            with multiprocessing.Pool(2) as pool:
                return pool.map(back, range(9))
        """,
    "counting function attribute": """
        def back(index):
            back.calls = back.calls + 1
            return index

        back.calls = 0

        def main():
            with multiprocessing.Pool(2) as pool:
                return pool.map(back, range(9))
        """,
    "decorator of numbers": """
        @dedupe
        def mean(index):
            return load(index).mean().item()

        def main():
            with ProcessPoolExecutor(2) as pool:
                return list(pool.map(mean, range(9)))
        """,
    "last of the initializer's object": """
        class Scene:
            def __init__(self):
                self.trail = []

            def add(self, index):
                self.trail[:] = [load(index)]
                return index

        scene = None

        def begin():
            global scene
            scene = Scene()

        def work(index):
            return scene.add(index)

        def main():
            with ProcessPoolExecutor(2, initializer=begin) as pool:
                return list(pool.map(work, range(9)))
        """,
    "thread-local emptied by the task": """
        class Trace(threading.local):
            def __init__(self):
                self.spans = []

        class Scorer:
            def __init__(self):
                self.trace, self.pool = Trace(), ThreadPoolExecutor(2)

            def score(self, index):
                self.trace.spans.append(load(index))
                total = sum(span.sum().item() for span in self.trace.spans)
                self.trace.spans.clear()
                return total

            def serve(self, jobs):
                return list(self.pool.map(self.score, jobs))
        """,
    "thread-local buffer": """
        own = threading.local()

        def score(index):
            own.buffer = load(index)
            return index

        def serve(jobs):
            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(score, jobs))
        """,
}


@pytest.mark.parametrize("name", FILLED)
def test_workers_that_fill_up(name: str) -> None:
    check(START % ("  # TML401" if name.startswith("decorat") else "") + textwrap.dedent(FILLED[name]))


@pytest.mark.parametrize("name", NOT_FILLED)
def test_workers_that_do_not_fill_up(name: str) -> None:
    check(START % "" + textwrap.dedent(NOT_FILLED[name]))


# -- data sets --------------------------------------------------------------------------------------

DATA = """\
from collections import defaultdict
from torch.utils.data import DataLoader, Dataset

class Box:
    def __init__(self, x, label):
        self.x, self.label = x, label

"""
RECORDS = {
    "in an object of the data set": """
        class Boxes:
            def __init__(self, lines):
                self.boxes = defaultdict(list)
                for line in lines:
                    self.parse(line)

            def parse(self, line):
                image, x, label = line.split()
                self.boxes[image].append(Box(float(x), label)){}

            def of(self, image):
                return self.boxes[image]

        class Detection(Dataset):
            def __init__(self, lines):
                self.boxes = Boxes(lines)

            def __getitem__(self, index):
                return torch.tensor([box.x for box in self.boxes.of(index)])
        """,
    "by key": """
        class Detection(Dataset):
            def __init__(self, lines):
                self.boxes = {{}}
                for line in lines:
                    image, x, label = line.split()
                    self.boxes[image] = Box(float(x), label){}

            def __getitem__(self, index):
                return torch.tensor(self.boxes[index].x)
        """,
    "grouped": """
        class Detection(Dataset):
            def __init__(self, lines):
                self.boxes = {{}}
                for line in lines:
                    image, x, label = line.split()
                    self.boxes.setdefault(image, []).append({{"x": float(x), "label": label}}){}

            def __getitem__(self, index):
                return torch.tensor([box["x"] for box in self.boxes[index]])
        """,
}
LOADER = "\n\ndef main(lines):\n    return DataLoader(Detection(lines), num_workers={})\n"


@pytest.mark.parametrize("name", RECORDS)
def test_records_that_workers_copy(name: str) -> None:
    check(DATA + textwrap.dedent(RECORDS[name].format("  # TML405")) + LOADER.format(2))
    check(DATA + textwrap.dedent(RECORDS[name].format("")) + LOADER.format(0))


CACHES = """
class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths
        {0}

    def part(self, index){1}:
        {2}

    def __getitem__(self, index):
        return self.part(index)

def main(paths):
    return DataLoader(Files(paths), num_workers=2)
"""
ITEMS = [
    ("self.kept = {}", "", "self.kept[index] = read(self.paths[index])  # TML404\n        return self.kept[index]"),
    ("self.kept = {}", "", "item = read(index)\n        self.kept[index] = item  # TML404\n        return item, index"),
    ("self.kept = []", "", "item = read(index)\n        self.kept.append(item)  # TML404\n        return crop(item)"),
]
NOT_ITEMS = [
    ("self.kept: dict[str, int] = {}", "", "self.kept[index] = read(index)\n        return self.kept[index]"),
    ("self.kept = {}", " -> int", "self.kept[index] = read(index)\n        return self.kept[index]"),
    ("self.kept = {}", "", "self.kept[index] = self.paths[index].stat().st_size\n        return self.kept[index]"),
    ("self.words = []", "", "word = read(index)\n        self.words.append(word)\n        return len(self.words)"),
    (
        "self.words = []; self.ids = {}",
        "",
        "word = read(index)\n        self.words.append(word)\n        return self.ids[word]",
    ),
]


@pytest.mark.parametrize("parts", ITEMS)
def test_items_that_each_worker_keeps(parts: tuple[str, str, str]) -> None:
    check(DATA + CACHES.format(*parts))


@pytest.mark.parametrize("parts", NOT_ITEMS)
def test_what_is_no_item(parts: tuple[str, str, str]) -> None:
    check(DATA + CACHES.format(*parts))


COLLATES = """
def collating():
    kept = []

    def collate(items):
        batch = torch.stack(items)
        {}
        return batch

    return collate

def main(paths):
    return DataLoader(paths, num_workers=2, collate_fn=collating())
"""


def test_what_a_closure_keeps_in_each_worker() -> None:
    check(DATA + COLLATES.format("kept.append(batch)  # TML404"))
    check(DATA + COLLATES.format("kept.append(batch.shape)"))
    check(DATA + COLLATES.format("kept.append(batch); kept.pop()"))
    check(DATA + COLLATES.format("parts = []; parts.append(batch)"))


LOADERS = """
class Stages:
    def __init__(self, workers):
        self.loaders, self.workers = {{}}, workers

    def loader(self, stage):
        if stage not in self.loaders:
            {}
        return self.loaders[stage]

def train(count: int):
    made = Stages(2)
    for stage in range(count):
        for batch in made.loader(stage):
            print(batch)
"""


def test_loaders_that_pile_up() -> None:
    made = "DataLoader(range(9), num_workers=self.workers, persistent_workers={})"
    check(DATA + LOADERS.format(f"self.loaders[stage] = {made.format('self.workers > 0')}  # TML408"))
    check(DATA + LOADERS.format(f"self.loaders[stage] = {made.format('True')}  # TML408"))
    check(DATA + LOADERS.format(f"self.loaders[stage] = {made.format('False')}"))
    check(DATA + LOADERS.format(f"self.loaders.clear(); self.loaders[stage] = {made.format('True')}"))


PREPARED = """
class Prepared:
    def __init__(self, workers):
        self.all, self.one, self.workers = [], {{}}, workers

    def prepare(self, loader):
        self.all.append(loader)%s
        return loader

    def make(self):
        return self.prepare(DataLoader(range(9), num_workers=2, persistent_workers=True))

    def loader(self, name):
        {}

def train(count: int, names):
    made = Prepared(2)
    for _ in range(count):
        for name in names:
            for batch in made.loader(name):
                print(batch)
"""


def test_loaders_that_are_made_once() -> None:
    check(DATA + PREPARED.format("return self.make()") % "  # TML408")
    once = "if name not in self.one:\n            self.one[name] = self.make()\n        return self.one[name]"
    check(DATA + PREPARED.format(once) % "")
    check(DATA + PREPARED.format(once.replace("name not in self.one", "self.one.get(name) is None")) % "")


# -- made on import, and shared ---------------------------------------------------------------------

IMPORTED = """
import torch.multiprocessing as mp

ROWS, COLUMNS = 4096, 2048

def bank(rows):
    return torch.rand(rows, COLUMNS)

{}

def work(index):
    return index

def main():
    with mp.get_context("spawn").Pool(2) as pool:
        return pool.map(work, range(9))
"""


def test_what_a_function_makes_on_import() -> None:
    check(IMPORTED.format("BANK = bank(4096)  # TML402"))
    check(IMPORTED.format("BANK = bank(ROWS)  # TML402"))
    check(IMPORTED.format("BANK = bank(8)"))
    check(IMPORTED.format("PEAKS = torch.linspace(0.1, 0.9, 7)"))


SEGMENTS = """
import contextlib
from multiprocessing.shared_memory import SharedMemory

class Area:
    def __init__(self):
        self.segment = SharedMemory(create=True, size=4096){}

    def close(self):
        self.segment.close()

    def destroy(self):
        self.segment.close()
        self.segment.unlink()

def stage(work):
    with contextlib.closing(Area()) as area:
        try:
            work(area)
        except OSError:
            area.destroy()
            raise
        {}
"""


def test_segments_that_only_an_error_unlinks() -> None:
    check(SEGMENTS.format("  # TML407", "pass"))
    check(SEGMENTS.format("", "finally:\n            area.destroy()"))
    check(SEGMENTS.format("", "else:\n            area.destroy()"))
    check(SEGMENTS.format("", "work.on_end(area.destroy)"))


LEAVING = """
from multiprocessing import shared_memory

def stage(x, send):
    segment = shared_memory.SharedMemory(create=True, size=x.nbytes){}
    {}
"""


def test_segments_that_an_early_return_leaves() -> None:
    early = "if not send(segment.name):\n        segment.close()\n        return False\n    segment.unlink()"
    check(LEAVING.format("  # TML407", early))
    check(LEAVING.format("", early.replace("return False", "segment.unlink()\n        return False")))
    check(LEAVING.format("", "try:\n        return send(segment)\n    finally:\n        segment.unlink()"))


LISTED = """
from multiprocessing.shared_memory import SharedMemory

SEEN = []

class Reader:
    def __init__(self, names):
        self.names, self.blocks = names, []

    def read(self, name):
        block = SharedMemory(name=name)
        {}
        total = sum(block.buf)
        {}
        return total

    def all(self):
        return [self.read(name) for name in self.names]

    def close(self):
        {}
"""


def test_handles_of_segments_that_pile_up() -> None:
    check(LISTED.format("self.blocks.append(block)  # TML409", "block.unlink()", "pass"))
    check(LISTED.format("SEEN.append(block)  # TML409", "pass", "pass"))
    check(LISTED.format("self.blocks.append(block)", "block.close()", "pass"))
    check(LISTED.format("self.blocks.append(block)", "block.unlink()", "self.blocks.clear()"))
    check(LISTED.format("self.blocks.append(block)", "pass", "for one in self.blocks:\n            one.close()"))
    check(LISTED.format("self.blocks.append(block.name)", "block.unlink()", "pass"))


# -- ranks ------------------------------------------------------------------------------------------

RANKS = """
import torch.distributed as dist

class Evaluator:
    def __init__(self, rank, world):
        self.rank, self.world, self.parts = rank, world, None

    def gather(self, mine):
        found = [None] * self.world
        dist.all_gather_object(found, mine){}
        self.parts = found

    def report(self):
        {}
"""


EVALUATION = """
def main(rank, world):
    evaluator = Evaluator(rank, world)
    evaluator.gather([torch.rand(8)])
    mean = evaluator.report()
    {}
"""


def test_what_one_rank_needs_the_result_of() -> None:
    each = "for part in found:\n            self.parts.append(part)"
    report = "joined = torch.cat(self.parts)\n        return joined.mean().item()"
    text = RANKS.replace("self.parts = found", each) + EVALUATION
    check(text.format("  # TML410", report, "if rank == 0:\n        print(mean)"))
    check(text.format("", report, "print(mean)"))
    check(text.format("", report.replace("joined", "self.joined"), "if rank == 0:\n        print(mean)"))


def test_what_one_rank_reads_of_a_list() -> None:
    text = RANKS.replace("self.parts = found", "self.parts.append(torch.cat(found))")
    check(text.format("  # TML410", "if self.rank == 0:\n            return torch.cat(self.parts).mean().item()"))
    check(text.format("", "return torch.cat(self.parts).mean().item()"))


@pytest.mark.parametrize(
    ("body", "due"),
    [
        ("if self.rank != 0:\n            return None\n        return sum(map(len, self.parts))", "  # TML410"),
        ("if self.rank == 0:\n            save(self.parts)", "  # TML410"),
        (
            "if not self.parts:\n            return\n        if self.rank == 0:\n            save(self.parts)",
            "  # TML410",
        ),
        ("return sum(map(len, self.parts))", ""),
        ("if self.rank == 0:\n            save(self.parts)\n        self.parts = None", ""),
        ("return self.rank", ""),
    ],
)
def test_what_one_rank_reads_of_an_attribute(body: str, due: str) -> None:
    check(RANKS.format(due, body))


def test_snippets_are_programs() -> None:
    for text in (*FILLED.values(), *NOT_FILLED.values()):
        compile(PRELUDE + START % "" + textwrap.dedent(text), "snippet", "exec")
