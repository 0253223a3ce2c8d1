"""How a run is ended from outside: Ctrl-C, a closed terminal, a service that stops its jobs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# One that was told to ignore a signal (`nohup`) goes on ignoring it. Windows has no SIGHUP.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """A signal that ends the run: what it holds is let go on the way out, as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def heeded() -> Iterator[None]:
    """Signals inside raise Ended, and are what they were before afterwards. Only the main thread may ask for it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()

    def end(number: int, _: FrameType | None) -> None:
        if os.getpid() != owner:  # a worker that was forked a moment ago
            os._exit(128 + number)
        raise Ended(number)

    before = {one: signal.getsignal(one) for one in SIGNALS}
    for one, handler in before.items():
        if handler == signal.SIG_DFL:
            signal.signal(one, end)
    try:
        yield
    finally:
        for one, handler in before.items():
            if handler == signal.SIG_DFL:
                signal.signal(one, handler)


def exit_code(error: KeyboardInterrupt) -> int:
    """What a shell would report of a program that the signal had ended."""
    return 128 + (error.number if isinstance(error, Ended) else signal.SIGINT)
