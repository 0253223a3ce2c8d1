"""Live bytes by storage: each tensor storage that a program makes, the line that made it, and the peak.

A `TorchDispatchMode` sees every operation below autograd, so also what autograd saves and what backward and
optimizers make. A storage is entered once, by weak reference; views and in-place operations add nothing. The
storage's Python wrapper lives as long as the storage (PyTorch preserves it), so the weak reference's callback
tells when the last owner is gone, C++ owners included (torch/csrc/utils/pyobj_preservation.h).
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode, _pop_mode

_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.dirname(__file__) + os.sep
_CURVE = 400  # samples of the curve that are kept; more are thinned out


class Entry(NamedTuple):
    """A live storage: its weak reference, its size in bytes, and the file and line that made it."""

    ref: weakref.ref[Any]
    size: int
    site: tuple[str, int]


class Ledger:
    """The live storages of a program, their bytes, and the highest sum they reached."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.live: dict[int, Entry] = {}
        self.total = 0  # bytes
        self.count = 0  # storages
        self.peak = 0  # bytes
        self.count_at_peak = 0
        self.sampled = False  # whether some steps are left out
        self.curve: list[tuple[int, int]] = []  # operations so far, live bytes
        self._operations = 0
        self._stride = 1

    def see(self, tensor: torch.Tensor, *, old: bool = False, sized: bool = False, late: bool = False) -> None:
        """Enter a tensor's storage; one that was there before the program counts for nothing.

        One that is met `late` was made where no operation was seen: in a thread that Python did not start.
        """
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):  # sparse, opaque
            return
        key = storage._cdata
        known = self.live.get(key)
        if known is not None and known.ref() is storage:
            return
        size = 0 if (old and not sized) or tensor.device.type == "meta" else storage.nbytes()
        site = ("", 0) if old or late else _user_line(sys._getframe(1))
        with self._lock:
            if known is not None:
                self._gone(key, known.ref)  # the address is in use again
            self.live[key] = Entry(weakref.ref(storage, functools.partial(self._gone, key)), size, site)
            self.total += size
            self.count += size > 0
            if self.total > self.peak:
                self.peak, self.count_at_peak = self.total, self.count

    def _gone(self, key: int, ref: weakref.ref[Any]) -> None:
        with self._lock:
            entry = self.live.get(key)
            if entry is not None and entry.ref is ref:
                del self.live[key]
                self.total -= entry.size
                self.count -= entry.size > 0

    def shrink(self, tensor: torch.Tensor) -> None:
        """Count a tensor's storage as that of one element."""
        key = tensor.untyped_storage()._cdata
        with self._lock:
            entry = self.live.get(key)
            if entry is not None and entry.size > tensor.element_size():
                self.total -= entry.size - tensor.element_size()
                self.live[key] = entry._replace(size=tensor.element_size())

    def tick(self) -> None:
        """Count an operation, and add to the curve at every so many."""
        self._operations += 1
        if self._operations % self._stride == 0:
            self.curve.append((self._operations, self.total))
            if len(self.curve) >= 2 * _CURVE:
                self.curve = self.curve[1::2]
                self._stride *= 2

    @property
    def operations(self) -> int:
        return self._operations

    def size_of(self, storage: Any) -> int:
        """Bytes of a storage that the program made; 0 for one that was there before."""
        entry = self.live.get(storage._cdata)
        return entry.size if entry is not None and entry.ref() is storage else 0

    def adopt(self, *, sizes: bool = False) -> None:
        """Enter all tensors there are as older than the program; with `sizes`, their bytes count like all others."""
        for tensor in live_tensors():
            self.see(tensor, old=True, sized=sizes)
            if tensor.is_leaf and tensor.grad is not None:  # Python may never have met it
                self.see(tensor.grad, old=True, sized=sizes)

    def sweep(self, tensors: Iterable[torch.Tensor]) -> None:
        """Enter what was made where no dispatch mode was active, such as in threads of Qt.

        Not what has no dimension: PyTorch wraps numbers in such tensors, and they are seen by nobody.
        """
        for tensor in tensors:
            if tensor.dim() > 0:
                self.see(tensor, late=True)


def live_tensors() -> list[torch.Tensor]:
    """All tensors that Python knows of. By type: `isinstance` would wake lazy properties of other objects."""
    return [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor)]


class Tracking(TorchDispatchMode):  # type: ignore[no-untyped-call,unused-ignore]
    """Enters what every operation returns."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()  # type: ignore[no-untyped-call,unused-ignore]
        self._ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._enter(result)
        self._ledger.tick()
        return result

    def _enter(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self._ledger.see(value)
        elif isinstance(value, (tuple, list)):
            for item in value:
                self._enter(item)


@contextmanager
def tracking(ledger: Ledger, kind: type[Tracking] = Tracking, *, here: bool = True) -> Iterator[None]:
    """Everything that happens inside is entered, in this thread (if `here`) and in those started meanwhile.

    Dispatch modes are thread-local: each new thread gets one of its own.
    """
    bootstrap, process = threading.Thread._bootstrap_inner, os.getpid()  # type: ignore[attr-defined]

    def tracked(thread: threading.Thread) -> None:
        with kind(ledger) if os.getpid() == process else nullcontext():
            bootstrap(thread)

    threading.Thread._bootstrap_inner = tracked  # type: ignore[attr-defined]
    try:
        with kind(ledger) if here else nullcontext():
            yield
    finally:
        threading.Thread._bootstrap_inner = bootstrap  # type: ignore[attr-defined]


def leave_off() -> None:
    """Track nothing more, in a child process that has just been forked: nobody asks for what it enters."""
    while isinstance(_get_current_dispatch_mode(), Tracking):
        _pop_mode()


_SKIPPED: dict[str, bool] = {}  # by file: whether it is PyTorch's or ours


def _user_line(frame: FrameType | None) -> tuple[str, int]:
    """The innermost line that is neither PyTorch's nor ours."""
    while frame is not None:
        name = frame.f_code.co_filename
        skipped = _SKIPPED.get(name)
        if skipped is None:
            skipped = _SKIPPED[name] = name.startswith((_TORCH, _HERE))  # there are few files
        if not skipped:
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0
