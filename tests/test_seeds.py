"""Advice as it is met in the wild: fourteen programs that people are told leak, or told do not.

Most of them keep nothing: a local tensor goes when its function returns, whatever the text beside it says. Those
that do are named in `GUILTY`, with the rule and the row. Every rule must be silent on all others; the last test shows
that this is not because nothing is looked at.
"""

from __future__ import annotations

import pytest
from conftest import NOWHERE

from torchmemlint.config import load
from torchmemlint.linter.engine import lint_source, plan
from torchmemlint.source import decode

PLAN = plan(load(NOWHERE, {"min-confidence": "medium", "no-cache": True}, isolated=True))

PROGRAMS = {
    "thread: clean-up before the end of run": """
import gc
import torch
from PySide6.QtCore import QThread


class Worker(QThread):
    def run(self):
        where = "cuda" if torch.cuda.is_available() else "cpu"
        block = torch.rand(1024, 1024, device=where)
        self.msleep(500)
        del block
        if where == "cuda":
            torch.cuda.empty_cache()
        gc.collect()


if __name__ == "__main__":
    workers = []
    for _ in range(4):
        workers.append(Worker())
        workers[-1].start()
    for worker in workers:
        worker.wait()
""",
    "thread: moved to the host and deleted": """
import gc
import torch
from PySide6.QtCore import QThread


class Converter(QThread):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def run(self):
        table = torch.tensor(self.rows, device="cuda")
        table = table.cpu()
        del table
        gc.collect()


def convert(tables):
    running = []
    for rows in tables:
        converter = Converter(rows)
        running.append(converter)
        converter.start()
    for converter in running:
        converter.wait()
""",
    # a finding for a rule about deletions of borrowed names: the `with` of the caller still holds the tensor
    "thread: a context manager that deletes what it yielded": """
import contextlib
import gc
import torch
from PySide6.QtCore import QThread


@contextlib.contextmanager
def scratch(shape, device):
    block = torch.empty(shape, device=device).normal_()
    try:
        yield block
    finally:
        del block
        torch.cuda.empty_cache()
        gc.collect()


class Worker(QThread):
    def run(self):
        with scratch((256, 256), "cuda") as block:
            print((block * block).sum().item())
""",
    "device memory: locals of a function": """
import torch


def multiply(n):
    a = torch.rand(n, n, device="cuda")
    b = torch.rand(n, n, device="cuda")
    c = a.matmul(b)
    print("multiplied", c.shape)


multiply(4096)
""",
    "device memory: synchronise": """
import time
import torch


def multiply(n):
    a = torch.rand(n, n, device="cuda")
    c = torch.mm(a, a.t())
    time.sleep(0.5)
    torch.cuda.synchronize()
    print("done")
    return None


multiply(4096)
""",
    "device memory: a holder that is dropped": """
import torch


class Holder:
    def __init__(self, n):
        self.block = torch.rand(n, n)

    def doubled(self):
        return self.block * 2


def use():
    holder = Holder(2048)
    doubled = holder.doubled()
    holder = None
    print(doubled.shape)
    doubled = None


use()
""",
    "pycuda: an allocation in a thread": """
import threading
import pycuda.autoinit
import pycuda.driver as driver


def work():
    pointer = driver.mem_alloc(1 << 22)
    print(int(pointer))


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
    "pycuda: freed by a function that does not exist": """
import threading
import pycuda.autoinit
import pycuda.driver as driver


def work():
    pointer = driver.mem_alloc(1 << 22)
    driver.mem_free(pointer)


for _ in range(4):
    threading.Thread(target=work).start()
""",
    "pycuda: freed in a destructor": """
import threading
import pycuda.autoinit
import pycuda.driver as driver


class Block:
    def __init__(self, size):
        self.pointer = driver.mem_alloc(size)

    def __del__(self):
        driver.mem_free(self.pointer)


def work():
    block = Block(1 << 22)
    print(block.pointer)


threading.Thread(target=work).start()
""",
    "host memory: temporaries of a loop": """
import torch


def grind(shape, rounds):
    for _ in range(rounds):
        left = torch.rand(shape)
        right = torch.rand(shape)
        product = left @ right


grind((2000, 2000), 50)
""",
    "host memory: a process started for each item": """
import os
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, n):
        self.rows = np.random.rand(n, 64)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        os.system("true")
        return torch.from_numpy(self.rows[index])


if __name__ == "__main__":
    for step, batch in enumerate(DataLoader(Rows(1000), batch_size=10, num_workers=2)):
        pass
""",
    # a finding for a rule about workers: each keeps an array of its own until the pool ends
    "host memory: a global filled by a pool's workers": """
import numpy as np
import torch
import torch.multiprocessing as multiprocessing

TABLE = None


def look_up(n):
    global TABLE
    if TABLE is None:
        TABLE = np.random.rand(n, 64)
    return torch.tensor(TABLE)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(3) as pool:
        tables = pool.map(look_up, [1000] * 3)
""",
    "notebook: a model run in inference mode": """
import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(100, 200)
        self.out = nn.Linear(200, 10)

    def forward(self, x):
        return self.out(self.hidden(x).relu()).softmax(-1)


model = Small()
batch = torch.rand(64, 100)
with torch.inference_mode():
    output = model(batch)


def show_memory():
    f"{torch.cuda.memory_allocated()} of {torch.cuda.memory_reserved()}"
""",
    "notebook: a helper that sets its own list to None": """
import gc
import torch


def release(*things):
    things = list(things)
    for index in range(len(things)):
        if hasattr(things[index], "to"):
            things[index] = things[index].to("cpu")
        things[index] = None
    gc.collect()
    torch.cuda.empty_cache()
    return things


def main(model, batch):
    with torch.inference_mode():
        output = model(batch)
    print(output.shape)
    model, batch, output = release(model, batch, output)
""",
}


GUILTY = {
    "thread: a context manager that deletes what it yielded": ["14: TML602"],
    "pycuda: freed by a function that does not exist": ["9: TML704"],
    "pycuda: freed in a destructor": ["12: TML704"],
    "host memory: a global filled by a pool's workers": ["12: TML401"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_verdict(name: str) -> None:
    text = PROGRAMS[name]
    compile(text, name, "exec")
    found = lint_source(decode("a.py", text.encode()), PLAN)
    assert [f"{f.start.row}: {f.code}" for f in found] == GUILTY.get(name, [])


def test_all_are_here() -> None:
    assert len(PROGRAMS) == 14


def test_the_same_holder_is_reported_when_it_keeps_a_graph() -> None:
    changed = PROGRAMS["device memory: a holder that is dropped"].replace(
        """    holder = Holder(2048)
    doubled = holder.doubled()
""",
        """    holder, layer, doubled = Holder(8), torch.nn.Linear(8, 1), 0.0
    for _ in range(9):
        loss = layer(holder.doubled()).sum()
        loss.backward()
        doubled += loss
""",
    )
    assert [f.code for f in lint_source(decode("a.py", changed.encode()), PLAN)] == ["TML101"]
