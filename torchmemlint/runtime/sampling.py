"""Tracks whole steps of a program, and leaves out as many as keep the cost within a share of the time.

Tracking an operation costs some ten microseconds, however little there is to do, so what makes many small ones would be
slowed down without a limit. Steps are told by the flagged statements, by loops in the program's own files, and by
optimizers: between two of them tracking may be switched, since nothing of the program's runs inside of it there.
"""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.optim import optimizer
from torch.utils import _python_dispatch

from .ledger import Ledger, Tracking, tracking

SHARE = 0.08  # of the time may be spent on tracking
_FREE = 0.05  # seconds of it that are spent before: short programs are tracked as a whole
_LEAST = 0.005  # seconds, at least, between two decisions
_STACKS = 1.5  # how much more an operation costs deep inside of modules than in a trial
_MADE_BY = frozenset(("lift_fresh", "lift_fresh_copy", "set_"))  # say that they alias, and show what was just made
_STEPS = frozenset("backward step model net network forward no_grad inference_mode zero_grad training_step".split())


class Seeing(Tracking):  # type: ignore[no-untyped-call,unused-ignore]
    """Enters what operations make, and leaves views and what they change in place alone."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._fresh: dict[Any, bool] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **kwargs) if kwargs else func(*args)
        fresh = self._fresh.get(func)
        if fresh is None:
            fresh = self._fresh[func] = _makes(func)
        if fresh:
            self._enter(result)
        self._ledger.tick()
        return result


def _makes(func: Any) -> bool:
    """Whether an operation gives a storage of its own."""
    schema = getattr(func, "_schema", None)
    if schema is None or schema.name.partition("::")[2] in _MADE_BY:
        return True
    return any(one.alias_info is None for one in schema.returns)


class Sampling:
    """Switches tracking on and off in the thread that began it. `share` of the time may be spent on it."""

    def __init__(self, ledger: Ledger, share: float = SHARE) -> None:
        self._ledger, self._share = ledger, share
        self._mode = Seeing(ledger)
        self._thread = threading.get_ident()
        self._cost = 0.0  # seconds an operation
        self._debt = -_FREE
        self._on = False
        self._operations = 0
        self._since = self._next = 0.0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Everything that happens inside is tracked, but for the steps that are left out."""
        self._cost = _cost_of_an_operation()
        handle = optimizer.register_optimizer_step_post_hook(self._stepped)
        self._since = time.thread_time()
        with tracking(self._ledger, Seeing, here=False):
            self._switch(on=True)
            try:
                yield
            finally:
                handle.remove()
                self._switch(on=False)

    def _stepped(self, *_: Any) -> None:
        if not torch.compiler.is_compiling():
            self.turn()

    def turn(self) -> None:
        """A step of the program begins or ends."""
        now = time.thread_time()  # not the clock's: on a busy machine, both what is tracked and tracking it take longer
        if now < self._next or threading.get_ident() != self._thread:
            return
        self._next = now + _LEAST
        done = self._ledger.operations - self._operations
        self._debt += (done * self._cost if self._on else 0.0) - self._share * (now - self._since)
        self._debt = max(self._debt, -_FREE)
        self._since, self._operations = now, self._ledger.operations
        if self._on and self._debt > 0:
            self._switch(on=False)
            self._ledger.sampled = True
        elif not self._on and self._debt <= 0:
            self._debt = 0.0
            self._switch(on=True)

    def _switch(self, *, on: bool) -> None:
        """Only where no mode of the program's own is in the way."""
        top = _python_dispatch._get_current_dispatch_mode()
        if on and top is None:
            self._mode.__enter__()  # type: ignore[no-untyped-call,unused-ignore]
            self._on = True
        elif not on and top is self._mode:
            self._mode.__exit__(None, None, None)  # type: ignore[no-untyped-call,unused-ignore]
            self._on = False


def _cost_of_an_operation(times: int = 60) -> float:
    """Seconds that tracking adds to an operation."""
    ledger = Ledger()
    tensor, spent = torch.zeros(4), []
    for mode in (Seeing(ledger), nullcontext()):
        best = 1.0
        for _ in range(4):
            with mode:
                began = time.thread_time()
                for _ in range(times):
                    tensor.add(1)
                best = min(best, time.thread_time() - began)
        spent.append(best / times)
    return max(spent[0] - spent[1], 0.0) * _STACKS


def turns(tree: ast.Module, recorder: str) -> ast.Module:
    """The module with a word at each turn of loops that train or evaluate something."""
    for node in list(ast.walk(tree)):
        if not isinstance(node, (ast.For, ast.While)):
            continue
        names = {getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(node)}
        if names & _STEPS:
            function = ast.Attribute(ast.Name(recorder, ast.Load()), "turn", ast.Load())
            node.body.insert(0, ast.copy_location(ast.Expr(ast.Call(function, [], [])), node.body[0]))
    return ast.fix_missing_locations(tree)
