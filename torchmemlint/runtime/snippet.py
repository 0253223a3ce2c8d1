"""A flagged snippet as a program: its function, called with stand-ins, in a module where what is missing is one.

The user's own code is executed; what comes from elsewhere is found, or stood in for, as `loading` says.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import inspect
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import doubts, loading, rewriting, watch
from .healing import Account, Healer
from .loading import Part, Project
from .making import argument, is_lasting, lent, required, without_init
from .standins import Bag
from .tasks import TooLong

_MAKING, _RUNNING = 0.7, 1.5  # seconds of this thread's time for an object, and for the snippet itself
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Snippet:
    """Where the flagged statement stands, the folder of the project that imports may lead to, callees that are not
    followed and whose results get no graph, and the lines that call it, of which the last one's function is run. With
    `device`, what is moved to the host counts no more; with `cycles`, nothing is collected while it runs.
    """

    row: int
    root: str = ""
    without: tuple[str, ...] = ()
    trail: tuple[int, ...] = ()
    device: bool = False
    cycles: bool = False


@dataclass(frozen=True)
class Made:
    """A snippet that can be run: `looks` is the return of its function at which to look; `healer` tells of each."""

    run: Callable[[], None]
    healer: Healer
    account: Account
    looks: int


def prepare(file: str, source: str | None, snippet: Snippet, sites: Iterable[watch.Site], steps: int) -> Made:
    """Load the file with stand-ins. Raises SyntaxError, or Unrunnable with the reason."""
    given = source if source is not None else Path(file).read_text("utf-8")
    text = loading.flagged_text(file, given, sites, (snippet.row, *snippet.trail))
    doubts.begin(snippet.without)
    account = Account(snippet.row, slice=list(text.slice))
    project = Project(snippet.root or os.path.dirname(file), steps, account)
    module = Part(project, text, account)
    healer: Healer = module.__dict__[rewriting.NAME]
    scopes = [node for node in reversed(text.entry) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))]
    if not any(isinstance(node, _FUNCTIONS) for node in scopes):
        return Made(_timed(project, functools.partial(exec, module.whole(), module.__dict__)), healer, account, 1)
    with contextlib.suppress(TooLong):
        module.need([scopes[0].name])
    found, owner = _named(module, [node.name for node in scopes])
    if found is None:
        raise rewriting.Unrunnable(f"{'.'.join(node.name for node in scopes)} could not be made with stand-ins")
    gc.freeze()  # syntax trees and modules: not looked through again at every look
    times = 1 if any(isinstance(node, (ast.For, ast.AsyncFor, ast.While)) for node in text.flagged) else steps
    makes = owner is not None and scopes[-1].name == "__init__"  # another object in each call
    instance = _instance(owner, healer, project) if owner is not None and not makes else None
    needed = required(inspect.unwrap(found))
    lasting = {one.name: made for one in needed if is_lasting(one) and isinstance(made := argument(one), Bag)}

    def call() -> None:
        values = [lasting[one.name] if one.name in lasting else lent(one) for one in needed]
        if owner is not None and needed and needed[0].name in ("self", "cls"):
            of_call = (without_init(owner) or Bag(owner.__name__)) if makes else instance
            values[0] = of_call if needed[0].name == "self" else owner
        keywords = {p.name: v for p, v in zip(needed, values, strict=True) if p.kind is p.KEYWORD_ONLY}
        result = found(*(v for p, v in zip(needed, values, strict=True) if p.kind is not p.KEYWORD_ONLY), **keywords)
        if inspect.isgenerator(result):
            for _ in result:
                pass
        elif isinstance(result, contextlib.AbstractContextManager) and inspect.isgenerator(vars(result).get("gen")):
            with result:  # of a generator that `contextmanager` has decorated
                pass

    def calls() -> None:
        for _ in range(times):
            call()

    return Made(_timed(project, calls, snippet.cycles), healer, account, times)


def _timed(project: Project, calls: Callable[[], None], cycles: bool = False) -> Callable[[], None]:
    """What is to be run, ended when its time is over: what was seen by then may do."""

    def main() -> None:
        project.deadline = time.thread_time() + _RUNNING
        collects = gc.isenabled()
        if cycles:
            gc.disable()
        try:
            calls()
        except TooLong:
            project.account.late = True
        if collects:
            gc.enable()
        project.account.threads, project.account.processes = project.tasks.left()
        project.tasks.end()

    return main


def _named(module: Any, names: list[str]) -> tuple[Any, Any]:
    """The outermost function of these scopes, and the class that it is in."""
    owner, found = None, module
    for name in names:
        if owner is not None and name.startswith("__") and not name.endswith("__"):
            name = f"_{owner.__name__.lstrip('_')}{name}"  # as Python itself renames it
        found = vars(found).get(name)
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, property):
            found = found.fget
        if isinstance(found, type):
            owner = found
            continue
        plain = inspect.unwrap(found) if callable(found) else found
        return (found, owner) if hasattr(plain, "__code__") else (None, owner)
    return None, owner


def _instance(owner: type, healer: Healer, project: Project) -> Any:
    """An object of a class, as its own `__init__` leaves it, made with stand-ins."""
    made = without_init(owner)
    if made is None:
        return Bag(owner.__name__)
    setup = getattr(owner, "__init__")  # noqa: B009 -- of the class itself
    if hasattr(inspect.unwrap(setup), "__code__"):
        needed = [one for one in required(inspect.unwrap(setup)) if one.name != "self"]
        given = {one.name: argument(one) for one in needed if one.kind is not one.POSITIONAL_ONLY}
        project.deadline = time.thread_time() + _MAKING
        with contextlib.suppress(TooLong):  # what there is by now must do
            healer.call(setup, made, **given)
    return made
