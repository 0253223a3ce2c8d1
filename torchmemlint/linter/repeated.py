"""What other files of the project call again and again: in a loop, or in a function that is called in one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ..facts import model as m
from ..facts.model import Expr
from ..facts.program import Place, Program, text
from ..facts.walk import last_name
from ..lexical.once import ONCE, called_as, callers_of, made_as

if TYPE_CHECKING:
    from .project import Project

REPEATED = "repeated"
_FILES = 2  # that lead to one another
_DEEPEST = 3  # functions of one of them


def repeated_by_others(project: Project, path: str, name: str, files: int = _FILES) -> str | None:
    """`repeated` if a file that imports a class, a function or the class of a method, `Feed.restart`, from this one
    calls it in a loop, itself or by way of functions of its own. Tests say nothing: they are not how it is used."""
    head, _, method = name.partition(".")
    words = [re.compile(rb"\b%s\b" % re.escape(word.encode())) for word in dict.fromkeys((method or head, head))]
    for other, raw in project.linted() if files else ():
        if other == path or not all(word.search(raw) for word in words):
            continue
        outline = project.known(other)
        meant = None if outline is None else meant_by(project, other, outline.program, path, head, method)
        if outline is not None and meant is not None and _loops(project, other, outline.program, meant, files):
            return REPEATED
    return None


class Meant(NamedTuple):
    """How a file calls what is asked for."""

    direct: frozenset[str]  # its names for the class or function
    modules: frozenset[str]  # and for the module that has it
    head: str
    method: str

    def is_called(self, program: Program, caller: Place, call: Expr) -> bool:
        """Whether a call with the right last name means it: of a method one on an object of its class."""
        callee = call[2]
        if not self.method:
            return self._is_head(callee)
        if callee[0] != m.ATTR:
            return False
        if callee[1] == (m.NAME, "self"):
            return any(self._is_name(base.rpartition(".")[2]) for base in caller.bases)
        if callee[1][0] == m.CALL:
            return self._is_head(callee[1][2])
        return any(map(self._is_name, made_as(program, last_name(callee[1]))))

    def _is_head(self, callee: Expr) -> bool:
        if callee[0] == m.NAME:
            return callee[1] in self.direct
        return callee[0] == m.ATTR and callee[2] == self.head and text(callee[1]) in self.modules

    def _is_name(self, name: str) -> bool:
        return name in self.direct or (name == self.head and bool(self.modules))


def meant_by(project: Project, other: str, program: Program, path: str, head: str, method: str = "") -> Meant | None:
    """By which names a file imports a class or function of another; None if it does not."""
    direct, modules = set[str](), set[str]()
    for local, dotted in program.imports.items():
        level = len(dotted) - len(dotted.lstrip("."))
        module, _, name = dotted[level:].rpartition(".")
        of_package = level - 1 if level and not module else level  # `from . import part` is `..part`
        if name == head and _has(project.answer((other, of_package, module)), path):
            direct.add(local)
        elif project.answer((other, of_package, dotted[level:])) == path:
            modules.add(local)
    return Meant(frozenset(direct), frozenset(modules), head, method) if direct or modules else None


def imports_from(project: Project, other: str, program: Program, path: str) -> bool:
    """Whether a file imports another, or anything of it."""
    for dotted in program.imports.values():
        level = len(dotted) - len(dotted.lstrip("."))
        module = dotted[level:].rpartition(".")[0]
        of_package = level - 1 if level and not module else level
        if project.answer((other, of_package, dotted[level:])) == path:
            return True
        if _has(project.answer((other, of_package, module)), path):
            return True
    return False


def _has(module: str | None, path: str) -> bool:
    """Whether a module is that file, or a package around it, whose `__init__` hands its names on."""
    if module is None or module == path:
        return module is not None
    return os.path.basename(module) == "__init__.py" and path.startswith(os.path.dirname(module) + os.sep)


def _loops(project: Project, path: str, program: Program, meant: Meant, files: int) -> bool:
    """Whether a loop of a file calls what is meant, or a function that does; or one of other files calls that."""
    names = {meant.method} if meant.method else {meant.head, *meant.direct}
    found = list(callers_of(program, names, means=lambda caller, call: meant.is_called(program, caller, call)))
    callers: list[Place] = []
    for _ in range(_DEEPEST):
        if any(looped for _, looped in found):
            return True
        callers += (place for place, _ in found)
        found = list(callers_of(program, {called_as(place) for place, _ in found}))
    named = {place.cls if place.facts.name == "__init__" else place.facts.name for place in callers if not place.cls}
    return any(repeated_by_others(project, path, one, files - 1) for one in sorted(named - set(ONCE)))
