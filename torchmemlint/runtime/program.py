"""One program in this process: load it, call it, and look at what is alive as its functions return."""

from __future__ import annotations

import ast
import asyncio
import atexit
import builtins
import contextlib
import gc
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from . import doubts, holders, judge, look, payload, sampling, snippet, standins, watch
from .ledger import Ledger, leave_off, live_tensors, tracking
from .look import Look

_EVERY, _MOST = 16, 32  # returns of a function that are looked at: the first ones, then fewer and fewer
_ASKED = (8, 24, 96)  # hits of a statement after which to ask who holds what went in
_ENDING = 1.0  # seconds, at most, for threads of the program to end
_WAIT = 5.0  # seconds, at most, until another thread has looked
_GLANCING = 0.5  # seconds of looking at one function's returns after which they are looked at half as often
_HERE = os.path.dirname(__file__) + os.sep


@dataclass(frozen=True)
class Request:
    """What to run, and where to look.

    `function` takes the number of steps if it has one required parameter; without one it is called `steps` times.
    `probe` names a function at whose return to look closely, instead of `function` itself; `at` which of its calls.
    """

    file: str
    function: str = "main"
    steps: int = 6
    probe: str | None = None
    at: int | None = None
    sites: tuple[watch.Site, ...] = ()
    device: str = "cpu"
    everywhere: bool = True  # look at the return of every function of the user's, not of the probed one alone
    collector: bool = False  # leave the cyclic collector on
    source: str | None = None  # in place of what the file says
    seed: int = 0
    snippet: snippet.Snippet | None = None  # run the function around this place with stand-ins, instead of `function`

    @staticmethod
    def of(data: Mapping[str, Any]) -> Request:
        sites = tuple(watch.Site(**site) for site in data.get("sites", ()))
        wanted = snippet.Snippet(**data["snippet"]) if data.get("snippet") else None
        return Request(**{**data, "sites": sites, "snippet": wanted})


@dataclass
class Point:
    """A function's returns: how many, and of those looked at the most that was alive at one, and when."""

    hits: int = 0
    stride: int = 1
    looked: int = 0
    bytes: int = 0
    storages: int = 0
    nodes: int = 0
    at: int = 0  # the hit of the maximum
    seconds: float = 0.0  # that looking took


@dataclass
class Run:
    """What one run showed. `before` and `after` a collection, at the return that was probed."""

    steps: int
    calls: int = 0  # of the function that was probed
    before: Look | None = None
    after: Look | None = None
    left: Look | None = None  # after the function, once collected
    peak: int = 0
    storages_at_peak: int = 0
    left_on: tuple[str, ...] = ()
    points: dict[str, Point] = field(default_factory=dict)
    sites: dict[str, dict[str, Any]] = field(default_factory=dict)
    held: list[holders.Held] = field(default_factory=list)
    curve: list[tuple[int, int]] = field(default_factory=list)
    error: str | None = None
    where: str | None = None  # file:line that raised
    account: dict[str, Any] = field(default_factory=dict)  # of a snippet: what it rests on besides its code
    device: str = "cpu"
    card: str | None = None  # the device's name, where it is no CPU
    torch: str = torch.__version__

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Unrunnable(Exception):
    """Why a function cannot be called at all, in plain words."""


def run(request: Request) -> Run:
    """Load and call. Whatever the program raises becomes the run's `error`."""
    ledger = Ledger()
    result = Run(request.steps, device=request.device)
    gc.collect()
    if request.device.startswith("cuda"):
        look.wake_device(request.device)
        result.card = torch.cuda.get_device_name()
    ledger.adopt()
    torch.manual_seed(request.seed)
    recorder: watch.Recorder = Asking(ledger, request.sites)
    if request.snippet is not None:
        recorder = watch.Recorder(ledger, request.sites, counts=True, collects=not request.snippet.cycles)
    before = look.modes()
    observer: Observer | None = None
    with _prepared(request, recorder) as at_exit:
        try:
            with tracking(ledger):
                if request.snippet is not None:
                    device_only = request.snippet.device
                    path = os.path.realpath(request.file)
                    made = snippet.prepare(path, request.source, request.snippet, request.sites, request.steps)
                    request = replace(request, at=made.looks)
                    at_exit.append(("stand-ins", [standins.PARAMETER, doubts.leaves()]))
                    payload.SCALARS[:] = [ledger.shrink]
                    payload.MOVED[:] = payload.SCALARS if device_only else []
                    observer = Observer(request, frozenset(), ledger, recorder, result, at_exit)
                    made.healer.left = observer.left
                    made.run()
                    result.account = {**made.account.as_dict(), "doubtful": doubts.unproved()}
                else:
                    module = load(request)
                    function = _function(module, request.function)
                    observer = Observer(request, _codes(module, function, request), ledger, recorder, result, at_exit)
                    with observer.watching():
                        _call(function, request.steps)
                        observer.wait()
        except BaseException as error:
            result.error, result.where = _described(error)
            error.__traceback__ = None
        result.left_on = tuple(name for name, value in look.modes().items() if value != before[name])
    if observer is not None:
        gc.collect()
        result.left = look.look(ledger, observer.start)
    result.peak, result.storages_at_peak, result.curve = ledger.peak, ledger.count_at_peak, ledger.curve
    for key, record in recorder.records.items():
        result.sites.setdefault(str(key), {}).update(
            hits=record.hits,
            given=record.given,
            plain=record.plain,
            samples=record.samples,
            objects=record.objects,
            alive=record.count(),
            tensors=record.tensors,
            with_graph=record.with_graph,
            below=recorder.hits_below(key),
            path=getattr(recorder, "paths", {}).get(key, ()),
            opaque=record.opaque,
            into=record.into,
            onto=record.onto,
        )
    if result.error is None and result.after is None:
        unseen = f"{request.probe or request.function} was not called"
        if request.snippet is not None:
            late = result.account.get("late")
            unseen = "its calls take longer than they may" if late else "its function is not run in each of its calls"
        result.error = unseen
    return result


class Asking(watch.Recorder):
    """Asks, where a statement is seen to collect, who holds what went in there: it may be gone when all is over."""

    def __init__(self, ledger: Ledger, sites: Iterable[watch.Site]) -> None:
        super().__init__(ledger, sites)
        self.paths: dict[int, tuple[str, ...]] = {}

    def hit(self, site: int, *targets: Any) -> None:
        super().hit(site, *targets)
        record = self.records[site]
        if site in self.paths or os.getpid() != self._process or record.hits not in _ASKED:
            return
        own = judge.own_growth({"samples": record.samples})
        if own is None or (own[0] <= judge.SMALL and own[1] < 0.5):
            return
        own_frames = frames(sys._getframe(1))
        held = holders.walk(self.ledger, own_frames, (), {str(site): self.stays(site)}, everywhere=False)
        best = max(held, key=lambda one: (one.watched.get(str(site), 0), one.weight), default=None)
        if best is not None and best.watched:
            self.paths[site] = best.labels


class Observer:
    """The profile function: looks as functions return."""

    def __init__(
        self,
        request: Request,
        codes: frozenset[CodeType],
        ledger: Ledger,
        recorder: watch.Recorder,
        result: Run,
        at_exit: list[Any],
    ) -> None:
        self._request, self._codes, self._ledger, self._result = request, codes, ledger, result
        self._recorder, self._at_exit = recorder, at_exit
        self._folder = os.path.dirname(os.path.abspath(request.file)) + os.sep
        self._busy: set[int] = set()  # threads that look
        self._turn = threading.Lock()  # one at a time
        self.start = look.look(ledger)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def wait(self) -> None:
        """Python would wait for threads that are no daemons: for a while, so do we, and for one that looks."""
        over = time.monotonic() + _ENDING
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join(max(over - time.monotonic(), 0.0))
        if self._turn.acquire(timeout=_WAIT):
            self._turn.release()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        thread = threading.get_ident()
        if event != "return" or thread in self._busy:
            return
        code = frame.f_code
        close = code in self._codes
        if not close and not (self._request.everywhere and code.co_filename.startswith(self._folder)):
            return
        self._busy.add(thread)  # looking calls functions, too
        waited = self._turn.acquire(timeout=_WAIT)
        try:
            if self._request.everywhere or self._request.at is None:
                self._glance(code)
            if close:
                self.left(frame)
        finally:
            if waited:
                self._turn.release()
            self._busy.discard(thread)

    def left(self, frame: FrameType) -> None:
        """A function that is looked at closely is about to return."""
        self._result.calls += 1
        if self._request.at in (None, self._result.calls):
            self._look_closely(frame)

    def _glance(self, code: CodeType) -> None:
        name = getattr(code, "co_qualname", code.co_name)
        point = self._result.points.setdefault(f"{os.path.basename(code.co_filename)}::{name}", Point())
        point.hits += 1
        if point.hits > _EVERY and point.hits % point.stride:
            return
        point.looked += 1
        began = time.monotonic()
        tensors = live_tensors()
        self._ledger.sweep(tensors)
        nodes = look.graph_size(tensors, stacks=False)[0] - self.start.nodes
        del tensors
        total = self._ledger.total - self.start.bytes
        if (nodes, total) > (point.nodes, point.bytes) or total > point.bytes:
            point.at = point.hits
        point.bytes, point.nodes = max(total, point.bytes), max(nodes, point.nodes)
        point.storages = max(self._ledger.count - self.start.storages, point.storages)
        point.seconds += time.monotonic() - began
        if point.looked % _MOST == 0 or point.seconds > _GLANCING * point.stride:
            point.stride *= 2

    def _look_closely(self, frame: FrameType) -> None:
        result = self._result
        result.before = look.look(self._ledger, self.start)
        result.after = look.look_after_collecting(self._ledger, self.start)
        for key in self._recorder.records:
            held, nodes = self._recorder.held(key)
            result.sites[str(key)] = {"held": held, "nodes": nodes}
        extra = [("function to run at exit", callback) for callback in self._at_exit]
        watched = {str(key): self._recorder.stays(key) for key in self._recorder.records}
        result.held = holders.walk(
            self._ledger, frames(frame), extra, watched, everywhere=self._request.snippet is None
        )


def frames(frame: FrameType | None) -> list[FrameType]:
    """The program's own frames, from this one out: those of the recorder that it called are left out."""
    found = []
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    while frame is not None and not frame.f_code.co_filename.startswith(_HERE):
        found.append(frame)
        frame = frame.f_back
    return found


# --- loading and calling ----------------------------------------------------------------------------


@contextlib.contextmanager
def _prepared(request: Request, recorder: watch.Recorder) -> Iterator[list[Any]]:
    """The process as the program should find it; as it was, when the program is over."""
    at_exit: list[Any] = []
    register, unregister = atexit.register, atexit.unregister

    def noted(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        at_exit.append((function, args, kwargs))
        return function  # not run: the process ends at once

    def forgotten(function: Callable[..., Any]) -> None:
        at_exit[:] = [entry for entry in at_exit if entry[0] != function]

    modules, path, enabled = set(sys.modules), list(sys.path), gc.isenabled()
    setattr(builtins, watch.NAME, recorder)
    os.register_at_fork(after_in_child=_stop_watching)
    atexit.register, atexit.unregister = noted, forgotten  # type: ignore[assignment]
    if not request.collector:
        gc.disable()
    if request.device != "cpu":
        torch.set_default_device(request.device)
    try:
        with instrumenting(request):
            yield at_exit
    finally:
        atexit.register, atexit.unregister = register, unregister
        sys.path[:] = path
        torch.set_grad_enabled(True)
        torch.autograd.set_detect_anomaly(False)
        if torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
            torch.autograd._disable_profiler()  # type: ignore[attr-defined]
        if request.device != "cpu":
            torch.set_default_device("cpu")
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(os.path.dirname(os.path.abspath(request.file)) + os.sep):
                del sys.modules[name]
        if enabled:
            gc.enable()


def _stop_watching() -> None:
    """Worker processes run at their own speed: what they keep is seen from outside."""
    sys.setprofile(None)
    threading.setprofile(None)
    leave_off()


@contextlib.contextmanager
def instrumenting(request: Request, *, turns: bool = False) -> Iterator[None]:
    """Compiles files with flagged statements from their source, rewritten; never from a .pyc. With `turns`, their loops
    tell when they go round.
    """
    by_file: dict[str, list[watch.Site]] = {}
    for site in request.sites:
        by_file.setdefault(os.path.realpath(site.file), []).append(site)
    original = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: Any, name: str) -> CodeType | None:
        path = os.path.realpath(loader.get_filename(name))
        replaced = request.source if path == os.path.realpath(request.file) else None
        if path not in by_file and replaced is None:
            return original(loader, name)
        source = replaced if replaced is not None else importlib.util.decode_source(loader.get_data(path))
        tree = watch.instrumented(ast.parse(source), by_file.get(path, ()))
        if turns:
            tree = sampling.turns(tree, watch.NAME)
        return compile(tree, path, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        importlib.machinery.SourceFileLoader.get_code = original  # type: ignore[method-assign]


def load(request: Request) -> Any:
    """The module of the file, imported by the name that it has in its package."""
    path = Path(request.file).resolve()
    name, folder = path.stem, path.parent
    while (folder / "__init__.py").exists():
        name, folder = f"{folder.name}.{name}" if path.stem != "__init__" else folder.name, folder.parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    if "." in name or name in sys.stdlib_module_names:
        return importlib.import_module(name) if "." in name else _from_file(path, f"user_{name}")
    return _from_file(path, name)


def _from_file(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Unrunnable(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _function(module: Any, name: str) -> Callable[..., Any]:
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise Unrunnable(f"there is no function {name} in {os.path.basename(module.__file__)}")
        found = getattr(found, part)
    if not callable(found):
        raise Unrunnable(f"{name} is not a function")
    return found  # type: ignore[no-any-return]


_STEPS = ("steps", "n_steps", "num_steps", "max_steps")  # parameters that say how often, if they have a default


def _call(function: Callable[..., Any], steps: int) -> None:
    required = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    if len(required) > 1:
        names = ", ".join(parameter.name for parameter in required)
        raise Unrunnable(f"{function.__name__}() needs {names}: it should take the number of steps, or nothing")
    wanted = [name for name in inspect.signature(function).parameters if name in _STEPS]
    if not required and wanted:
        _finish(function(**{wanted[0]: steps}))
    elif not required:
        for _ in range(steps):
            _finish(function())
    elif required[0].kind is inspect.Parameter.KEYWORD_ONLY:
        _finish(function(**{required[0].name: steps}))
    else:
        _finish(function(steps))


def _finish(result: Any) -> None:
    if inspect.iscoroutine(result):
        asyncio.run(result)
    elif inspect.isgenerator(result):
        for _ in result:
            pass


def _codes(module: Any, function: Any, request: Request) -> frozenset[CodeType]:
    """The code objects at whose return to look."""
    if request.probe is None:
        return frozenset([_unwrapped(function).__code__])
    return frozenset(code.__code__ for code in _functions(module) if code.__code__.co_name == request.probe)


def _functions(module: Any) -> Iterator[Any]:
    """The functions of the module's folder, and the methods of its classes."""
    folder = os.path.dirname(os.path.abspath(module.__file__)) + os.sep
    for one in list(sys.modules.values()):
        if not str(getattr(one, "__file__", "") or "").startswith(folder):
            continue
        for value in list(vars(one).values()):
            members: Sequence[Any] = list(vars(value).values()) if isinstance(value, type) else [value]
            for member in members:
                function = _unwrapped(getattr(member, "__func__", member))
                if hasattr(function, "__code__"):
                    yield function


def _unwrapped(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _described(error: BaseException) -> tuple[str, str | None]:
    """The error in a line, and the last line of the user's that it passed."""
    if isinstance(error, Unrunnable):
        return str(error), None
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(_HERE)]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
    lines = f"{type(error).__name__}: {error}".splitlines()
    if " in DataLoader worker process" in lines[0]:  # what was raised there stands last, below its traceback
        lines = [line for line in lines if line.strip()][-1:]
    return lines[0][:300], where
