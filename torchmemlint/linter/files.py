"""Which files a run is about: the paths named, folders walked, minus excludes and `.gitignore`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import ConfigError, Settings
from ..source import is_lintable_kind
from .patterns import Patterns

if TYPE_CHECKING:  # imported where there is a `.gitignore`
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".pyi", ".ipynb")


def find(paths: Iterable[str], settings: Settings) -> list[str]:
    """The files to lint, named as the user would name them, each once, in a stable order.

    A file that is named is linted whatever its suffix, and excluded only with `force_exclude`; in
    folders `*.py`, `*.pyi` and `*.ipynb` count. Raises ConfigError for a path that does not exist.
    """
    walker = _Walker(settings)
    found: dict[str, str] = {}
    for path in paths:
        if _is_missing(path):
            raise ConfigError(f"no such file or directory: {path}")
        for file in walker.files(path):
            found.setdefault(os.path.abspath(file), file)
    return sorted(found.values())


def _is_missing(path: str) -> bool:
    """Whether there is nothing of that name. What a closed folder hides may be there: reading it says what is wrong."""
    try:
        os.lstat(path)
    except OSError as error:
        return not isinstance(error, PermissionError)
    return False


def is_excluded(path: str, settings: Settings) -> bool:
    """Whether a path that was named, as for standard input, is to be left out all the same."""
    return settings.force_exclude and _Walker(settings).is_excluded_with_parents(os.path.abspath(path))


@dataclass(frozen=True, slots=True)
class _Ignores:
    """The `.gitignore` files in force in a folder: what it is relative to, and its patterns."""

    files: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def plus(self, folder: str, *names: str) -> _Ignores:
        lines: list[str] = []
        for name in names:
            try:
                lines += Path(folder, name).read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
        return _Ignores((*self.files, (folder, _spec(lines)))) if lines else self

    def match(self, path: str, *, folder: bool) -> bool:
        """Whether git would ignore `path`; the file nearest to it has the last word."""
        for base, spec in reversed(self.files):
            relative = os.path.relpath(path, base).replace(os.sep, "/") + ("/" if folder else "")
            verdict = spec.check_file(relative).include
            if verdict is not None:
                return verdict
        return False


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # git skips a line that it cannot read; so do we
        return GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)])


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


class _Walker:
    def __init__(self, settings: Settings) -> None:
        self._excludes = Patterns(settings.exclude, settings.root)
        self._settings = settings

    def files(self, path: str) -> Iterator[str]:
        if self._settings.force_exclude and self.is_excluded_with_parents(os.path.abspath(path)):
            return
        if not os.path.isdir(path):
            yield path
            return
        full = os.path.abspath(path)
        ignores = self._ignores_above(full) if self._settings.respect_gitignore else _Ignores()
        yield from self._walk("" if path in (".", "./") else path, full, ignores)

    def _walk(self, shown: str, full: str, ignores: _Ignores) -> Iterator[str]:
        """The files below a folder. Links to folders are not followed, so there are no loops."""
        try:
            with os.scandir(full) as entries:
                listing = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            yield shown or "."  # reading it will fail too, and that is a finding
            return
        if self._settings.respect_gitignore:
            ignores = ignores.plus(full, ".gitignore")
        for entry in listing:
            path, name = entry.path, os.path.join(shown, entry.name)
            folder = entry.is_dir(follow_symlinks=False)
            if not folder and not self._is_lintable(entry):
                continue
            if self._excludes.matches(path) or ignores.match(path, folder=folder):
                continue
            if folder:
                yield from self._walk(name, path, ignores)
            else:
                yield name

    @staticmethod
    def _is_lintable(entry: os.DirEntry[str]) -> bool:
        if not entry.name.endswith(SUFFIXES) or entry.name.startswith(".#"):  # an editor's lock
            return False
        return entry.is_file(follow_symlinks=False) or is_lintable_kind(entry.path)

    def is_excluded_with_parents(self, full: str) -> bool:
        root = str(self._settings.root)
        while full != root and full != os.path.dirname(full):
            if self._excludes.matches(full):
                return True
            full = os.path.dirname(full)
        return False

    def _ignores_above(self, full: str) -> _Ignores:
        """What the folders above a start folder ignore, up to the repository's or the project's root.

        Nothing where they ignore the start folder itself: it was named all the same.
        """
        above = self._folders_above(full)
        ignores = _Ignores().plus(above[-1], os.path.join(".git", "info", "exclude"))
        for folder in reversed(above):
            if folder != full:
                ignores = ignores.plus(folder, ".gitignore")
        return _Ignores() if ignores.match(full, folder=True) else ignores

    def _folders_above(self, full: str) -> list[str]:
        root = str(self._settings.root)
        above = [full]
        while not os.path.exists(os.path.join(above[-1], ".git")):
            parent = os.path.dirname(above[-1])
            if parent == above[-1]:  # in no repository
                return [full, *(folder for folder in above[1:] if Path(folder).is_relative_to(root))]
            above.append(parent)
        return above
