"""Threads and processes that a snippet starts: those that it leaves running go on, and no wait is for ever.

Threads are real; loops in them go round slowly, until the run is over. In the place of each process is a thread with
what is handed in itself, not a copy: it tells when the process would end, and nothing of its memory.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing.dummy
import queue
import signal
import threading
import time
import types
from collections.abc import Iterator
from typing import Any

from .standins import Bag

_TURN = 0.01  # seconds between two turns of a loop that goes on
_PATIENCE, _IN_ALL = 0.25, 1.5  # seconds for one wait of the snippet's, and for all of them
_SETTLING = 1.0  # seconds for what was told to end
_WAITING = frozenset(("queue", "_queue", "threading", "_thread", "concurrent", "multiprocessing"))
STARTERS = ("multiprocessing", "torch.multiprocessing")  # modules that start processes
_ENDED = object()  # what a connection says that was closed


class TooLong(BaseException):
    """The time for something is over: not to be healed."""


class Waited(Exception):
    """Nobody ended a wait."""


class Process(threading.Thread):
    """A thread in the place of a process. Told to end, it counts as ended: a real one is stopped wherever it is."""

    pid = sentinel = 1
    told_to_end = False

    def __init__(
        self, group: Any = None, target: Any = None, name: Any = None, args: Any = (), kwargs: Any = None,
        *, daemon: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(group, target, name, args, kwargs, daemon=daemon)

    @property
    def exitcode(self) -> int | None:
        return None if self.is_alive() and not self.told_to_end else 0

    def terminate(self) -> None:
        self.told_to_end = True

    kill = terminate

    def is_alive(self) -> bool:
        return not self.told_to_end and super().is_alive()

    def join(self, timeout: float | None = None) -> None:
        if not self.told_to_end:
            super().join(timeout)

    def close(self) -> None:
        pass


class Queue(queue.Queue[Any]):
    """A queue between processes."""

    def close(self) -> None:
        pass

    join_thread = cancel_join_thread = close


class Connection:
    """An end of a pipe. Closed by the program itself, it ends the process that waits at the other one, as EOFError
    would: that would be healed. A process closes but copies.
    """

    def __init__(self, received: queue.Queue[Any], sent: queue.Queue[Any]) -> None:
        self._received, self._sent = received, sent

    def send(self, value: Any) -> None:
        self._sent.put(value)

    def recv(self) -> Any:
        while (value := _until_told(self._received.get)) is _ENDED:
            if not is_main():
                raise TooLong
        return value

    def poll(self, timeout: float | None = 0.0) -> bool:
        if timeout and self._received.empty():
            time.sleep(min(timeout, _TURN))
        return not self._received.empty()

    def close(self) -> None:
        if is_main():
            self._sent.put(_ENDED)


def pipe(duplex: bool = True) -> tuple[Connection, Connection]:
    one, other = queue.Queue[Any](), queue.Queue[Any]()
    return Connection(one, other), Connection(other, one)


class Processes(types.ModuleType):
    """`multiprocessing`, and each context of it, with threads in the place of processes."""

    def __init__(self, name: str = "multiprocessing") -> None:
        super().__init__(name)
        dummy = multiprocessing.dummy
        self.__dict__.update({one: getattr(dummy, one) for one in dummy.__all__ if hasattr(dummy, one)})
        self.__dict__.update(
            Process=Process, Queue=Queue, SimpleQueue=Queue, JoinableQueue=Queue, Pipe=pipe,
            get_context=lambda *_: self, active_children=lambda: [one for one in running() if type(one) is Process],
            cpu_count=lambda: 2, set_start_method=lambda *_, **__: None, get_start_method=lambda *_, **__: "fork",
            current_process=threading.current_thread,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.__dict__[name] = Bag(f"{self.__name__}.{name}", foreign=True)
        return found


class ProcessPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """An executor of processes, with threads in their place."""

    def __init__(
        self, max_workers: int | None = None, mp_context: Any = None, initializer: Any = None, initargs: Any = (),
        **_: Any,
    ) -> None:  # fmt: skip
        super().__init__(max_workers, initializer=initializer, initargs=initargs)


PROCESSES = Processes()


def instead(value: Any) -> Any:
    """What takes the place of a value that would start processes."""
    if isinstance(value, types.ModuleType) and value.__name__ in STARTERS:
        return PROCESSES
    return ProcessPoolExecutor if value is concurrent.futures.ProcessPoolExecutor else value


def running() -> list[threading.Thread]:
    """Threads and stand-ins for processes that have not ended, and were not told to."""
    return [one for one in threading.enumerate() if one.is_alive()]


def waits(function: Any) -> bool:
    """Whether a call may wait for another thread."""
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
    return module == __name__ or str(module).partition(".")[0] in _WAITING


def must_end() -> bool:
    """Whether the thread that asks is to end."""
    return bool(getattr(threading.current_thread(), "told_to_end", False))


def _until_told(function: Any) -> Any:
    """What `get` or `wait` gives, unless the thread that calls it is told to end. Raises TooLong."""
    while True:
        with contextlib.suppress(queue.Empty):
            result = function(timeout=_TURN)
            if result or function.__name__ == "get":
                return result
        if must_end():
            raise TooLong


def is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


class Tasks:
    """What one run has started, and how long it may still wait."""

    def __init__(self) -> None:
        self._before = set(running())
        self._left = _IN_ALL

    def goes_on(self) -> bool:
        """Whether a loop goes on that has gone round often enough: in a thread it does, and takes its time."""
        if is_main():
            return False
        time.sleep(_TURN)
        return True

    def wait(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call that may wait: the main thread does for a while, others until they are told to end. Raises Waited."""
        if is_main():
            with self._patience():
                return function(*args, **kwargs)
        if args or kwargs or getattr(function, "__name__", "") not in ("get", "wait"):
            return function(*args, **kwargs)
        return _until_told(function)

    @contextlib.contextmanager
    def _patience(self) -> Iterator[None]:
        began = time.monotonic()
        signal.signal(signal.SIGALRM, _give_up)
        signal.setitimer(signal.ITIMER_REAL, max(min(_PATIENCE, self._left), _TURN))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._left -= time.monotonic() - began

    def left(self) -> tuple[int, int]:
        """How many of its threads go on, and of its processes, once those had time to end that were told to."""
        self._settle()
        own = self._own()
        processes = sum(isinstance(one, Process) for one in own)
        return len(own) - processes, processes

    def end(self) -> None:
        """Have its loops and waits end."""
        for one in self._own():
            one.told_to_end = True  # type: ignore[attr-defined]
        self._settle()

    def _settle(self) -> None:
        until = time.monotonic() + _SETTLING
        while self._own() and time.monotonic() < until:
            time.sleep(_TURN)

    def _own(self) -> list[threading.Thread]:
        return [one for one in running() if one not in self._before]


def _give_up(*_: object) -> None:
    raise Waited("nobody ended the wait")
