"""For test suites: a leak that was fixed stays fixed.

    def test_epoch(assert_releases):
        with assert_releases():            # nothing made inside is alive afterwards
            run_epoch(model)

    def test_step(assert_releases):
        assert_releases(step, model)       # called repeatedly: what stays does not grow

    @pytest.mark.retains(max_bytes=1 << 20)
    def test_cache(): ...                  # once the test is over, no more than this is alive

Bytes are those of tensor storages on any device; autograd nodes count, too. A failure names who holds them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

import pytest

_WARM_UP, _CALLS = 2, 4


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "retains(max_bytes=0, max_nodes=0): what may be alive when the test is over")


@pytest.fixture
def assert_releases() -> Callable[..., AbstractContextManager[None] | None]:
    """A context manager, or a check of a function that is called repeatedly: see the module."""
    return _assert_releases


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Looks at a marked test: module and class attributes, caches and fixtures may hold what it made."""
    marker = item.get_closest_marker("retains")
    if marker is None:
        yield
        return
    pytest.importorskip("torch")
    from .ledger import Ledger, tracking

    ledger = Ledger()
    gc.collect()
    ledger.adopt(sizes=True)
    before, nodes = ledger.total, _nodes()
    with tracking(ledger):
        outcome = yield
    if outcome.excinfo is None:  # a test that failed has its frames, and all they hold, in the traceback
        try:
            _check(ledger, before, nodes, int(marker.kwargs.get("max_bytes", 0)), marker.kwargs.get("max_nodes"))
        except BaseException as error:
            outcome.force_exception(error)


def _assert_releases(
    function: Callable[..., Any] | None = None, /, *args: Any, max_bytes: int = 0, max_nodes: int = 0, **kwargs: Any
) -> AbstractContextManager[None] | None:
    """Without a function: a context manager. With one: it is called a few times, and what stays must not grow.

    `max_bytes` and `max_nodes` may stay alive (per call, with a function). Raises AssertionError that names holders.
    """
    if function is None:
        return _releasing(max_bytes, max_nodes)
    for _ in range(_WARM_UP):  # caches, lazy modules, optimizer state
        function(*args, **kwargs)
    with _releasing(_CALLS * max_bytes, _CALLS * max_nodes):
        for _ in range(_CALLS):
            function(*args, **kwargs)
    return None


@contextmanager
def _releasing(max_bytes: int, max_nodes: int) -> Iterator[None]:
    from .ledger import Ledger, tracking

    ledger = Ledger()
    gc.collect()
    ledger.adopt(sizes=True)  # a gradient that takes the place of an older one is no more than there was
    before, nodes = ledger.total, _nodes()
    with tracking(ledger):
        yield
    _check(ledger, before, nodes, max_bytes, max_nodes)


def _nodes() -> int:
    from .ledger import live_tensors
    from .look import graph_size

    return graph_size(live_tensors(), stacks=False)[0]


def _check(ledger: Any, before: int, nodes: int, max_bytes: int, max_nodes: int | None) -> None:
    """Raises AssertionError if more is alive than may be."""
    __tracebackhide__ = True
    from . import holders
    from .judge import readable

    gc.collect()
    more, grown = _nodes() - nodes, ledger.total - before
    if grown <= max_bytes and (max_nodes is None or more <= max_nodes):
        return
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(frames) < 30:
        if holders.is_users_file(frame.f_code.co_filename):
            frames.append(frame)
        frame = frame.f_back
    lines = [f"{readable(grown)} of tensor storages and {max(more, 0)} autograd nodes more than before are alive"]
    for held in holders.walk(ledger, frames):
        if not held.sites and not held.nodes:
            continue  # there before
        kept = f" and {held.nodes} autograd nodes" if held.nodes else ""
        lines.append(f"  {' -> '.join(held.labels)}: {readable(held.bytes + held.saved_bytes)}{kept}")
        lines += [f"      made at {site} x{count}" for site, count in sorted(held.sites.items())[:3]]
    raise AssertionError("\n".join(lines))
