"""Many files: shared out to worker processes, so that no file can take the run down with it."""

from __future__ import annotations

import functools
import gc
import importlib
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.context import BaseContext
from pathlib import Path

from ..ending import SIGNALS
from ..finding import Finding
from .cache import Cache, open_cache
from .engine import Plan, internal_error, lint_file, prepare_file, recall_file, session
from .session import Session

_FEW_FILES, _FEW_BYTES = 16, 400_000  # not worth starting processes for
_CHUNK_FILES, _CHUNK_BYTES = 50, 300_000
_IN_FLIGHT = 3  # chunks a worker, so that none ever waits

Chunk = list[str]
Done = tuple[list[Finding], str | None, str | None]  # with a worker's news of the cache: its damage, its trouble
Progress = Callable[[int], None]


def lint_files(
    paths: Sequence[str],
    plan: Plan,
    jobs: int | None,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
) -> list[Finding]:
    """The findings of all files, in order.

    `progress` is told how many steps have been done since: each file takes two, a parse and a judgement. `warn` is
    told why results are not kept, or lost, if they should be there.
    """
    tell = progress or (lambda done: None)
    plan = replace(plan, linted=frozenset(map(os.path.abspath, paths)))
    with closing(open_cache(plan.cache)) as cache, _rare_collections():
        here = session(plan, cache)
        results: list[list[Finding]] = []
        todo = list(paths)
        if not cache.temporary:
            todo = _recall(todo, plan, here, results)
            if todo and here.changed <= _FEW_FILES:
                todo = _recall(todo, plan, here, results, closely=True)
        tell(2 * len(results))
        results += _lint(todo, plan, here, jobs, tell, cache)
        if warn is not None:
            for notice in cache.notices:
                warn(notice)
    return sorted((finding for result in results for finding in result), key=lambda finding: finding.key)


def _recall(
    paths: list[str], plan: Plan, here: Session, results: list[list[Finding]], *, closely: bool = False
) -> list[str]:
    """Adds what is known of files from earlier runs to the results; returns the others."""
    todo: list[str] = []
    for path in paths:
        known = recall_file(path, plan, here, closely=closely)
        if known is None:
            todo.append(path)
        else:
            results.append(known)
    return todo


def _lint(
    paths: Sequence[str], plan: Plan, here: Session, jobs: int | None, tell: Progress, cache: Cache
) -> Iterator[list[Finding]]:
    sizes = {path: _size(path) for path in paths}
    workers = min(jobs or _cores(), len(paths))
    few = len(paths) <= _FEW_FILES and sum(sizes.values()) <= _FEW_BYTES
    if workers <= 1 or (few and jobs is None):
        return _here(paths, plan, here, tell)
    return _there(_chunks(sizes), plan, workers, tell, cache)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _chunks(sizes: dict[str, int]) -> list[Chunk]:
    """The biggest files first, alone; the small ones in handfuls, so that the end is even."""
    chunks: list[Chunk] = []
    room = 0
    for path in sorted(sizes, key=lambda path: (-sizes[path], path)):
        room -= sizes[path]
        if not chunks or room < 0 or len(chunks[-1]) >= _CHUNK_FILES:
            chunks.append([])
            room = _CHUNK_BYTES - sizes[path]
        chunks[-1].append(path)
    return chunks


def _here(paths: Sequence[str], plan: Plan, here: Session, tell: Progress) -> Iterator[list[Finding]]:
    for path in paths:
        yield lint_file(path, plan, here)
        tell(2)
        # a run is full of cycles; what stays, the facts of other files, is not looked at again
        gc.collect(0)  # torchmemlint: ignore[TML606] -- only what is young


def _there(chunks: list[Chunk], plan: Plan, workers: int, tell: Progress, cache: Cache) -> Iterator[list[Finding]]:
    """Results of all chunks: first every file is parsed, then each is judged with what it uses of the others.

    Where a worker dies, the files it may have died of are tried alone.
    """
    importlib.import_module(f"{__package__}.analysis")  # once, before workers are forked
    crew = functools.partial(_pool, workers, plan, cache)
    for chunk, done in _round(list(reversed(chunks)), crew, workers, _prepare):
        if done is not None:
            cache.hear(*done[1:])
        tell(len(chunk))
    todo = list(reversed(chunks))
    while todo:
        suspects: list[Chunk] = []
        for chunk, done in _round(todo, crew, workers, _work):
            if done is None:
                suspects.append(chunk)
            else:
                cache.hear(*done[1:])
                tell(len(chunk))
                yield done[0]
        for path in (path for chunk in suspects for path in chunk):
            yield _alone(path, plan, cache)
            tell(1)


def _round(
    todo: list[Chunk], crew: Callable[[], ProcessPoolExecutor], workers: int, work: Callable[[Chunk], Done]
) -> Iterator[tuple[Chunk, Done | None]]:
    """Takes chunks off `todo` until it is empty or a worker dies; None stands for a lost result."""
    running: dict[Future[Done], Chunk] = {}
    pool = crew()
    try:
        while todo or running:
            try:
                while todo and len(running) < workers * _IN_FLIGHT:
                    running[pool.submit(work, todo[-1])] = todo[-1]
                    todo.pop()
            except BrokenProcessPool:
                yield from ((chunk, None) for chunk in running.values())
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                chunk = running.pop(future)
                broken = isinstance(future.exception(), BrokenProcessPool)
                yield chunk, None if broken else future.result()
        pool.shutdown()
    except (KeyboardInterrupt, GeneratorExit):
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(path: str, plan: Plan, cache: Cache) -> list[Finding]:
    """The findings of one file from a process of its own."""
    pool = _pool(1, plan, cache)
    try:
        return pool.submit(_work, [path]).result()[0]
    except BrokenProcessPool:
        return [internal_error(path, "the parser crashed or ran out of memory")]
    finally:
        pool.shutdown(wait=False)


def _pool(workers: int, plan: Plan, cache: Cache) -> ProcessPoolExecutor:
    given = (plan, cache.file, cache.temporary)
    return ProcessPoolExecutor(workers, mp_context=_context(), initializer=_start, initargs=given)


def _context() -> BaseContext:
    """Forked workers have everything imported already; elsewhere than on Linux forking is not safe."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


_plan: Plan
_cache: Cache
_session: Session


def _start(plan: Plan, file: Path, temporary: bool) -> None:
    """Readies a worker. The parent answers Ctrl-C for all."""
    global _plan, _cache, _session
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for one in SIGNALS:
        if signal.getsignal(one) != signal.SIG_IGN:
            signal.signal(one, signal.SIG_DFL)
    _plan = plan
    _cache = Cache(file, temporary=temporary)
    _session = session(plan, _cache)
    threading.Thread(target=_outlive_nobody, args=(file.parent if temporary else None,), daemon=True).start()
    gc.freeze()


def _outlive_nobody(leftover: Path | None) -> None:
    """Ends the worker when its parent is gone: one that was killed could neither tell it nor clean up."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    if leftover is not None:
        shutil.rmtree(leftover, ignore_errors=True)
    os._exit(1)


def _prepare(chunk: Chunk) -> Done:
    with _rare_collections():
        for path in chunk:
            prepare_file(path, _plan, _session)
    return [], _cache.damage, _cache.trouble


def _work(chunk: Chunk) -> Done:
    found: list[Finding] = []
    with _rare_collections():
        for path in chunk:
            found += lint_file(path, _plan, _session)
            gc.collect(0)  # torchmemlint: ignore[TML606] -- as above
    return found, _cache.damage, _cache.trouble


@contextmanager
def _rare_collections() -> Iterator[None]:
    """No cyclic collections inside: a parse makes millions of objects, and next to no cycles."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
