"""The programs of a project, and the files that they lead to: a file of functions says nothing of how often, and with
what, they are called."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .imports import Import, imports

if TYPE_CHECKING:
    from .project import Project

_MOST = 2
_MAIN = re.compile(rb"^if __name__|^def main\(", re.MULTILINE)


def leading_files(project: Project) -> dict[str, list[str]]:
    """The programs that import from a file, by themselves or from a package that hands its names on, and the files
    that do so and that a program imports."""
    found: dict[str, list[str]] = {}
    texts = [(path, raw) for path, raw in project.linted() if _MAIN.search(raw)]
    programs = dict.fromkeys(path for path, _ in texts)
    imported = dict.fromkeys(one for path, raw in texts for one in _enter(project, found, path, imports(raw)))
    for path in imported:
        if path not in programs and not _is_package(path):
            _enter(project, found, path, project.imports_of(path))
    return found


def _enter(project: Project, found: dict[str, list[str]], path: str, imported: list[Import]) -> list[str]:
    """Note what a file leads to; those files."""
    targets = [target for target in dict.fromkeys(_imported(project, path, imported)) if target != path]
    for target in targets:
        found.setdefault(target, []).append(path)
    return targets


def nearest(programs: list[str], path: str) -> list[str]:
    """A few of the programs that lead to a file, those beside it first."""
    return sorted(programs, key=lambda program: (os.path.dirname(program) != os.path.dirname(path), program))[:_MOST]


def _imported(project: Project, path: str, found: list[Import]) -> Iterator[str]:
    """The files that imports of a file bring names of."""
    for module, names in found:
        for name in names if module is None else (module,):
            target = project.found(path, name)
            if target is None or module is None or not _is_package(target):
                yield from () if target is None else (target,)
            else:
                yield from _handed_on(project, target, names)


def _handed_on(project: Project, package: str, names: list[str]) -> Iterator[str]:
    """The files of a package that names come from, as its `__init__` says."""
    for name in names:
        inner = project.part_of(package, name)
        if inner is not None:
            yield inner
    for module, brought in project.imports_of(package) if package.endswith(".py") else ():
        if module is not None and (brought == ["*"] or not set(brought).isdisjoint(names)):
            target = project.found(package, module)
            if target is not None and not _is_package(target):
                yield target


def _is_package(path: str) -> bool:
    return os.path.basename(path) in ("", "__init__.py")
