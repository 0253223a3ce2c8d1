"""Who holds it: the shortest path of strong references from a root to each live tensor.

A breadth-first walk from the program's modules, its threads' frames and, last, from all other modules. Python's
garbage collector cannot see from a tensor into the autograd graph behind it, so the graph is walked apart, from
each tensor in the order it was found: its nodes, and the tensors they saved, count for that tensor's path.
"""

from __future__ import annotations

import functools
import gc
import io
import mmap
import os
import socket
import sys
import sysconfig
import threading
import time
import types
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from . import judge
from .ledger import Ledger

_SECONDS = 10.0  # of this thread's time, for one walk
_HERE = os.path.dirname(__file__) + os.sep
_LIBRARY = tuple(
    {os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_LEAVES = (str, bytes, int, float, complex, bool, type(None), range, torch.dtype, torch.device, torch.Size)
_OPAQUE = (types.BuiltinFunctionType, types.CodeType, types.GetSetDescriptorType, types.MemberDescriptorType)
_FILES = (io.FileIO, mmap.mmap, socket.socket)
_MADE = (types.MethodType, types.FrameType)  # made, or tracked, when asked for

Edge = tuple[str, Any]


@dataclass
class Held:
    """All that is kept along one path: `labels`, from the root on, with indices written as `[*]`."""

    labels: tuple[str, ...]
    tensors: int = 0
    bytes: int = 0  # of the tensors' own storages
    nodes: int = 0  # of the graphs behind them
    saved: int = 0  # tensors that these nodes saved
    saved_bytes: int = 0
    files: int = 0  # open files, mappings and sockets
    what: str = ""
    sites: dict[str, int] = field(default_factory=dict)  # "file:line" -> storages made there
    watched: dict[str, int] = field(default_factory=dict)  # flagged place -> tensors that went in there

    @property
    def weight(self) -> tuple[int, int]:
        return (self.bytes + self.saved_bytes, self.nodes)


def walk(
    ledger: Ledger,
    frames: Iterable[types.FrameType],
    extra: Iterable[Edge] = (),
    watched: Mapping[str, Iterable[torch.Tensor]] | None = None,
    limit: int = 40,
    everywhere: bool = True,
) -> list[Held]:
    """The paths to what the ledger says is alive, the heaviest first; the same path is one entry.

    `frames` are the program's own, innermost first; `extra` are further roots, such as functions registered to
    run at exit, which Python gives nobody a look at. `watched` are tensors by the flagged place they went in at.
    Where these roots do not lead to all that is alive, the walk goes on `everywhere`: from all modules there are.
    """
    search = _Search(ledger)
    young = set(map(id, gc.get_objects()))  # without what was frozen before the program began
    search.walk([*_own_roots(frames, extra)], blocked={id(module) for _, module in _other_roots()}, only=young)
    groups, covered = _grouped(search, ledger)
    if everywhere and any(entry.size and key not in covered for key, entry in list(ledger.live.items())):
        search.walk([*_other_roots()])
        groups, covered = _grouped(search, ledger)
    if everywhere and search.finished:
        groups += _nobody(ledger, covered)
    by_path = {held.labels: held for held in groups}
    for labels in filter(None, map(search.labels, search.files)):
        if labels not in by_path:
            by_path[labels] = Held(labels)
            groups.append(by_path[labels])
        by_path[labels].files += 1
    for place, tensors in (watched or {}).items():
        for labels in filter(None, map(search.labels, tensors)):
            if labels in by_path:
                by_path[labels].watched[place] = by_path[labels].watched.get(place, 0) + 1
    groups.sort(key=lambda held: held.weight, reverse=True)
    return groups[:limit] + [held for held in groups[limit:] if held.watched or held.files]


class _Search:
    """A breadth-first walk, in one or two stages: the program's own objects first, then all there are."""

    def __init__(self, ledger: Ledger) -> None:
        self.found: list[torch.Tensor] = []
        self.files: list[Any] = []
        self._ledger = ledger
        self._parents: dict[int, tuple[int, str]] = {}
        self._modules: set[int] = set()
        self._keep: list[Any] = []  # what was met: ids must stay theirs
        ours = (self, self.found, self.files, self._parents, self._keep, ledger, ledger.live)
        self._ours = {id(one) for one in (*ours, sys.stdin, sys.stdout, sys.stderr)}  # each thread has `_stderr`
        self._deadline = time.thread_time() + _SECONDS

    def walk(self, roots: list[Edge], blocked: Container[int] = (), only: Container[int] | None = None) -> None:
        """Go through all that `roots` lead to, except what is behind `blocked` objects, or not among `only`."""
        queue: deque[Any] = deque()
        for label, root in roots:
            self._meet(root, 0, label, queue)
        while queue and time.thread_time() < self._deadline:
            holder = queue.popleft()
            for label, held in _edges(holder):
                if id(held) in blocked:
                    continue
                if only is None or id(held) in only or type(held) in _MADE or not gc.is_tracked(held):
                    self._meet(held, id(holder), label, queue)

    @property
    def finished(self) -> bool:
        """Whether there was time to look at everything."""
        return time.thread_time() < self._deadline

    def _meet(self, held: Any, parent: int, label: str, queue: deque[Any]) -> None:
        if id(held) in self._parents or id(held) in self._ours or issubclass(type(held), _LEAVES + _OPAQUE):
            return
        self._parents[id(held)] = (parent, label)
        self._keep.append(held)
        queue.append(held)
        if issubclass(type(held), torch.nn.Module):
            self._modules.add(id(held))
        if issubclass(type(held), torch.Tensor):
            self.found.append(held)
        if issubclass(type(held), _FILES):
            self.files.append(held)

    def labels(self, tensor: Any) -> tuple[str, ...]:
        """The names of the references that lead to a tensor, from the root on."""
        chain: list[tuple[str, bool]] = []
        key = id(tensor)
        while key and key in self._parents:
            above, label = self._parents[key]
            chain.append((label, key in self._modules))
            key = above
        chain.reverse()
        layers = isinstance(tensor, torch.nn.Parameter) or chain[-1:] == [("grad", False)]
        return tuple(_shortened(_without_layers(chain) if layers else (label for label, _ in chain)))


def _grouped(search: _Search, ledger: Ledger) -> tuple[list[Held], set[int]]:
    """What was found, by path, and the storages that are accounted for."""
    groups: dict[tuple[str, ...], Held] = {}
    storages: set[int] = set()
    nodes: dict[int, Any] = {}
    paths = [(tensor, search.labels(tensor)) for tensor in search.found]
    owned = [(tensor, groups.setdefault(labels, Held(labels))) for tensor, labels in paths]
    for tensor, group in owned:  # what Python owns is nobody's saved tensor
        size = _fresh_bytes(tensor, ledger, storages, group)
        group.bytes += size
        group.tensors += bool(size)
    for tensor, group in owned:
        before = group.nodes
        group_queue = [tensor.grad_fn]
        while group_queue:
            node = group_queue.pop()
            if node is None or id(node) in nodes:
                continue
            nodes[id(node)] = node
            group.nodes += 1
            group_queue.extend(following for following, _ in node.next_functions)
            for saved in saved_tensors(node):
                size = _fresh_bytes(saved, ledger, storages, group)
                group.saved += bool(size)
                group.saved_bytes += size
        if group.nodes > before or not group.what:
            kind = f"{type(tensor).__name__} {tuple(tensor.shape)}"
            group.what = kind if tensor.grad_fn is None else f"{kind} with {tensor.grad_fn.name()}"
    return [group for group in groups.values() if group.bytes or group.nodes or group.saved_bytes], storages


def _nobody(ledger: Ledger, covered: Container[int]) -> list[Held]:
    """What no reference leads to: cycles through C++, such as of a parameter and a gradient with a graph."""
    held = Held(("no reference of Python's: kept from within C++",))
    for key, entry in list(ledger.live.items()):
        if entry.size and key not in covered and entry.site[0]:
            held.bytes += entry.size
            held.tensors += 1
            site = f"{entry.site[0]}:{entry.site[1]}"
            held.sites[site] = held.sites.get(site, 0) + 1
    return [held] if held.bytes else []


def _fresh_bytes(tensor: torch.Tensor, ledger: Ledger, seen: set[int], group: Held) -> int:
    """Bytes of a tensor's storage, the first time it is met."""
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return 0
    if storage._cdata in seen:
        return 0
    seen.add(storage._cdata)
    size = ledger.size_of(storage)
    if size:
        entry = ledger.live.get(storage._cdata)  # not of what was made in a step that was left out
        file, line = entry.site if entry is not None else ("", 0)
        if file:
            site = f"{file}:{line}"
            group.sites[site] = group.sites.get(site, 0) + 1
    return size


def saved_tensors(node: Any) -> Iterator[torch.Tensor]:
    """The tensors that a node of the graph keeps for its backward pass; none once that has run."""
    for name in [name for name in dir(node) if name.startswith("_saved_")] + ["saved_tensors"]:
        try:
            value = getattr(node, name)
        except (AttributeError, RuntimeError):  # has none; or they were freed by backward
            continue
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if issubclass(type(item), torch.Tensor):
                yield item
    if hasattr(node, "variable"):  # where gradients of a leaf go
        yield node.variable
        if node.variable.grad is not None:
            yield node.variable.grad
    for value in getattr(node, "__dict__", {}).values():  # attributes of a Function's ctx
        if issubclass(type(value), torch.Tensor):
            yield value


# --- where to begin ---------------------------------------------------------------------------------


def _own_roots(frames: Iterable[types.FrameType], extra: Iterable[Edge]) -> Iterator[Edge]:
    for name, module in list(sys.modules.items()):
        if _is_users(module):
            yield f"module {name}", module
    for frame in frames:
        yield f"frame of {frame.f_code.co_name}()", frame
    yield from extra
    yield from _thread_roots()


def _thread_roots() -> Iterator[Edge]:
    """Threads that run, and their frames but for those of the thread that asks."""
    running = sys._current_frames()
    for thread in threading.enumerate():
        if thread is threading.current_thread():
            continue
        yield f"thread {thread.name}", thread
        frame = running.get(thread.ident or 0)
        while frame is not None:
            if not frame.f_code.co_filename.startswith(_HERE):
                yield f"thread {thread.name} -> frame of {frame.f_code.co_name}()", frame
            frame = frame.f_back


def _other_roots() -> Iterator[Edge]:
    for name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and not _is_users(module) and "torchmemlint.runtime" not in name:
            yield f"module {name}", module


def _is_users(module: Any) -> bool:
    return isinstance(module, types.ModuleType) and is_users_file(str(getattr(module, "__file__", None) or ""))


@functools.cache
def is_users_file(name: str) -> bool:
    """Whether a file is the user's own: neither the standard library's, nor an installed package's, nor ours."""
    return bool(name) and not name.startswith("<") and not os.path.realpath(name).startswith((*_LIBRARY, _HERE))


# --- what an object holds ---------------------------------------------------------------------------


def _edges(holder: Any) -> Iterator[Edge]:
    """The objects that one refers to, each with the name of the reference."""
    try:
        yield from _named(holder)
    except Exception:  # an object of the program's that will not be looked at
        return


def _named(holder: Any) -> Iterator[Edge]:
    kind = type(holder)
    if kind is types.ModuleType or issubclass(kind, types.ModuleType):
        yield from ((f"global '{key}'", value) for key, value in list(vars(holder).items()))
    elif issubclass(kind, dict):
        for key, value in list(dict.items(holder)):
            known = f"[{key!r}]" if isinstance(key, str) and len(key) < 40 else "[*]"
            yield judge.UNKNOWN_KEY if getattr(type(key), "standin", False) else known, value
            if not isinstance(key, _LEAVES):
                yield "key of", key
        yield from _attributes(holder)
    elif issubclass(kind, (list, tuple, set, frozenset, deque)):
        yield from (("[*]", value) for value in list(holder))
        yield from _attributes(holder)
    elif kind is types.FunctionType:
        yield from _of_function(holder)
    elif kind is types.MethodType:
        yield f"method {holder.__name__} of {type(holder.__self__).__name__}", holder.__self__
        yield "function", holder.__func__
    elif kind is types.FrameType:
        yield from ((f"local '{name}'", value) for name, value in list(holder.f_locals.items()))
    elif kind is types.TracebackType:
        link: types.TracebackType | None = holder
        while link is not None:
            yield f"frame of {link.tb_frame.f_code.co_name}()", link.tb_frame
            link = link.tb_next
    elif kind.__name__ == "ndarray":  # shares the storage of a tensor that it was made of
        yield "array of", holder.base
    elif kind is types.GeneratorType and holder.gi_frame is not None:
        yield f"generator {holder.__name__}()", holder.gi_frame
    elif issubclass(kind, BaseException):
        yield "__traceback__", holder.__traceback__
        yield "__context__", holder.__context__
        yield "__cause__", holder.__cause__
        yield from (("args", item) for item in holder.args)
        yield from _attributes(holder)
    elif issubclass(kind, torch.Tensor):
        if holder.is_leaf:
            yield "grad", holder.grad
        yield from _attributes(holder)
        yield "hooks", holder._backward_hooks
    elif issubclass(kind, type):
        yield from ((f"class attribute '{key}'", value) for key, value in list(vars(holder).items()))
    else:
        yield from _attributes(holder)
        named = {id(value) for _, value in _attributes(holder)} | {id(getattr(holder, "__dict__", None)), id(kind)}
        label = f"inside {kind.__name__}"
        yield from ((label, value) for value in gc.get_referents(holder) if id(value) not in named)


def _of_function(function: types.FunctionType) -> Iterator[Edge]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f"closure variable '{name}'", cell.cell_contents
        except ValueError:  # not bound yet
            continue
    yield from (("default", value) for value in function.__defaults__ or ())
    yield from ((f"default '{key}'", value) for key, value in (function.__kwdefaults__ or {}).items())
    yield from ((f".{key}", value) for key, value in vars(function).items())


def _attributes(holder: Any) -> Iterator[Edge]:
    """Instance attributes; those of a module's tables go by the names the program uses."""
    for key, value in list(getattr(holder, "__dict__", {}).items()):
        if issubclass(type(holder), torch.nn.Module) and key in ("_parameters", "_buffers", "_modules"):
            yield from ((f".{name}", item) for name, item in list(value.items()))
        yield f".{key}", value
    for base in type(holder).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(holder, name):
                yield f".{name}", getattr(holder, name)


def _without_layers(chain: list[tuple[str, bool]]) -> Iterator[str]:
    """The labels, with a module's parameters as one: which layer they are of says nothing about who holds them."""
    modules = [number for number, (_, module) in enumerate(chain) if module]
    first = next((n for n in modules if all(module for _, module in chain[n:-1])), None)
    rest = [label for label, _ in chain[-2:]]
    if first is None and modules and rest[-1] == "grad" and all(module for _, module in chain[modules[0] : -2]):
        first = modules[0]
    if first is None or first >= len(chain) - 1:
        yield from (label for label, _ in chain)
        return
    yield from (label for label, _ in chain[: first + 1])
    yield "gradients" if rest[-1] == "grad" else "parameters"


def _shortened(labels: Iterable[str]) -> Iterator[str]:
    """Attributes and items joined to what they are of: `global 'task'.outputs[*]`."""
    text = ""
    for label in labels:
        if text and not label.startswith((".", "[")):
            yield text
            text = ""
        text += label
    if text:
        yield text
