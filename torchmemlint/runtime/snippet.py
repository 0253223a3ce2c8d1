"""A flagged snippet as a program: its function, called with stand-ins, in a module where what is missing is one.

The user's own code is executed, and of the project the files that it imports; of other packages nothing is: they are
stand-ins, but for PyTorch, NumPy and the standard library.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import inspect
import os
import sys
import time
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import rewriting, watch
from .healing import Account, Healer, TooLong, argument, required, without_init
from .standins import Bag

_REAL = frozenset(sys.stdlib_module_names) | {"torch", "numpy", "__future__"}
_REFUSED = frozenset(
    ("torch.distributed", "multiprocessing", "subprocess", "torch.multiprocessing", "webbrowser", "pdb")
)
_DEEP = 16  # files of the project that are loaded, at most
_LARGE = 150_000  # bytes of a file of the project that is still loaded
_LOADING, _RUNNING = 1.0, 8.0  # seconds of this thread's time for them, and for the snippet itself
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Snippet:
    """Where the flagged statement stands, and the folder of the project that imports may lead to."""

    row: int
    root: str = ""


@dataclass(frozen=True)
class Made:
    """A snippet that can be run: `looks` is the return of `code` at which to look."""

    run: Callable[[], None]
    code: types.CodeType
    account: Account
    looks: int


class Project:
    """The files that are executed: the flagged one, and those of the project that it imports."""

    def __init__(self, root: str, steps: int) -> None:
        self.steps = steps
        self._root = root
        self._loaded: dict[str, Any] = {}
        self._imports = time.thread_time() + _LOADING
        self.deadline = self._imports + _RUNNING

    def module(self, name: str, importer: str) -> Any:
        """A module that really is one, or a stand-in."""
        top = name.partition(".")[0]
        if not name.startswith(".") and top in _REAL:
            if name in _REFUSED or top in _REFUSED:
                return Bag(name)
            try:
                return importlib.import_module(name)
            except Exception:
                return Bag(name)
        path = self._find(name, importer)
        if path is None or len(self._loaded) >= _DEEP or time.thread_time() > self._imports:
            return Bag(name)
        if path not in self._loaded:
            self._loaded[path] = Bag(name)  # what a circle of imports sees
            with contextlib.suppress(SyntaxError, OSError, RecursionError, ValueError):
                self._loaded[path] = self.execute(path, Path(path).read_text("utf-8", "replace"), ())
        return self._loaded[path]

    def _find(self, name: str, importer: str) -> str | None:
        if name.startswith("."):
            level = len(name) - len(name.lstrip("."))
            folders = [Path(importer).parents[level - 1]] if level <= len(Path(importer).parents) else []
        else:
            folders = [one for one in Path(importer).parents if str(one).startswith(self._root)]
        for folder in folders:
            stem = folder.joinpath(*filter(None, name.lstrip(".").split(".")))
            for candidate in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
                if candidate.is_file() and candidate.stat().st_size <= _LARGE:
                    return str(candidate)
        return None

    def execute(
        self, path: str, source: str, sites: Iterable[watch.Site], account: Account | None = None, row: int = 0
    ) -> types.ModuleType:
        """Runs a file's top level, with what fails replaced."""
        tree = ast.parse(source)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        flagged = chain(tree, row) if row else []
        if account is not None and flagged:
            account.slice = sorted(_slice(flagged))
        tree = watch.instrumented(tree, list(sites))
        code = compile(rewriting.rewritten(tree, flagged), path, "exec", dont_inherit=True)
        module = types.ModuleType(Path(path).stem)
        module.__file__ = path
        for name in names:
            if not hasattr(builtins, name) and name != watch.NAME:
                setattr(module, name, Bag(name))
        setattr(module, rewriting.NAME, Healer(self, path, account))
        module.__dict__["__code__"] = code
        if row and not any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in flagged):
            return module  # the flagged statement is at the top level: running it is the program
        outer = self.deadline
        if account is None:
            self.deadline = min(outer, self._imports)
        try:
            exec(code, module.__dict__)
        except TooLong:
            pass  # what there is by now must do
        finally:
            self.deadline = outer
        return module


def prepare(file: str, source: str | None, snippet: Snippet, sites: Iterable[watch.Site], steps: int) -> Made:
    """Load the file with stand-ins. Raises SyntaxError, or Unrunnable with the reason."""
    text = source if source is not None else Path(file).read_text("utf-8")
    account = Account(snippet.row)
    project = Project(snippet.root or os.path.dirname(file), steps)
    owners = [node for node in chain(ast.parse(text), snippet.row) if isinstance(node, _SCOPES)]
    module = project.execute(file, text, sites, account, snippet.row)
    names = [node.name for node in reversed(owners)]
    if not any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in owners):
        code = module.__dict__["__code__"]
        return Made(lambda: exec(code, module.__dict__), code, account, 1)
    found, owner = _named(module, names)
    if found is None:
        raise rewriting.Unrunnable(f"{'.'.join(names)} could not be made with stand-ins")
    healer = module.__dict__[rewriting.NAME]
    code = inspect.unwrap(found).__code__
    loops = [
        node for node in chain(ast.parse(text), snippet.row) if isinstance(node, (ast.For, ast.AsyncFor, ast.While))
    ]
    times = 1 if loops else steps
    instance = _instance(owner, healer) if owner is not None else None
    needed = required(inspect.unwrap(found))

    def call() -> None:
        values = [argument(one) for one in needed]
        if owner is not None and needed and needed[0].name in ("self", "cls"):
            values[0] = instance if needed[0].name == "self" else owner
        keywords = {p.name: v for p, v in zip(needed, values, strict=True) if p.kind is p.KEYWORD_ONLY}
        result = found(*(v for p, v in zip(needed, values, strict=True) if p.kind is not p.KEYWORD_ONLY), **keywords)
        if inspect.isgenerator(result):
            for _ in result:
                pass

    def main() -> None:
        project.deadline = time.thread_time() + _RUNNING
        for _ in range(times):
            call()

    looked = main.__code__ if code.co_flags & inspect.CO_GENERATOR else code
    return Made(main, looked, account, times if looked is code else 1)


def chain(tree: ast.Module, row: int) -> list[ast.AST]:
    """The statements that a row is in, from the innermost out; without the module."""
    found: list[ast.AST] = []
    body: list[Any] = tree.body
    while body:
        inside = None
        for node in body:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            if first <= row <= (node.end_lineno or node.lineno):
                inside = node
        if inside is None:
            break
        found.insert(0, inside)
        body = [
            one
            for name in ("body", "orelse", "finalbody", "handlers", "cases")
            for one in getattr(inside, name, ())
            if hasattr(one, "lineno")
        ]
    return found


def _slice(flagged: list[ast.AST]) -> set[int]:
    """Lines of the flagged function that bind what the flagged statement depends on, directly or not."""
    statement: Any = flagged[0]
    function = next((node for node in flagged if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if function is None:
        return {statement.lineno}
    wanted = {node.id for node in ast.walk(flagged[0]) if isinstance(node, ast.Name)}
    lines = set() if hasattr(statement, "body") else set(range(statement.lineno, statement.end_lineno + 1))
    bindings = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))]
    while True:
        before = len(lines)
        for node in bindings:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            if any(isinstance(one.ctx, ast.Store) and one.id in wanted for one in names):
                lines.add(node.lineno)
                wanted |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if len(lines) == before:
            return lines


def _named(module: Any, names: list[str]) -> tuple[Any, Any]:
    """The outermost function of these scopes, and the class that it is in."""
    owner, found = None, module
    for name in names:
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


def _instance(owner: type, healer: Healer) -> Any:
    """An object of a class, as its own `__init__` leaves it, made with stand-ins."""
    made = without_init(owner)
    if made is None:
        return Bag(owner.__name__)
    setup = getattr(owner, "__init__")  # noqa: B009 -- of the class itself
    if hasattr(inspect.unwrap(setup), "__code__"):
        needed = [one for one in required(inspect.unwrap(setup)) if one.name != "self"]
        healer.call(setup, made, **{one.name: argument(one) for one in needed if one.kind is not one.POSITIONAL_ONLY})
    return made
