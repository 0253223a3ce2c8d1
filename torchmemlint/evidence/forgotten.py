"""Teardowns that let go of what a run has set up, but of one part not; or that only empty the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import ClassFacts, FunctionFacts, Site
from ..facts.program import Program, expressions, targets
from ..facts.walk import calls, calls_of, root_of, statements
from ..interpreter.holders import has_parameters
from ..interpreter.machine import Machine
from ..interpreter.values import Bound, Class, Obj, Value
from ..lexical.cleanup import collects, empties, given_up, may_clean_up

_DEPTH = 5
_FIRST = ("__init__", "__post_init__", "__del__")
UNDOES = {
    "teardown": ("setup",),
    "tear_down": ("set_up", "setup"),
    "unload": ("load", "load_model"),
    "unload_model": ("load_model", "load"),
    "close": ("open",),
    "stop": ("start",),
    "shutdown": ("start", "startup"),
    "__exit__": ("__enter__",),
}
_MOVES = ("to", "cpu", "to_empty")
_SELF = (m.NAME, "self")


class Forgotten(NamedTuple):
    """An attribute that a run sets, as it sets those that the teardown at its end lets go of."""

    site: Site
    attribute: str  # `self.loop.batches`
    what: str
    teardown: str
    freed: tuple[str, ...]
    at: Site  # where the teardown lets go of the first of those


class Undone(NamedTuple):
    """An attribute that one method makes, and that its counterpart does not let go of before it empties the cache."""

    site: Site  # where the cache is emptied
    attribute: str
    what: str
    teardown: str
    setup: str
    made: Site


class _Teardown(NamedTuple):
    name: str
    freed: dict[str, Site]  # attributes of the object


class _Setting(NamedTuple):
    """An attribute that a run binds."""

    owner: tuple[str, ...]  # the attributes that lead to the object that has it
    name: str
    site: Site


def forgotten(machine: Machine, program: Program) -> Iterator[Forgotten]:
    """Loaders, optimizers and models that stay on an object whose own method tears the rest down when it is done."""
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        for teardown in teardowns(program, methods):
            for run in methods.values():
                if teardown.name in run.calls and run.name not in (teardown.name, *_FIRST):
                    yield from _forgotten_by(machine, program, cls, teardown, run)


def undone(machine: Machine, program: Program) -> Iterator[Undone]:
    """Models that `setup()` makes, and `teardown()` only collects garbage and empties the cache."""
    for cls in program.facts.classes if program.empties else ():
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        for name in sorted(methods.keys() & UNDOES.keys()):
            site = _only_empties(program, cls, methods, name)
            setup = next((one for one in UNDOES[name] if one in methods), "") if site is not None else ""
            if site is None or not setup:
                continue
            objects = [one for known in machine.instances.values() for one in known if is_of(one, cls)]
            for one in statements(methods[setup].body):
                for attribute in _binds(one) if one[0] == m.ASSIGN and one[3][0] == m.CALL else ():
                    values = [obj.fields.get(attribute, ()) for obj in objects]
                    what = next((what for value in values if (what := heavy_part(value))), "")
                    if what not in ("", "loader") and not is_let_go(program, attribute):
                        yield Undone(site, attribute, what, name, setup, one[1])


def _only_empties(
    program: Program, cls: ClassFacts, methods: dict[str, FunctionFacts], name: str, depth: int = 2
) -> Site | None:
    """Where a method empties the cache, if it lets go of nothing, itself or by another method of the class, and calls
    nothing of its object's parts."""
    function = methods[name]
    if not may_clean_up(program, function) or any(given_up(one) for one in statements(function.body)):
        return None
    found: Site | None = None
    for call in calls(function.body):
        callee = call[2]
        if callee[:2] == (m.ATTR, _SELF) and callee[2] in methods and depth and not empties(program, call):
            inner = _only_empties(program, cls, methods, callee[2], depth - 1)
            if inner is None:
                return None
            found = found or call[1]
        elif empties(program, call):
            found = found or call[1]
        elif callee[0] == m.ATTR and (root_of(callee) == _SELF or root_of(callee)[0] == m.CALL or callee[2] in _MOVES):
            return None  # who knows what that lets go of
    return found


def is_let_go(program: Program, attribute: str) -> bool:
    """Whether anything lets go of an attribute of this name."""
    return any(
        name.rpartition(".")[2] == attribute
        for place in program.places
        if place.facts.name not in _FIRST
        for one in statements(place.facts.body)
        for name in given_up(one)
    )


def teardowns(program: Program, methods: dict[str, FunctionFacts]) -> Iterator[_Teardown]:
    """The methods that set attributes to None and then collect garbage, or empty the device's cache."""
    for name, function in methods.items():
        if name in _FIRST or not may_clean_up(program, function):
            continue
        if not any(collects(program, one) or empties(program, one) for one in calls(function.body)):
            continue
        freed = {
            place.removeprefix("self."): one[1]
            for one in statements(function.body)
            for place in given_up(one)
            if place.startswith("self.")
        }
        if freed:
            yield _Teardown(name, freed)


def _forgotten_by(
    machine: Machine, program: Program, cls: ClassFacts, teardown: _Teardown, run: FunctionFacts
) -> Iterator[Forgotten]:
    torn = [call[1] for call in calls(run.body) if call[2] == (m.ATTR, _SELF, teardown.name)]
    made = [one for known in machine.instances.values() for one in known]
    objects = [one for one in (*made, *machine.module_frame.allocs.values()) if is_of(one, cls)]
    settings = [one for one in _settings(machine, program, objects, run) if torn and one.site < torn[-1]]
    if not any(not one.owner and one.name in teardown.freed for one in settings):
        return
    reached = _reached(program, run)
    for one in settings:
        gone = one.name in teardown.freed or (one.owner and one.owner[0] in teardown.freed)
        values = [part for owner in objects for part in _parts(owner, (*one.owner, one.name))]
        what = next((what for value in values if (what := heavy_part(value))), "")
        if not gone and what and _stays(program, one.name, reached):
            path = ".".join(("self", *one.owner, one.name))
            yield Forgotten(
                _bound_at(machine, program, objects, one),
                path,
                what,
                teardown.name,
                tuple(teardown.freed),
                min(teardown.freed.values()),
            )


def is_of(obj: object, cls: ClassFacts) -> bool:
    return type(obj) is Obj and isinstance(obj.cls, Class) and obj.cls.facts is cls


def _settings(machine: Machine, program: Program, objects: list[Obj], run: FunctionFacts) -> Iterator[_Setting]:
    """The attributes that a method binds, itself or by calling a method of one of the object's parts."""
    for one in statements(run.body):
        for name in _binds(one):
            yield _Setting((), name, one[1])
        for call in calls_of(one):
            callee = call[2]
            if callee[0] == m.ATTR and callee[1][0] == m.ATTR and callee[1][1] == (m.NAME, "self"):
                for method in _methods(program, objects, callee[1][2], callee[2]):
                    for name in {name for inner in statements(method.body) for name in _binds(inner)}:
                        yield _Setting((callee[1][2],), name, one[1])


def _binds(statement: m.Stmt) -> list[str]:
    if statement[0] != m.ASSIGN or statement[3][0] == m.CONST:
        return []
    return [one[2] for one in targets(statement) if one[0] == m.ATTR and one[1] == (m.NAME, "self")]


def _methods(program: Program, objects: list[Obj], part: str, method: str) -> list[FunctionFacts]:
    """The functions of the file that calling a method of a part may mean."""
    classes = {
        id(atom.cls.facts): atom.cls.facts
        for one in objects
        for atom in one.fields.get(part, ())
        if type(atom) is Obj and atom.kind == "instance" and isinstance(atom.cls, Class)
    }
    return [
        program.facts.functions[cls.methods[method]]
        for cls in program.facts.classes
        if id(cls) in classes and method in cls.methods
    ]


def _bound_at(machine: Machine, program: Program, objects: list[Obj], setting: _Setting) -> Site:
    """Where an attribute is bound: in the run, or in the method of the part."""
    if not setting.owner:
        return setting.site
    for obj in objects:
        for atom in obj.fields.get(setting.owner[0], ()):
            if type(atom) is Obj and isinstance(atom.cls, Class):
                for index in atom.cls.facts.methods.values():
                    for one in statements(program.facts.functions[index].body):
                        if setting.name in _binds(one):
                            return int(one[1])
    return setting.site


def _parts(obj: Obj, path: tuple[str, ...]) -> Iterator[Value]:
    value = obj.fields.get(path[0], ())
    if len(path) == 1:
        yield value
        return
    for atom in value:
        if type(atom) is Obj:
            yield from _parts(atom, path[1:])


def heavy_part(value: Value, depth: int = _DEPTH) -> str:
    """What a value keeps: "loader", "optimizer" or "module"; "" if nothing of the kind."""
    for atom in value:
        if type(atom) is Bound:
            continue
        if type(atom) is Obj:
            if atom.kind in ("loader", "optimizer") or (atom.kind == "module" and has_parameters(atom)):
                return atom.kind
            parts = [part for key, part in atom.fields.items() if key[:1] != "$"] if depth else []
            found = next((what for part in parts if (what := heavy_part(part, depth - 1))), "")
            if found:
                return found
    return ""


def _reached(program: Program, run: FunctionFacts) -> set[str]:
    """The functions that a method calls, by their names, and those that they call."""
    found = {run.name}
    while True:
        more = {name for one in found for place in program.by_name.get(one, ()) for name in place.facts.calls} - found
        more &= program.by_name.keys()
        if not more:
            return found
        found |= more


def _stays(program: Program, attribute: str, reached: set[str]) -> bool:
    """Whether nothing lets go of an attribute, and only the run itself reads it, if only by way of `for`."""
    for place in program.places:
        outside = place.facts.name not in reached and not place.facts.name.startswith("__")
        if outside and any(expr[0] == m.ATTR and expr[2] == attribute for expr in expressions(place.facts.body)):
            return False
    return not is_let_go(program, attribute)
