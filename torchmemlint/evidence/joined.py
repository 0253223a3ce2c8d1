"""A file together with what it imports from the project, as one text: for rules that read and do not run.

A class that starts a thread, a helper that puts away what it is given, a function that empties a cache say as much from
another file. What the file does with them is found by the same passes, and said of the file itself only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..facts import model as m
from ..facts.model import ClassFacts, FileFacts, FunctionFacts
from ..facts.outline import Outline
from ..facts.program import Place, Program
from ..interpreter.linking import Unit, module_member
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Function, Module, Value

_MOST = 80  # functions of other files
_DEEPEST = 3  # helpers of helpers


class Joined(Program):
    """The home file with definitions of other files behind its own, which come first where names are the same."""

    def __init__(self, facts: FileFacts, own: Program, others: Iterable[Unit]) -> None:
        super().__init__(facts, own._imported, own._elsewhere)
        for other in others:
            self.imports.update(other.outline.program.imports)
        self.imports.update(own.imports)
        special = {name: places for name, places in self.by_name.items() if name.startswith("__")}  # told by class
        self.by_name.update({**own.by_name, **special})


class Reaching(Program):
    """The home file, which looks for the functions that it lacks in what it imports."""

    def __init__(self, own: Program, others: Sequence[Outline], whole: Callable[[], Program]) -> None:
        super().__init__(own.facts, own._imported, own._elsewhere)
        self.own = own
        self.others = others
        self.whole = whole
        self.by_name = _Names(self)

    def wider(self) -> Program:
        found = self.whole()
        self.facts = found.facts  # whose functions, and the lambdas in them, come behind those of the home file
        self.imports = found.imports
        return found

    @functools.cached_property
    def places(self) -> tuple[Place, ...]:
        return self.own.places


class _Names(dict[str, list[Place]]):
    """The functions of the home file by their names, and those of others when they are asked for."""

    def __init__(self, program: Reaching) -> None:
        super().__init__(program.own.by_name)
        self._program = program

    def get(self, name: str, default: Any = None) -> Any:
        known = super().get(name, default)
        if known and not name.startswith("__"):
            return known
        if not any(name in other.program.by_name for other in self._program.others):
            return known
        return self._program.wider().by_name.get(name, default)


def joined(machine: Machine, own: Program) -> Program | None:
    """The home file and what its imports bring of the project; None if that is nothing."""
    if machine.project is None or not own.imports:
        return None
    gathered = _Gathered(machine)
    for local in own.imports:
        value = machine.look_up(machine.module_frame, local) or ()
        gathered.take(value, own.called, local)
    gathered.follow()
    if not gathered.functions:
        return None
    return Joined(gathered.behind(own.facts), own, gathered.units())


class _Gathered:
    """Functions and classes of other files, and what these use of their own files."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.functions: dict[int, tuple[Unit, FunctionFacts]] = {}  # by identity, as they come
        self.classes: dict[int, tuple[Unit, Class, str]] = {}
        self._unread: list[tuple[Unit, FunctionFacts, int]] = []  # what these use comes behind all that is imported

    def take(self, value: Value, called: frozenset[str] | set[str], local: str = "", depth: int = 0) -> None:
        for atom in value:
            if type(atom) is Module:
                for name in sorted(called & atom.unit.outline.bindings[0].keys()):
                    self.take(module_member(self.machine, atom.unit, name) or (), set(), name, depth)
            elif type(atom) is Class:
                self._class(atom, local or atom.facts.name, depth)
            elif type(atom) is Function and atom.owner is None:
                self._function(atom.frame.unit, atom.facts, local or atom.facts.name, depth)

    def _class(self, cls: Class, name: str, depth: int) -> None:
        unit = cls.frame.unit
        if unit is self.machine.home or id(cls.facts) in self.classes:
            return
        self.classes[id(cls.facts)] = (unit, cls, name)
        for base in cls.bases:
            self._class(base, base.facts.name, depth)
        self._function(unit, unit.facts.functions[cls.facts.body], "", depth)
        for index in cls.facts.methods.values():
            self._function(unit, unit.facts.functions[index], "", depth)

    def _function(self, unit: Unit, function: FunctionFacts, local: str, depth: int) -> None:
        if unit is self.machine.home or id(function) in self.functions or len(self.functions) >= _MOST:
            return
        self.functions[id(function)] = (unit, function._replace(name=local) if local else function)
        for index in function.inner:
            self._function(unit, unit.facts.functions[index], "", depth)
        if depth < _DEEPEST:
            self._unread.append((unit, function, depth))

    def follow(self) -> None:
        """Take what the gathered functions use of their own files, the nearest first."""
        for unit, function, depth in self._unread:
            for name in sorted(unit.outline.named_in(function)) if len(self.functions) < _MOST else ():
                self.take(module_member(self.machine, unit, name) or (), set(), "", depth + 1)

    def units(self) -> list[Unit]:
        """The files that they are in."""
        return list({unit.path: unit for unit, _ in self.functions.values()}.values())

    def behind(self, home: FileFacts) -> FileFacts:
        """The facts of the home file with these behind."""
        places: dict[tuple[str, int], int] = {}  # the function of a file by its index -> the new index
        classes: dict[tuple[str, int], int] = {}
        by_unit: dict[str, dict[int, int]] = {}
        for unit, _ in self.functions.values():
            if unit.path not in by_unit:
                whole = unit.outline.whole
                by_unit[unit.path] = {id(one): index for index, one in enumerate(whole.functions)}
                for index, one in enumerate(whole.classes):
                    if id(one) in self.classes:
                        classes[unit.path, index] = len(home.classes) + list(self.classes).index(id(one))
        for number, (ident, (unit, _)) in enumerate(self.functions.items()):
            places[unit.path, by_unit[unit.path][ident]] = len(home.functions) + number
        functions = [
            function._replace(
                owner=classes.get((unit.path, function.owner), -1),
                inner=tuple(places[unit.path, one] for one in function.inner if (unit.path, one) in places),
                body=_moved(function.body, unit.path, places) if _has_lambdas(unit, function) else function.body,
            )
            for unit, function in self.functions.values()
        ]
        moved = [_class_moved(unit, cls.facts, name, places) for unit, cls, name in self.classes.values()]
        return home._replace(functions=(*home.functions, *functions), classes=(*home.classes, *moved))


def _has_lambdas(unit: Unit, function: FunctionFacts) -> bool:
    """Whether its body has functions without a name, which are known there by their number."""
    return any(unit.outline.whole.functions[index].name == "<lambda>" for index in function.inner)


def _class_moved(unit: Unit, cls: ClassFacts, name: str, places: dict[tuple[str, int], int]) -> ClassFacts:
    methods = {key: places[unit.path, one] for key, one in cls.methods.items() if (unit.path, one) in places}
    return cls._replace(name=name, body=places.get((unit.path, cls.body), 0), methods=methods)


def _moved(part: Any, path: str, places: dict[tuple[str, int], int]) -> Any:
    """A body with the new numbers of the functions in it."""
    if type(part) is not tuple:
        return part
    if len(part) == 2 and part[0] == m.LAMBDA and type(part[1]) is int:
        return (m.LAMBDA, places.get((path, part[1]), 0))
    return tuple(_moved(inner, path, places) for inner in part)
