"""Names across files: what an import stands for, found when it is first used.

The run is about one file, its *home*. Of another file of the project only what is asked for is executed: a
name's own statements, in a state of their own, as Python would have run them at import time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ..facts import model as m
from ..facts.model import FunctionFacts, Stmt
from ..facts.outline import Outline, Stars
from .registries import definitions, registering
from .values import UNKNOWN, External, Imported, Module, Value

if TYPE_CHECKING:
    from .frames import Frame
    from .machine import Machine

_DEEPEST_IMPORT = 8

# Packages whose behaviour is written down in `knowledge`; a project that has one of these names in its tree
# (a copy, or the package itself) means the same by it.
_KNOWN = frozenset(("torch", "torchvision", "numpy", "cupy", "pycuda", "numba", "builtins"))


class Project(Protocol):
    """The files around the home file. Paths are whatever the implementation calls a file."""

    def resolve(self, importer: str, level: int, dotted: str) -> str | None:
        """The file, or folder of a namespace package, that `from <level dots><dotted>` means in `importer`."""

    def submodule(self, package: str, name: str) -> str | None:
        """The file of a module in a package."""

    def defining(self, folder: str, name: str) -> str | None:
        """The one file in a folder without an `__init__.py` that defines a name."""

    def may_have(self, path: str, name: str) -> bool:
        """Whether a file may bind a name, itself or by star imports: its text has that word."""

    def bringing(self, path: str, name: str) -> frozenset[str]:
        """The modules that star imports of a file name, with their dots, which may have a name: see `may_have`."""

    def called(self, path: str, name: str) -> str | None:
        """Whether other files call a function of this one with gradients off, `guarded`, or not, `open`; None if none
        calls it."""

    def is_judged(self, path: str) -> bool:
        """Whether rules could say anything of a file."""

    def loaded(self, path: str, name: str) -> str | None:
        """`alone` if other files load a data set of this one, and all without workers."""

    def made(self, path: str, name: str) -> str | None:
        """`passing` if other files make objects of a class of this one, and each goes with the function around."""

    def repeated(self, path: str, name: str) -> str | None:
        """`repeated` if a loop of another file calls a class, a function or a method, `Feed.restart`, of this one."""

    def emptied(self, path: str, name: str) -> str | None:
        """`emptied` if other files empty a global of this one, or what its objects have, again and again."""

    def leading(self, path: str) -> list[str]:
        """The programs that import from a file."""

    def outline(self, path: str) -> Outline | None:
        """What the file does; None where it cannot be parsed."""


class Unit:
    """One file in a run: its facts, the frame of its module body, and what of that has not been run."""

    __slots__ = ("absent", "classes", "facts", "frame", "outline", "path", "pending", "stars")

    def __init__(self, outline: Outline, path: str) -> None:
        self.outline = outline
        self.facts = outline.facts
        self.path = path
        self.frame: Frame
        self.classes: dict[int, object] = {}  # index -> Class
        self.pending: dict[str, list[Stmt]] = {}
        self.stars: list[Stars] = []  # of each statement that has `from ... import *`
        self.absent: set[str] = set()  # names that neither it nor its star imports have

    @property
    def name(self) -> str:
        """The module's own name, without its package's."""
        folder, file = os.path.split(self.path)
        return os.path.basename(folder) if file.startswith("__init__.") else os.path.splitext(file)[0]

    def is_worth_running(self, function: FunctionFacts) -> bool:
        return id(function) in self.outline.running


def import_name(machine: Machine, frame: Frame, level: int, module: str, name: str) -> Value:
    """What an import binds: `name` of a module, or the module itself if `name` is empty."""
    if machine.project is None or (not level and _is_foreign(module.split(".", 1)[0])):
        return (External(_dotted(level, module, name)),)
    return (Imported(frame.unit.path, level, module, name),)


def _is_foreign(root: str) -> bool:
    return root in _KNOWN or root in sys.stdlib_module_names


def _dotted(level: int, module: str, name: str) -> str:
    """The name outside of the project; `from .backend import torch`, of what is not seen, is torch under its name."""
    if name == "torch":
        return name
    return "." * level + ".".join(part for part in (module, name) if part)


def link(machine: Machine, value: Value) -> Value:
    """A value with the imports in it replaced by what they stand for."""
    result: Value = UNKNOWN
    for atom in value:
        result = machine.join(result, _linked(machine, atom) if type(atom) is Imported else (atom,))
    return result


def _linked(machine: Machine, atom: Imported) -> Value:
    known = machine.links.get(atom)
    if known is None:
        external: Value = (External(_dotted(atom.level, atom.module, atom.name)),)
        machine.links[atom] = external  # an import cycle ends here
        machine.links[atom] = known = _find(machine, atom) or external
    return known


def _find(machine: Machine, atom: Imported) -> Value | None:
    assert machine.project is not None
    path = machine.project.resolve(atom.importer, atom.level, atom.module)
    if path is None or machine.import_depth >= _DEEPEST_IMPORT:
        return None
    unit = unit_at(machine, path)
    if unit is None:
        return None
    if path == atom.importer and atom.name:  # `from . import layers` in a package's `__init__`: the file beside it
        return _submodule(machine, unit, atom.name)
    return module_member(machine, unit, atom.name) if atom.name else (Module(unit),)


def unit_at(machine: Machine, path: str) -> Unit | None:
    """The file at a path as a part of this run."""
    known = machine.units.get(path)
    if known is None:
        assert machine.project is not None
        outline = machine.project.outline(path)
        if outline is None:
            return None
        known = machine.add_unit(outline, path)
        known.pending, known.stars = outline.unbound(), outline.bindings[1]
    return known


def module_member(machine: Machine, unit: Unit, name: str) -> Value | None:
    """A name of a module; None if it has none that can be seen."""
    value = module_name(machine, unit.frame, name)
    if value is None:
        value = _submodule(machine, unit, name)
    return _brought(machine, unit, name) if value is None else value


def _submodule(machine: Machine, unit: Unit, name: str) -> Value | None:
    path = None if machine.project is None else machine.project.submodule(unit.path, name)
    inner = unit_at(machine, path) if path is not None else None
    return None if inner is None else (Module(inner),)


def _brought(machine: Machine, unit: Unit, name: str) -> Value | None:
    """A name that the `__init__` of a package would bring, of which only some files are there."""
    path = None if machine.project is None else machine.project.defining(unit.path, name)
    inner = unit_at(machine, path) if path is not None else None
    return None if inner is None else module_name(machine, inner.frame, name)


def module_name(machine: Machine, frame: Frame, name: str) -> Value | None:
    """A name in a module's own namespace, brought about if need be."""
    unit = frame.unit
    value = frame.vars.get(name) if name in unit.absent else _last_bound(machine, unit, name, {unit.path})
    if value is None:
        unit.absent.add(name)
    elif any(type(atom) is Imported for atom in value):
        value = frame.vars[name] = link(machine, value)
    return value


def _last_bound(machine: Machine, unit: Unit, name: str, seen: set[str]) -> Value | None:
    """What the last statement of a module that binds a name binds it to; star imports of files in `seen` are passed
    over."""
    own = unit.pending.pop(name, None)
    value = unit.frame.vars.get(name)
    if value is not None and own is None:
        return value
    after = unit.outline.stars_before.get(name, 0)
    value = _from_stars(machine, unit, name, unit.stars[after:], seen)
    if value is None and own is not None:
        _bind(machine, unit.frame, name, own)
        value = unit.frame.vars.get(name)
        if value is not None and unit is not machine.home:
            _fill(machine, unit, name, value)
    if value is None:
        value = _from_stars(machine, unit, name, unit.stars[:after], seen)
    return value


def _bind(machine: Machine, frame: Frame, name: str, own: Sequence[Stmt]) -> None:
    """Run what binds a name in a module's body, as it would have run when the module was imported."""
    if len(own) == 1 and own[0][0] == m.FROM:  # of the many names of an import it is only this one
        _, _, level, module, names = own[0]
        machine.steps_away += frame.unit is not machine.home
        for imported in (one for one, local in names if local == name):
            frame.vars[name] = import_name(machine, frame, level, module, imported)
        return

    def run() -> None:
        for statement in own:  # one that jumps keeps none of the others from running
            machine.block(frame, (statement,))

    machine.apart(frame, run)


def _fill(machine: Machine, unit: Unit, name: str, value: Value) -> None:
    """Enter into an empty table what decorators do, in files that were imported by now."""
    decorators = registering(unit, name, value) if machine.import_depth < _DEEPEST_IMPORT else frozenset()
    for path, entered in definitions(machine, unit, decorators) if decorators else ():
        other = unit_at(machine, path)
        if other is not None:
            module_name(machine, other.frame, entered)


def _from_stars(machine: Machine, unit: Unit, name: str, stars: Sequence[Stars], seen: set[str]) -> Value | None:
    """What the last of some star imports that has a name binds it to."""
    if not stars or machine.project is None:
        return None
    bringing = machine.project.bringing(unit.path, name)
    for statement in reversed(stars) if bringing else ():
        for star in statement:
            if "." * star[0] + star[1] not in bringing:
                continue
            value = _from_star(machine, unit, name, star, seen)
            if value is not None:
                unit.frame.vars[name] = value
                return value
    return None


def _from_star(machine: Machine, unit: Unit, name: str, star: tuple[int, str], seen: set[str]) -> Value | None:
    project = machine.project
    if project is None or machine.import_depth >= _DEEPEST_IMPORT:
        return None
    path = project.resolve(unit.path, *star)
    if path is None or path in seen or not project.may_have(path, name):
        return None
    seen.add(path)
    other = unit_at(machine, path)
    if other is None or not other.outline.exports(name):
        return None
    machine.import_depth += 1
    try:
        value = _last_bound(machine, other, name, seen)
    finally:
        machine.import_depth -= 1
    if value is None and name in other.outline.exported[0]:
        return _submodule(machine, other, name)
    return value


def bind_again(machine: Machine, frame: Frame, star: tuple[int, str]) -> None:
    """A star import in the home file: of the names that are bound by then, those that it has mean something else."""
    for name in list(frame.vars):
        value = _from_star(machine, frame.unit, name, star, {frame.unit.path})
        if value is not None:
            machine.put(frame.vars, name, value)
