"""What a program of another file makes of a file's functions and classes, and how often, is seen in that file: what is
in parts is judged as it is in one piece."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from projects import write

from torchmemlint.config import load
from torchmemlint.linter import engine, pool

WALK = """
import torch

def walk(model, optimizer, chunks):
    state, levels = None, []
    for chunk in chunks:
        features, state = model.memory(chunk, state)
        loss = (chunk * model.mask(features.detach()).sigmoid()).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        levels.append(loss.item())
    return levels
"""
STREAM = """
import torch
from torch import nn
from walk import walk

class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(8, 8, batch_first=True)
        self.mask = nn.Linear(8, 8)

    def forward(self, chunk):
        return self.mask(self.memory(chunk)[0])

def main():
    model = Filter()
    optimizer = torch.optim.SGD(model.mask.parameters(), lr=0.1)
    print(walk(model, optimizer, [torch.rand(1, 4, 8) for _ in range(9)]))

if __name__ == "__main__":
    main()
"""
RUNS = """
import torch
from torch import nn

class Fold:
    def __init__(self, width):
        self.model = nn.Linear(width, width)
        self.memory = torch.zeros(64, width)
        self.on_batch = self.record

    def record(self, out):
        self.memory[0] = out.detach().mean(0)

    def fit(self, batches):
        for batch in batches:
            self.on_batch(self.model(batch))
        return float(self.memory[0].sum())
"""
STUDY = """
import torch
from parts.runs import Fold

def study(runs):
    scores = []
    for _ in range(runs):
        scores.append(Fold(32).fit([torch.rand(4, 32)]))
    return scores
"""
MAIN = """
from study import study

def main():
    print(study(4))

if __name__ == "__main__":
    main()
"""
BENCH = """
import sys
import torch

class Bench:
    def __init__(self):
        self.broken = []

    def run(self, job):
        try:
            job()
        except RuntimeError:
            kind, error, trace = sys.exc_info()
            self.broken.append((kind.__name__, trace))
"""
SCRIPT = """
import torch
from bench import Bench

def product():
    left, right = torch.ones(64, 64), torch.ones(32, 32)
    return left @ right

bench = Bench()
for _ in range(9):
    bench.run(product)
print(len(bench.broken))
if __name__ == "__main__":
    bench.run(product)
"""
WATCH = """
import threading
import torch

class Watch:
    def __init__(self, model):
        self.model = model
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.ended.wait(60):
            print(max(p.abs().max().item() for p in self.model.parameters()))

    def stop(self):
        self.ended.set()
        self.thread.join()
"""
FIT = """
import torch
from torch import nn
from watch import Watch

def fit(model):
    watch = Watch(model)
    model(torch.rand(4, 8)).mean().backward()
"""
FOLDS = """
from torch import nn
from fit import fit

def main():
    for fold in range(5):
        fit(nn.Linear(8, 8))
"""
PROGRAMS = [
    ({"walk.py": WALK, "stream.py": STREAM}, ("walk.py", "model.memory", "TML105")),
    ({"parts/runs.py": RUNS, "study.py": STUDY, "main.py": MAIN}, ("parts/runs.py", "self.on_batch =", "TML315")),
    ({"bench.py": BENCH, "script.py": SCRIPT}, ("bench.py", "append", "TML307")),
    ({"watch.py": WATCH, "fit.py": FIT, "folds.py": FOLDS}, ("fit.py", "= Watch", "TML505")),
]


def said(folder: Path, names: list[str], **settings: object) -> list[tuple[str, str, str]]:
    """File, line and code of what is reported."""
    plan = engine.plan(load(folder, {"no-cache": True, **settings}, isolated=True))
    found = pool.lint_files(names, plan, 1)
    return [
        (one.filename, (folder / one.filename).read_text().splitlines()[one.start.row - 1], one.code) for one in found
    ]


def is_said(found: list[tuple[str, str, str]], name: str, words: str, code: str) -> bool:
    return any(file == name and words in line and code == said for file, line, said in found)


@pytest.mark.parametrize(("files", "guilty"), PROGRAMS)
def test_parts_are_judged_like_the_whole(
    files: dict[str, str], guilty: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = "|".join(Path(name).stem for name in files)
    whole = re.sub(rf"^from ([\w.]*\.)?({own}) import .*\n", "", "".join(files.values()), flags=re.M)
    assert is_said(said(tmp_path, write(tmp_path, {"whole.py": whole})), "whole.py", *guilty[1:])
    (tmp_path / "whole.py").unlink()
    names = write(tmp_path, files)
    assert is_said(said(tmp_path, names), *guilty)
    assert not is_said(said(tmp_path, [guilty[0]]), *guilty), "what is not linted leads nowhere"


def test_a_change_in_a_program_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = write(tmp_path, {"bench.py": BENCH, "script.py": "print('nothing yet')\n"})
    settings = {"no-cache": False, "cache-dir": str(tmp_path / "cache")}
    assert said(tmp_path, names, **settings) == []
    write(tmp_path, {"script.py": SCRIPT})
    assert is_said(said(tmp_path, names, **settings), "bench.py", "append", "TML307")
    write(tmp_path, {"script.py": SCRIPT.replace("bench.run", "print")})
    assert said(tmp_path, names, **settings) == []


POOLED = """
import multiprocessing as mp
import torch

def work(model, tasks, results):
    while True:
        number, rows = tasks.get()
        try:
            outputs = model(rows)
        except RuntimeError as error:
            results.put([number, error])
        else:
            results.put([number, outputs.sum().item()])

class Pool:
    def __init__(self, model):
        context = mp.get_context("spawn")
        self.tasks, self.results = context.Queue(), context.Queue()
        self.process = context.Process(target=work, args=(model, self.tasks, self.results))
        self.process.start()

    def map(self, batches):
        outputs = [None] * len(batches)
        for number, rows in enumerate(batches):
            self.tasks.put([number, rows])
        for _ in batches:
            number, output = self.results.get()
            outputs[number] = output
        for output in outputs:
            if isinstance(output, Exception):
                raise output
        return outputs

    def close(self):
        self.process.terminate()
        self.process.join()
"""
POOLS = """
import torch
from torch import nn
from pooled import Pool

def main():
    pool = Pool(nn.Linear(8, 1))
    for _ in range(4):
        print(pool.map([torch.rand(4, 8) for _ in range(3)]))
    pool.close()

if __name__ == "__main__":
    main()
"""
STOPPED = """
import torch
from watch import Watch

def fit(model):
    watch = Watch(model)
    try:
        model(torch.rand(4, 8)).mean().backward()
    finally:
        watch.stop()
"""
ANOTHER = FOLDS.replace("from fit import", "from sklearn_like import")
LOADED = """
import gc
import torch
from torch import nn

model = None
scorer = None

class Scorer:
    def __init__(self, net):
        self.net = net

    @torch.inference_mode()
    def score(self, rows):
        return self.net(rows).sum().item()

def load(width):
    global model, scorer
    model = nn.Linear(width, width).eval()
    scorer = Scorer(model)

def unload():
    global model, scorer
    model = scorer = None
    gc.collect()
    torch.cuda.empty_cache()
"""
LOADS = """
import torch
from loaded import load, scorer, unload

def main():
    for _ in range(5):
        load(256)
        print(scorer.score(torch.rand(4, 256)))
        unload()

if __name__ == "__main__":
    main()
"""
CAPTIONS = """
import asyncio
import torch
from torch import nn

class Ticket:
    def __init__(self, picture):
        self.picture = picture
        self.answer = asyncio.get_running_loop().create_future()

class Captions:
    def __init__(self):
        self.net = nn.Linear(8, 4)
        self.inbox = asyncio.Queue(4)
        self.tickets = {}

    async def caption(self, number, picture):
        ticket = Ticket(picture)
        self.tickets[number] = ticket
        await self.inbox.put(number)
        return await ticket.answer

    async def work(self):
        while True:
            ticket = self.tickets.pop(await self.inbox.get())
            with torch.no_grad():
                ticket.answer.set_result(self.net(ticket.picture).argmax().item())
"""
SERVE = """
import asyncio
import torch

async def serve(captions, steps):
    worker = asyncio.create_task(captions.work())
    for number in range(steps):
        print(await captions.caption(number, torch.rand(8)))
    worker.cancel()
"""
START = """
import asyncio
from captions import Captions
from serve import serve

def main(steps):
    captions = Captions()
    asyncio.run(serve(captions, steps))
    return captions

if __name__ == "__main__":
    main(10)
"""
INNOCENT = {
    "a worker that a third file starts": {"captions.py": CAPTIONS, "serve.py": SERVE, "start.py": START},
    "a global that goes, by its imported name": {"loaded.py": LOADED, "loads.py": LOADS},
    "a pickled exception": {"pooled.py": POOLED, "pools.py": POOLS},
    "a thread that is stopped": {"watch.py": WATCH, "fit.py": STOPPED, "folds.py": FOLDS},
    "a function of the same name": {"watch.py": WATCH, "fit.py": FIT, "folds.py": ANOTHER},
    "calls of a test": {"watch.py": WATCH, "fit.py": FIT, "tests/test_folds.py": FOLDS},
    "one call": {"watch.py": WATCH, "fit.py": FIT, "folds.py": FOLDS.replace("for fold in range(5)", "if True")},
}


@pytest.mark.parametrize("files", INNOCENT.values(), ids=INNOCENT.keys())
def test_programs_without_a_fault(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(tmp_path, write(tmp_path, files)) == []
