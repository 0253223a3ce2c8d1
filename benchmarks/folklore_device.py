"""The figures of docs/folklore.md that only a GPU can tell. One line for each entry; says so where there is none.

python benchmarks/folklore_device.py

`allocated` and `reserved` are bytes of PyTorch's caching allocator (pytorch.org/docs/stable/notes/cuda.html, "Memory
management"), `taken` those of the device that are not free, whoever has them.
"""

from __future__ import annotations

import gc
import importlib.util
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

MIB = 1 << 20
SIDE = 4096  # a square of it is 64 MiB


def allocated() -> int:
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated() // MIB


def reserved() -> int:
    torch.cuda.synchronize()
    return torch.cuda.memory_reserved() // MIB


def taken() -> int:
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return (total - free) // MIB


def block() -> torch.Tensor:
    return torch.empty(SIDE, SIDE, device="cuda")


def in_thread(work: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def emptied_by_one_thread() -> list[int]:
    """Reserved: with a block dropped in each of four threads and one kept here, after one thread's empty_cache(), after
    that of three more, and after a drop and one more."""
    kept = block()
    for _ in range(4):
        in_thread(lambda: block().zero_().ndim)
    dropped = [block() for _ in range(4)]
    dropped.clear()
    seen = [reserved()]
    in_thread(torch.cuda.empty_cache)
    seen.append(reserved())
    for _ in range(3):
        in_thread(torch.cuda.empty_cache)
    seen.append(reserved())
    del kept
    torch.cuda.empty_cache()
    return [*seen, reserved()]


def freed_without_synchronizing() -> tuple[int, int, bool]:
    """Allocated with the work on a block under way, right after `del`, and whether the next block takes its place."""
    torch.cuda.empty_cache()
    first = block()
    for _ in range(200):
        first.mul_(1.0001)
    busy, place = torch.cuda.memory_allocated() // MIB, first.data_ptr()
    del first
    after = torch.cuda.memory_allocated() // MIB
    return busy, after, block().data_ptr() == place


def to_host_before_del() -> tuple[int, int]:
    """Allocated after `tensor = tensor.cpu(); del tensor`, and after `del tensor` alone."""
    tensor = block()
    tensor = tensor.cpu()
    del tensor
    moved = allocated()
    tensor = block()
    del tensor
    return moved, allocated()


class Trainer:
    def __init__(self) -> None:
        self.model = block()
        self.itself = self


def order_of_cleaning(collect_first: bool) -> int:
    """Reserved after a trainer in a cycle was dropped and cleaned up after."""
    torch.cuda.empty_cache()
    trainer = Trainer()
    del trainer
    for step in (gc.collect, torch.cuda.empty_cache) if collect_first else (torch.cuda.empty_cache, gc.collect):
        step()
    left = reserved()
    gc.collect()
    torch.cuda.empty_cache()
    return left


def streams(count: int, tasks: int = 40) -> tuple[int, int]:
    """Reserved, and the addresses of streams, after tasks that use so many streams in turn (0: a new one each)."""
    torch.cuda.empty_cache()
    before = reserved()
    model = nn.Linear(SIDE, SIDE, device="cuda")
    made = [torch.cuda.Stream() for _ in range(count)]
    used = set()
    for task in range(tasks):
        stream = made[task % count] if made else torch.cuda.Stream()
        used.add(stream.cuda_stream)
        with torch.cuda.stream(stream), torch.no_grad():
            model(torch.empty(256, SIDE, device="cuda")).sum()
        stream.synchronize()
    del model
    return reserved() - before, len(used)


def cost_of_emptying() -> tuple[float, float]:
    """Milliseconds a step without and with `empty_cache()` in each."""

    def step() -> None:
        one = block()
        (one + 1).sum()

    def run(empty: bool) -> float:
        step()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(100):
            step()
            if empty:
                torch.cuda.empty_cache()
        torch.cuda.synchronize()
        return round((time.perf_counter() - began) * 10, 3)

    return run(False), run(True)


def context_of_a_process() -> int:
    """Taken by another process that has one number on the device."""
    import multiprocessing

    spawn = multiprocessing.get_context("spawn")
    mine, other = spawn.Pipe()
    before = taken()
    process = spawn.Process(target=_touch, args=(other,))
    process.start()
    mine.recv()
    during = taken()
    mine.send(None)
    process.join()
    return during - before


def _touch(pipe: Any) -> None:
    number = torch.ones(1, device="cuda")
    torch.cuda.synchronize()
    pipe.send(None)
    pipe.recv()
    del number


def kept_for_later() -> list[int]:
    """Taken: before, with a block, after `del`, after empty_cache()."""
    torch.cuda.empty_cache()
    seen = [taken()]
    tensor = block()
    seen.append(taken())
    del tensor
    seen.append(taken())
    torch.cuda.empty_cache()
    return [one - seen[0] for one in [*seen, taken()]]


def pinned() -> list[int]:
    """Bytes of pinned host memory: with a pinned block, and after `del`."""
    stats = torch.cuda.host_memory_stats
    tensor = torch.empty(SIDE, SIDE).pin_memory()
    held = stats()["allocated_bytes.current"] // MIB
    del tensor
    gc.collect()
    return [held, stats()["allocated_bytes.current"] // MIB]


def pycuda_threads() -> dict[str, int]:
    """Taken after a thread with a context of its own, by what it did with its allocation."""
    import pycuda.driver as cuda

    cuda.init()
    found = {}
    for name in ("local", "freed", "kept", "kept and dropped later", "detached"):
        before, kept = taken(), []

        def work(name: str = name, kept: list[Any] = kept) -> None:
            context = cuda.Device(0).make_context()
            memory = cuda.mem_alloc(64 * MIB)
            if name == "freed":
                memory.free()
            elif name != "local":
                kept.append(memory)
            del memory
            context.pop()
            if name == "detached":
                context.detach()

        in_thread(lambda work=work: work())  # type: ignore[misc]
        if name == "kept and dropped later":
            kept.clear()
        found[name] = taken() - before
    found["has mem_free"] = int(hasattr(cuda, "mem_free"))
    return found


def main() -> None:
    if not torch.cuda.is_available():
        print("no GPU: nothing can be said")
        return
    gc.disable()
    torch.ones(1, device="cuda")
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "(figures in MiB)")
    rows: list[tuple[str, Callable[[], Any]]] = [
        ("empty_cache() in one thread, in three more, after a drop", emptied_by_one_thread),
        ("allocated: busy, after del; the same place", freed_without_synchronizing),
        ("cpu() before del, del alone", to_host_before_del),
        ("reserved: empty_cache() then collect", lambda: order_of_cleaning(False)),
        ("reserved: collect then empty_cache()", lambda: order_of_cleaning(True)),
        ("reserved, streams used: one stream", lambda: streams(1)),
        ("reserved, streams used: four streams", lambda: streams(4)),
        ("reserved, streams used: one for each of 40 tasks", lambda: streams(0)),
        ("ms a step without empty_cache(), with", cost_of_emptying),
        ("taken: before, with a block, after del, after empty_cache()", kept_for_later),
        ("taken by another process's context", context_of_a_process),
        ("pinned: held, after del", pinned),
    ]
    if importlib.util.find_spec("pycuda"):
        rows.append(("taken after a PyCUDA thread", pycuda_threads))
    for name, measure in rows:
        try:
            said = measure()
        except Exception as error:  # each row for itself
            said = f"not measured: {type(error).__name__}: {error}"
        print(f"{name}: {said}", flush=True)


if __name__ == "__main__":
    main()
