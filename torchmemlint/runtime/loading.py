"""The project around a flagged snippet: of each of its files only what the snippet needs is executed.

A file's statements are executed when a name that they bind is asked for, together with those whose names they use.
What a file imports from the project is looked for in the same way; of other packages nothing is executed: they are
stand-ins, but for PyTorch, NumPy and the standard library.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import itertools
import sys
import time
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import evidence, rewriting, watch
from .healing import Account, Healer
from .standins import Bag
from .tasks import PROCESSES, STARTERS, Tasks, TooLong

_REAL = frozenset(sys.stdlib_module_names) | {"torch", "numpy", "__future__"}
_REFUSED = frozenset("""torch.distributed multiprocessing subprocess importlib.metadata webbrowser pdb""".split())
_DEEP = 40  # files of the project that are loaded, at most
_LARGE = 150_000  # bytes of a file of the project that is still loaded
_LOADING, _OWN = 0.7, 0.7  # seconds of this thread's time for them, and for the flagged file itself after that


@dataclass
class Text:
    """A file: its statements, the names that each binds and uses, and the code of those that were needed so far."""

    path: str
    body: list[ast.stmt]
    flagged: Sequence[ast.AST] = ()
    entry: Sequence[ast.AST] = ()  # the part of them that is to be run
    slice: Sequence[int] = ()  # lines that the flagged statement depends on
    binding: dict[str, list[int]] = field(default_factory=dict)
    codes: dict[int, types.CodeType] = field(default_factory=dict)
    names: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, statement in enumerate(self.body):
            for name in evidence.bound(statement):
                self.binding.setdefault(name, []).append(number)

    def closure(self, names: Iterable[str]) -> list[int]:
        """The statements that bind these names, and those that bind what they use; in their order."""
        found: set[int] = set()
        wanted, seen = list(names), set(names)
        while wanted:
            name = wanted.pop()
            several = self.binding.get(name)
            if several is None and not hasattr(builtins, name):
                several = self.binding.get("*")
            for number in several or ():
                if number not in found:
                    found.add(number)
                    new = self.used(number) - seen
                    seen |= new
                    wanted += new
        return sorted(found)

    def used(self, number: int) -> set[str]:
        if number not in self.names:
            self.names[number] = evidence.used(self.body[number])  # before it is rewritten
        return self.names[number]

    def code(self, number: int) -> types.CodeType:
        if number not in self.codes:
            tree = rewriting.rewritten(ast.Module([self.body[number]], []), self.flagged)
            self.codes[number] = compile(tree, self.path, "exec", dont_inherit=True)
        return self.codes[number]

    def whole(self) -> types.CodeType:
        if -1 not in self.codes:
            tree = rewriting.rewritten(ast.Module(self.body, []), self.flagged)
            self.codes[-1] = compile(tree, self.path, "exec", dont_inherit=True)
        return self.codes[-1]


_TEXTS: dict[str, Text] = {}  # read in this process: a snippet is run more than once


class Project:
    """The files that are executed: the flagged one, and those of the project that it imports."""

    def __init__(self, root: str, steps: int, account: Account) -> None:
        self.steps = steps
        self.account = account
        self.tasks = Tasks()
        self._root = root
        self._loaded: dict[str, Part] = {}
        self._imports = time.thread_time() + _LOADING
        self.deadline = self._imports + _OWN

    def module(self, name: str, importer: str) -> Any:
        """A module that really is one, or a stand-in."""
        top = name.partition(".")[0]
        if name in STARTERS:
            return PROCESSES
        if not name.startswith(".") and top in _REAL:
            if name in _REFUSED or top in _REFUSED:
                return Bag(name, foreign=True)
            try:
                return importlib.import_module(name)
            except Exception:
                return Bag(name, foreign=True)
        path = self._find(name, importer)
        if path is not None and path not in self._loaded and len(self._loaded) < _DEEP and self._may_load():
            with contextlib.suppress(SyntaxError, OSError, RecursionError, ValueError):
                self._loaded[path] = Part(self, _text(path))
        return self._loaded.get(path or "") or Bag(name, foreign=True)

    def _may_load(self) -> bool:
        return time.thread_time() < self._imports

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

    @contextlib.contextmanager
    def importing(self) -> Iterator[None]:
        """Imports have a deadline of their own. What there is by then must do."""
        outer = self.deadline
        self.deadline = min(outer, self._imports)
        try:
            yield
        except TooLong:
            pass
        finally:
            self.deadline = outer


class Part(types.ModuleType):
    """A file of the project as a module whose names come into being when they are asked for."""

    def __init__(self, project: Project, text: Text, account: Account | None = None) -> None:
        super().__init__(Path(text.path).stem)
        self.__file__ = text.path
        self._project, self._text = project, text
        self._done: set[int] = set()
        setattr(self, rewriting.NAME, Healer(project, text.path, account))

    def __getattr__(self, name: str) -> Any:
        numbers = self._text.binding.get(name, self._text.binding.get("*", ()))
        if name.startswith("__") or self._done.issuperset(numbers):
            raise AttributeError(name)
        with self._project.importing():
            self.need([name])
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(name)

    def need(self, names: Iterable[str]) -> None:
        """Executes what these names take. Raises TooLong."""
        self.execute(self._text.closure(names))

    def public(self) -> list[str]:
        """Executes everything; what `import *` would bind."""
        with self._project.importing():
            self.execute(range(len(self._text.body)))
        names = [name for name in self.__dict__ if not name.startswith("_")]
        return [name for name in self.__dict__.get("__all__", names) if isinstance(name, str)]

    def whole(self) -> types.CodeType:
        """The code of the file, to be executed as it stands."""
        self.stand_in(set().union(*map(self._text.used, range(len(self._text.body)))))
        return self._text.whole()

    def execute(self, numbers: Iterable[int]) -> None:
        new = [number for number in numbers if number not in self._done]
        self._done.update(new)
        self.stand_in(set().union(*map(self._text.used, new)))
        for number in new:
            exec(self._text.code(number), self.__dict__)

    def stand_in(self, names: Iterable[str]) -> None:
        """Names that nothing binds yet are stand-ins."""
        for name in names:
            if not hasattr(builtins, name) and name != watch.NAME:
                self.__dict__.setdefault(name, Bag(name, foreign=True))


def _text(path: str) -> Text:
    if path not in _TEXTS:
        _TEXTS[path] = Text(path, ast.parse(Path(path).read_text("utf-8", "replace")).body)
    return _TEXTS[path]


def flagged_text(path: str, source: str, sites: Iterable[watch.Site], rows: Sequence[int]) -> Text:
    """The flagged file, with its flagged statements under observation. `rows` lead from the flagged statement to the
    call that is to be run. Raises SyntaxError.
    """
    if path not in _TEXTS:
        tree = ast.parse(source)
        chains = [found for found in (evidence.chain(tree, row) for row in rows) if found]
        lines = sorted(set().union(*map(evidence.slice_of, chains)))
        body = watch.instrumented(tree, list(sites)).body
        _TEXTS[path] = Text(path, body, list(itertools.chain(*chains)), chains[-1] if chains else (), lines)
    return _TEXTS[path]
