"""The figures of docs/folklore.md: common advice about memory, run. Prints one line for each entry.

python benchmarks/folklore.py
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn

SIDE = 512  # a square of it is 1 MiB


def alive() -> int:
    """Bytes of the storages of all tensors, without collecting anything."""
    storages = {}
    for one in gc.get_objects():
        if issubclass(type(one), torch.Tensor):
            storages[one.untyped_storage().data_ptr()] = one.untyped_storage().nbytes()
    return sum(storages.values())


def block() -> torch.Tensor:
    return torch.rand(SIDE, SIDE)


def thread_ends(clean: bool) -> int:
    def run() -> None:
        tensor = block()
        tensor.sum()
        if clean:
            del tensor
            gc.collect()

    threads = [threading.Thread(target=run) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return alive()


def cpu_before_del() -> tuple[bool, int]:
    tensor = block()
    moved = tensor.cpu()
    same = moved.data_ptr() == tensor.data_ptr()
    tensor = moved
    del tensor, moved
    return same, alive()


@contextlib.contextmanager
def managed() -> Iterator[torch.Tensor]:
    tensor = block()
    try:
        yield tensor
    finally:
        del tensor
        gc.collect()


def managed_block() -> int:
    with managed() as tensor:
        tensor.sum()
    return alive()


def release(*things: Any) -> list[None]:
    listed: list[Any] = list(things)
    for index in range(len(listed)):
        listed[index] = None
    gc.collect()
    return listed


def release_dropped() -> tuple[int, int]:
    first, second = block(), block()
    release(first, second)
    dropped = alive()
    first, second = release(first, second)  # type: ignore[assignment]
    return dropped, alive()


class Trainer:
    def __init__(self) -> None:
        self.model = block()
        self.itself = self


def collected_late() -> tuple[int, int]:
    trainer = Trainer()
    del trainer
    emptied = alive()  # here empty_cache() is called
    gc.collect()
    return emptied, alive()


def optimizer_left() -> tuple[int, int]:
    model = nn.Linear(SIDE, SIDE, bias=False)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, SIDE)).sum().backward()
    optimizer.step()
    del model
    gc.collect()
    left = alive()
    del optimizer
    return left, alive()


def loop_temporary(delete: bool) -> list[int]:
    seen = []
    for _ in range(4):
        first = block()
        second = first @ first
        if delete:
            del second
        seen.append(alive())
    return [seen[0], seen[-1]]


def square(value: int) -> int:
    return value * value


def dropped_pools() -> tuple[int, int]:
    def process_pool() -> list[int]:
        return multiprocessing.get_context("fork").Pool(2).map(square, range(4))

    def thread_pool() -> list[int]:
        return list(ThreadPoolExecutor(2).map(square, range(4)))

    for _ in range(3):
        process_pool()
        thread_pool()
    time.sleep(0.5)
    return len(multiprocessing.active_children()), threading.active_count() - 1


_table: torch.Tensor | None = None


def build_table(index: int) -> bool:
    global _table
    built = _table is None
    if _table is None:
        _table = block()
    time.sleep(0.02)
    return built


def built_under_fork() -> int:
    with multiprocessing.get_context("fork").Pool(3) as pool:
        return sum(pool.map(build_table, range(12), chunksize=1))


def thread_under_no_grad() -> bool:
    layer, results = nn.Linear(2, 2), []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: results.append(layer(torch.ones(2)).requires_grad))
        thread.start()
        thread.join()
    return results[0]


def view_under_no_grad() -> tuple[bool, bool]:
    attached = nn.Linear(2, 2)(torch.ones(2))
    with torch.no_grad():
        return attached[:1].requires_grad, (attached * 1).requires_grad


def kept_losses() -> int:
    predicted = torch.rand(SIDE, SIDE, requires_grad=True)
    target = torch.zeros(SIDE, SIDE)
    detached = [nn.functional.mse_loss(predicted, target).detach() for _ in range(3)]
    return sum(one.untyped_storage().nbytes() for one in detached) // 3


def function_ends() -> int:
    def work() -> float:
        first, second = block(), block()
        return float((first + second).mean())

    work()
    return alive()


def executor_thread_local() -> int:
    local = threading.local()

    def task(index: int) -> None:
        local.last = block()

    pool = ThreadPoolExecutor(2)
    list(pool.map(task, range(8)))
    return alive()


def stored_exception() -> tuple[int, int]:
    def fail() -> None:
        tensor = block()
        raise ValueError(tensor.shape)

    kept = None
    try:
        fail()
    except ValueError as error:
        kept = error
    before = alive()
    assert kept is not None
    kept.with_traceback(None)
    return before, alive()


def main() -> None:
    gc.disable()
    torch.set_num_threads(1)
    print("thread ends, with and without del:", thread_ends(True), thread_ends(False))
    print("cpu() before del: same storage, alive:", *cpu_before_del())
    print("context manager that deletes what it yielded:", managed_block())
    print("release(...) dropped, assigned:", *release_dropped())
    print("alive when the cache is emptied, after collect:", *collected_late())
    gc.collect()
    print("optimizer left, dropped:", *optimizer_left())
    print("loop temporary, first and last round, without del, with:", loop_temporary(False), loop_temporary(True))
    print("dropped pools: processes, threads left:", *dropped_pools())
    gc.collect()
    print("tables built by 3 forked workers:", built_under_fork())
    print("a thread under no_grad records:", thread_under_no_grad())
    print("under no_grad: a view, a product require grad:", *view_under_no_grad())
    print("storage of a kept mse_loss().detach():", kept_losses())
    gc.collect()
    print("function ends:", function_ends())
    print("thread-local of a pool of two:", executor_thread_local())
    gc.collect()
    print("kept exception, without its traceback:", *stored_exception())


if __name__ == "__main__":
    main()
