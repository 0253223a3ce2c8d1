"""Workers, what they import and read, and threads and tasks that are left: what stays, and what goes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from projects import check_project
from snippets import check

HEAD = """
import asyncio
import contextlib
import queue
import threading
from multiprocessing.pool import ThreadPool
"""

RESET = """
class Pages:
    def __init__(self):
        self.stopped = threading.Event()
        self.launch()

    def launch(self):
        self.pages = queue.Queue(maxsize=8)
        self.host = torch.zeros(64, 256)
        self.thread = threading.Thread(target=self.write, args=(self.pages, self.host), daemon=True){mark}
        self.thread.start()

    def write(self, pages, host):
        while not self.stopped.is_set():
            try:
                host.copy_(pages.get(timeout=0.1))
            except queue.Empty:
                continue

    def reset(self):
        {first}
        self.launch()

    def close(self):
        self.stopped.set()
        self.thread.join()
"""

WATCHED = """
class Handler:
    def __init__(self, engine):
        self.engine = engine
        self.closing = asyncio.Event()

    async def abort_at_end(self, request):
        await self.closing.wait()
        self.engine.abort(request)

    async def watch(self, request):
        at_end = asyncio.create_task(self.abort_at_end(request)){mark}
        {wait}

    @contextlib.asynccontextmanager
    async def watching(self, request):
        task = asyncio.create_task(self.watch(request))
        try:
            yield
        finally:
            task.cancel()
"""
ON_THE_NEXT_LINE = "await request.gone.wait(); at_end.cancel()"
IN_ANY_CASE = """try:
            await request.gone.wait()
        finally:
            at_end.cancel()"""

GUILTY = {
    "a reset that starts one more thread": RESET.format(mark="  # TML505", first="self.pages.queue.clear()"),
    "a task that is cancelled on the next line": WATCHED.format(mark="  # TML503", wait=ON_THE_NEXT_LINE),
    "arrays of CuPy while the pool is emptied": """
        import cupy as cp

        pool = cp.get_default_memory_pool()
        pinned = cp.get_default_pinned_memory_pool()

        def clipped(parts):
            found = []
            for part in parts:
                chunk = cp.asarray(part)
                result = cp.clip(chunk, 0, None)
                found.append(cp.asnumpy(result))
                pool.free_all_blocks()  # TML604
                pinned.free_all_blocks()
            return found
        """,
    "a graph for each shape that comes": """
        class Captured:
            def __init__(self, model):
                self.model = model
                self.graphs = {}

            def __call__(self, x):
                if x.shape not in self.graphs:
                    self.graphs[x.shape] = torch.cuda.make_graphed_callables(self.model, (x,))  # TML703
                return self.graphs[x.shape](x)
        """,
    "logits that go to the host as labels, in the end": """
        def evaluate(model, loader, device):
            rows = []
            with torch.no_grad():
                for images, _ in loader:
                    rows.append(model(images.to(device)))  # TML310
            return torch.cat(rows).argmax(1).cpu()
        """,
    "logits of all ranks that go to the host as labels, in the end": """
        def evaluate(accelerator, model, loader):
            rows = []
            for images, _ in loader:
                with torch.no_grad():
                    logits = model(images)
                rows.append(accelerator.gather_for_metrics(logits))  # TML310
            return torch.cat(rows).argmax(1).cpu()
        """,
    "threads of a pool do not inherit the grad mode": """
        class Index:
            def __init__(self):
                self.net = nn.Linear(64, 64)
                self.pool = ThreadPool(2)
                self.vectors = []

            def embed(self, tile, scale):
                return self.net(tile * scale)

            @torch.no_grad()
            def add(self, tiles):
                self.vectors.extend(self.pool.starmap(self.embed, [(tile, 2.0) for tile in tiles]))  # TML203
        """,
}

INNOCENT = {
    "a reset that ends the thread first": RESET.format(mark="", first="self.close()"),
    "a reset that tells it by the event": RESET.format(mark="", first="self.stopped.set()"),
    "a reset that asks whether it runs": RESET.format(mark="", first="if self.thread.is_alive(): return"),
    "a task that is cancelled in any case": WATCHED.format(mark="", wait=IN_ANY_CASE),
    "a task that is waited for itself": WATCHED.format(mark="", wait="await at_end; at_end.cancel()"),
    "a task of a function that nobody cancels": WATCHED.format(mark="", wait=ON_THE_NEXT_LINE).replace(
        "task.cancel()", "self.closing.set()"
    ),
    "arrays of CuPy that go before the pool is emptied": """
        import cupy as cp

        pool = cp.get_default_memory_pool()

        def clipped(parts):
            found = []
            for part in parts:
                chunk = cp.asarray(part)
                limit = cp.cuda.Stream()
                found.append(cp.asnumpy(chunk))
                del chunk
                pool.free_all_blocks()
            return found

        def best(parts):
            best = None
            for part in parts:
                chunk = cp.asarray(part)
                if best is None or chunk.max() > best.max():
                    best = chunk
                pool.free_all_blocks()
            return cp.asnumpy(best)
        """,
    "a graph for each of a few sides": """
        SIDES = (128, 256, 512)

        class Captured:
            def __init__(self, model):
                self.model = model
                self.graphs = {}

            def __call__(self, x):
                side = next((one for one in SIDES if one >= x.shape[-1]), 512)
                if side not in self.graphs:
                    self.graphs[side] = torch.cuda.make_graphed_callables(self.model, (x,))
                return self.graphs[side](x)
        """,
    "labels, and logits on the host": """
        def evaluate(accelerator, model, loader):
            labels, rows = [], []
            for images, _ in loader:
                with torch.no_grad():
                    logits = accelerator.gather_for_metrics(model(images))
                labels.append(logits.argmax(1))
                rows.append(logits.cpu())
            return (torch.cat(labels) == 1).cpu(), torch.cat(rows).argmax(1).cpu()
        """,
    "results of a pool of threads are no futures": """
        class Index:
            def __init__(self):
                self.pool = ThreadPool(2)
                self.lengths = {}

            def length(self, tile):
                return tile.norm().item()

            def add(self, name, tiles):
                self.lengths[name] = self.pool.map(self.length, tiles)
        """,
}


@pytest.mark.parametrize("form", GUILTY.values(), ids=GUILTY)
def test_what_stays(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


@pytest.mark.parametrize("form", INNOCENT.values(), ids=INNOCENT)
def test_what_goes(form: str) -> None:
    check(HEAD + textwrap.dedent(form))


SCORING = """
import torch
{made}

def score(pair):
    return float(TABLE[pair].norm())
"""
POOL = """
import torch.multiprocessing as mp
from scoring import score

def near(pairs):
    with mp.get_context("{method}").Pool(4) as pool:
        return sum(pool.imap(score, pairs)){mark}
"""


@pytest.mark.parametrize(
    ("made", "method", "mark"),
    [
        ("TABLE = torch.randn(100_000, 64)", "spawn", "  # TML402"),
        ("TABLE = torch.randn(100_000, 64)", "fork", ""),
        ("TABLE = torch.randn(8, 64)", "spawn", ""),
        ("TABLE = None", "spawn", ""),
    ],
)
def test_a_worker_imports_the_file_of_its_function(
    made: str, method: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = POOL.format(method=method, mark=mark)
    check_project({"scoring.py": SCORING.format(made=made), "near.py": pool}, tmp_path, monkeypatch)


BOXES = """
import json
from collections import defaultdict

class Boxes:
    def __init__(self, path):
        data = json.load(open(path))
        self.by_image = defaultdict(list)
        for box in data["boxes"]:
            self.by_image[box["image"]].append(box)

    def of(self, image):
        return self.by_image[image]
"""
DATA = """
import torch
from boxes import Boxes
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __init__(self, path, pictures):
        self.boxes = Boxes(path){mark}
        self.images = {images}

    def __getitem__(self, index):
        return torch.tensor([box["xywh"] for box in self.boxes.of(self.images[index])])

    def __len__(self):
        return len(self.images)

loader = DataLoader(Images("boxes.json", ["a", "b"]), num_workers=4)
"""


@pytest.mark.parametrize(("images", "mark"), [("sorted(self.boxes.by_image)", "  # TML405"), ("pictures", "")])
def test_an_object_of_another_file_has_the_records(
    images: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project({"boxes.py": BOXES, "data.py": DATA.format(images=images, mark=mark)}, tmp_path, monkeypatch)
