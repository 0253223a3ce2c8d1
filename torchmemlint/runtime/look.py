"""What is alive at one moment: bytes, autograd nodes, descriptors, shared segments."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import psutil
import torch

from . import isolation
from .ledger import Ledger, live_tensors

_COLLECTIONS = 20  # at most, for one look


@dataclass(frozen=True)
class Look:
    """What was alive at one moment, beyond what was alive before the program began."""

    bytes: int  # of tensor storages
    storages: int
    nodes: int  # of autograd graphs, reachable from live tensors
    text: int  # characters of stacks that anomaly mode left on nodes
    heap: int  # bytes handed out by the C allocator: an estimate, never the only witness
    fds: int  # open file descriptors
    shm: int  # bytes of POSIX shared memory segments on the system
    allocated: int  # bytes, by the CUDA allocator; 0 without CUDA
    reserved: int
    taken: int  # bytes of the device that are not free, whoever has them: contexts and other allocators, too
    threads: int
    children: int  # processes below this one
    private: int  # bytes of memory that are private to them

    def minus(self, other: Look) -> Look:
        return Look(**{name: getattr(self, name) - getattr(other, name) for name in self.__dataclass_fields__})


def look(ledger: Ledger, since: Look | None = None) -> Look:
    """What is alive now, less what was alive at `since`."""
    used, tensors = heap(), live_tensors()
    ledger.sweep(tensors)
    total, count = ledger.total, ledger.count
    nodes, text = graph_size(tensors)
    del tensors
    allocated, reserved, taken = _device_bytes()
    below = [pid for pid in isolation.children(os.getpid()) if not _is_tracker(pid)]
    now = Look(
        total, count, nodes, text, used, _descriptors(), _segments(), allocated, reserved, taken,
        threading.active_count(), len(below), sum(map(isolation.private_bytes, below)),
    )  # fmt: skip
    return now if since is None else now.minus(since)


def look_after_collecting(ledger: Ledger, since: Look | None = None) -> Look:
    """Collect until nothing changes: a chain of cycles through C++ comes apart one link at a time."""
    looks: list[Look] = []
    while len(looks) < 2 or (looks[-1].bytes != looks[-2].bytes and len(looks) < _COLLECTIONS):
        gc.collect()  # torchmemlint: ignore[TML606] -- the rounds are what it measures
        looks.append(look(ledger, since))
    return looks[-1]


def graph_size(tensors: Iterable[torch.Tensor], *, stacks: bool = True) -> tuple[int, int]:
    """Autograd nodes reachable from tensors, and the characters of `stacks` kept on them."""
    seen: dict[int, Any] = {}
    queue: list[Any] = []
    for tensor in tensors:
        queue.append(tensor.grad_fn)
        if tensor.is_leaf and tensor.grad is not None:
            queue.append(tensor.grad.grad_fn)
    text = 0
    while queue:
        node = queue.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node  # held, so that no other node can take its address
        if stacks:  # asked for, it makes a dictionary for each node
            text += sum(len(line) for line in node.metadata.get("traceback_", ()))
        queue.extend(following for following, _ in node.next_functions)
    return len(seen), text


def heap() -> int:
    """Bytes handed out by the C allocator; 0 where psutil cannot tell (before 7.2, or an unknown C library)."""
    try:
        info = psutil.heap_info()
    except (AttributeError, NotImplementedError, OSError):
        return 0
    return int(info.heap_used + info.mmap_used)


def _is_tracker(pid: int) -> bool:
    """Whether a process is multiprocessing's own, which cleans up after the others."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"resource_tracker" in file.read()
    except OSError:
        return True


def _descriptors() -> int:
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # less the one that lists
    except OSError:
        return 0


def _segments() -> int:
    total = 0
    try:
        with os.scandir("/dev/shm") as entries:
            for entry in entries:
                total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        pass
    return total


def _device_bytes() -> tuple[int, int, int]:
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return 0, 0, 0
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), total - free


def wake_device(device: str) -> None:
    """Make the context now, and give back what an earlier run left cached: neither is the program's. Figures are those
    of this device."""
    torch.cuda.init()  # type: ignore[no-untyped-call]
    if torch.device(device).index is not None:
        torch.cuda.set_device(device)
    torch.cuda.empty_cache()


def modes() -> dict[str, bool]:
    """The switches of autograd that a program may leave changed."""
    return {
        "gradients": torch.is_grad_enabled(),
        "anomaly detection": torch.is_anomaly_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "profiler": torch.autograd._profiler_enabled(),  # type: ignore[attr-defined]
    }
