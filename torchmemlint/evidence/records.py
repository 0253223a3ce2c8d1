"""Data sets that are read by forked workers: attributes that are lists or dicts of many Python objects; and
values that spawned workers make again because a module makes them when it is imported."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, Program, keyword, targets, text
from ..facts.walk import calls_of, heads, in_loops, last_name, nodes, statements
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Function, Obj, Value, constant, functions_behind
from ..interpreter.weights import heavy

_ARRAYS = ("tensor", "array", "imread", "load_image", "from_numpy", "numpy")


class Records(NamedTuple):
    """A container of Python objects on a data set."""

    site: Site
    attribute: str
    cls: str
    rich: bool  # its elements are dicts or objects of several parts, not single strings or pairs
    loader: Site
    weight: int


def read_by_forked_workers(machine: Machine, program: Program) -> Iterator[Records]:
    """Attributes of data sets, given to a loader with workers, that are filled with Python objects in a loop."""
    seen: set[Site] = set()
    for note in machine.plain:
        if note.kind != "loader-workers":
            continue
        dataset, weight, context = note.detail
        if context.method in ("spawn", "forkserver"):
            continue  # a copy for each worker from the start, whatever the elements are
        for atom in dataset:
            if type(atom) is not Obj or not isinstance(atom.cls, Class):
                continue
            for found in _read_by(program, atom):
                if found.site not in seen:
                    seen.add(found.site)
                    yield found._replace(loader=note.site, weight=min(weight, found.weight))


def _read_by(program: Program, dataset: Obj) -> Iterator[Records]:
    """What loading an item reads of a data set, and of the objects that it keeps for the purpose."""
    assert isinstance(dataset.cls, Class)
    reading = _readers(dataset.cls, "__getitem__", "__iter__")
    for found in _filled(program, dataset.cls):
        if found.attribute in reading:
            yield found
    for attribute in sorted(reading):
        for part in dataset.fields.get(attribute, ()):
            if type(part) is Obj and part.kind == "instance" and isinstance(part.cls, Class):
                filling = _looped(part.cls) | {"__init__"}
                read = _readers(part.cls, *(name for name, _ in _members(part.cls) if name not in filling))
                yield from (found for found in _filled(program, part.cls) if found.attribute in read)


def _members(cls: Class) -> Iterator[tuple[str, Function]]:
    for entry in cls.mro:
        for name, value in entry.frame.vars.items():
            for atom in value:
                if type(atom) is Function:
                    yield name, atom


def _readers(cls: Class, *methods: str) -> set[str]:
    """The attributes that these methods read, and the methods that they call: those that loading an item runs."""
    members = dict(reversed(list(_members(cls))))
    wanted, names = list(methods), set[str]()
    for method in wanted:
        function = members.get(method)
        if function is None:
            continue
        for statement in statements(function.facts.body):
            for expr in _all(statement):
                if expr[0] == m.ATTR and expr[1] == (m.NAME, "self"):
                    names.add(expr[2])
                    if expr[2] in members and expr[2] not in wanted:
                        wanted.append(expr[2])
    return names


def _all(statement: Stmt) -> Iterator[Expr]:
    for expr in heads(statement):
        yield from nodes(expr)


def _container(place: Expr) -> Expr:
    """`self.boxes` of `self.boxes[image]` and `self.boxes.setdefault(image, [])`."""
    while True:
        if place[0] == m.ITEM:
            place = place[1]
        elif place[0] == m.CALL and place[2][0] == m.ATTR and place[2][2] == "setdefault":
            place = place[2][1]
        else:
            return place


def _is_fixed(key: Expr) -> bool:
    return bool(key[0] in (m.CONST, m.SLICE))


def _looped(cls: Class) -> set[str]:
    """The methods that a method of the class calls in a loop."""
    return {
        call[2][2]
        for _, function in _members(cls)
        for statement, looped in in_loops(function.facts.body, False)
        if looped
        for call in calls_of(statement)
        if call[2][0] == m.ATTR and call[2][1] == (m.NAME, "self")
    }


def _filled(program: Program, cls: Class) -> Iterator[Records]:
    repeated = _looped(cls)
    for name, function in _members(cls):
        if name in ("__getitem__", "__iter__", "__len__"):
            continue
        local: dict[str, tuple[Site, bool]] = {}
        for statement, looped in in_loops(function.facts.body, name in repeated):
            for call in calls_of(statement):
                if call[2][0] == m.ATTR and call[2][2] == "append" and call[3] and looped:
                    rich = _rich(call[3][0], function.facts.body)
                    place = _container(call[2][1])
                    if rich is not None and place[0] == m.ATTR and place[1] == (m.NAME, "self"):
                        yield Records(call[1], place[2], cls.facts.name, rich, -1, 3)
                    elif rich is not None and place[0] == m.NAME:
                        local[place[1]] = (call[1], rich)
            if statement[0] not in (m.ASSIGN, m.ANNOTATE):
                continue
            value = statement[3] if statement[0] == m.ASSIGN else statement[4]
            for target in targets(statement):
                if value is not None and target[0] == m.ITEM and looped and not _is_fixed(target[2]):
                    rich, place = _rich(value, function.facts.body), _container(target)
                    if rich and place[0] == m.ATTR and place[1] == (m.NAME, "self"):
                        yield Records(statement[1], place[2], cls.facts.name, True, -1, 3)
                if value is None or target[0] != m.ATTR or target[1] != (m.NAME, "self"):
                    continue
                if value[0] == m.NAME and value[1] in local:
                    site, rich = local[value[1]]
                    yield Records(site, target[2], cls.facts.name, rich, -1, 3)
                elif value[0] == m.COMP and value[2] in ("list", "dict"):
                    rich = _rich(value[3] if value[4] is None else value[4], function.facts.body)
                    if rich is not None:
                        yield Records(statement[1], target[2], cls.facts.name, rich, -1, 3)
                elif _parses(program, value):
                    yield Records(statement[1], target[2], cls.facts.name, True, -1, 2)


def _rich(expr: Expr, body: Block) -> bool | None:
    """Whether an element is an object of several parts (True), a string, pair or small tuple (False), or neither."""
    if expr[0] == m.NAME:
        for statement in statements(body):
            if statement[0] == m.ASSIGN and expr in statement[2] and statement[3][0] in (m.DICT, m.NEW):
                return _rich(statement[3], body)
        return None
    if expr[0] == m.DICT:
        return len(expr[2]) > 2 and not any(_makes_array(value) for _, value in expr[2])
    if expr[0] == m.NEW and expr[2] in ("tuple", "list"):
        return None if any(_makes_array(item) for item in expr[3]) else False
    if expr[0] == m.CALL:
        name = last_name(expr[2])
        if name in ("dict",):
            return True
        if name[:1].isupper() and expr[2][0] == m.NAME and not name.isupper() and name not in ("Path", "Image"):
            return True  # an object of some class
    return None


def _makes_array(expr: Expr) -> bool:
    return any(
        part[0] == m.CALL and (text(part[2]).split(".")[0] in ("torch", "np", "numpy") or last_name(part[2]) in _ARRAYS)
        for part in nodes(expr)
    )


def _parses(program: Program, value: Expr) -> bool:
    """`json.load(f)`, `list(csv.DictReader(f))`, `frame.to_dict("records")`: thousands of small objects."""
    if value[0] == m.CALL and value[2] == (m.NAME, "list") and value[3]:
        value = value[3][0]
    if value[0] != m.CALL:
        return False
    dotted = program.dotted(value[2])
    if dotted in ("json.load", "json.loads", "csv.DictReader", "csv.reader", "orjson.loads", "yaml.safe_load"):
        return True
    return last_name(value[2]) == "to_dict" and bool(value[3] or value[4])


# -- made at import -------------------------------------------------------------------------------


class MadeAtImport(NamedTuple):
    """A heavy value that a module makes when it is imported."""

    site: Site
    name: str
    what: str
    worker: Site
    weight: int


def made_at_import(machine: Machine, program: Program) -> Iterator[MadeAtImport]:
    """What every spawned worker of this module's functions makes again."""
    method = _spawns(program)
    started = [note for note in machine.plain if note.kind == "worker"]
    started = [n for n in started if _of_this_file(machine, n.detail[1]) and (n.detail[0].method or method)]
    started = [n for n in started if (n.detail[0].method or method) in ("spawn", "forkserver")]
    if not started:
        return
    for statement in _import_time(machine.facts.functions[0].body):
        for target in targets(statement):
            if target[0] != m.NAME:
                continue
            expr = statement[3] if statement[0] == m.ASSIGN else statement[4]
            if expr is None or expr[0] != m.CALL or _small(machine, program, expr):
                continue
            what, weight = heavy(machine, machine.module_frame.vars.get(target[1], ()))
            if what in ("tensor", "array", "module") and weight > 1:
                yield MadeAtImport(statement[1], target[1], what, started[0].site, weight)


def _spawns(program: Program) -> str:
    """The start method that the file sets for all."""
    for place in program.places:
        if not {"set_start_method", "get_context"} & set(place.facts.calls):
            continue
        for statement in statements(place.facts.body):
            for call in calls_of(statement):
                if last_name(call[2]) == "set_start_method":
                    given = keyword(call, "method", 0)
                    if given is not None and given[0] == m.CONST:
                        return str(given[1])
    return ""


def _of_this_file(machine: Machine, target: Value) -> bool:
    own = {id(facts) for facts in machine.facts.functions}
    return any(id(function) in own for function in functions_behind(target))


def _import_time(body: Block) -> Iterator[Stmt]:
    """The assignments that run on import: those under the main guard do not."""
    for statement in body:
        if statement[0] == m.IF:
            test = statement[2]
            if test[0] == m.COMPARE and test[2] == (m.NAME, "__name__"):
                continue
            yield from _import_time(statement[3])
            yield from _import_time(statement[4])
        elif statement[0] in (m.WITH, m.TRY):
            yield from _import_time(statement[3] if statement[0] == m.WITH else statement[2])
        elif statement[0] in (m.ASSIGN, m.ANNOTATE):
            yield statement


def _small(machine: Machine, program: Program, call: Expr) -> bool:
    """Whether all sizes in a call are written out and come to little; those that a function of the file adds count."""
    sizes = _sizes(machine, call)
    for helper in program.by_name.get(last_name(call[2]), ()) if call[2][0] == m.NAME else ():
        inside = [part for one in statements(helper.facts.body) for part in calls_of(one) if _makes_array(part)]
        sizes += [size for part in inside for size in _sizes(machine, part)]
    if any(size is None for size in sizes):
        return False
    literal = bool(sizes) or any(part[0] == m.NEW for part in nodes(call))
    return literal and math.prod(max(size, 1) for size in sizes if size is not None) < 100_000


def _sizes(machine: Machine, call: Expr) -> list[int | None]:
    """The whole numbers in a call, also those that a constant of the module stands for; None for one unknown."""
    found: list[int | None] = []
    for part in nodes(call):
        if part[0] == m.CONST and isinstance(part[1], int) and not isinstance(part[1], bool):
            found.append(part[1])
        elif part[0] == m.NAME and part[1].isupper():
            value = constant(machine.module_frame.vars.get(part[1], ()))
            found.append(value if isinstance(value, int) else None)
    return found
