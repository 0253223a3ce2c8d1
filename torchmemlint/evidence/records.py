"""Data sets that are read by forked workers: attributes that are lists or dicts of many Python objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Program, targets, text
from ..facts.walk import calls_of, heads, in_loops, last_name, nodes, statements
from ..interpreter.linking import module_member, module_name
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Function, Module, Obj, Value

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
            for found in _read_by(machine, program, atom):
                if found.site not in seen:
                    seen.add(found.site)
                    yield found._replace(loader=note.site, weight=min(weight, found.weight))


def _read_by(machine: Machine, program: Program, dataset: Obj) -> Iterator[Records]:
    """What loading an item reads of a data set, and of the objects that it keeps for the purpose."""
    assert isinstance(dataset.cls, Class)
    reading = _readers(dataset.cls, "__getitem__", "__iter__")
    for found in _filled(machine, program, dataset.cls):
        if found.attribute in reading:
            yield found
    for attribute in sorted(reading):
        for part in dataset.fields.get(attribute, ()):
            if type(part) is Obj and part.kind == "instance" and isinstance(part.cls, Class):
                filling = _looped(part.cls) | {"__init__"}
                read = _readers(part.cls, *(name for name, _ in _members(part.cls) if name not in filling))
                yield from (found for found in _filled(machine, program, part.cls) if found.attribute in read)


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


def _filled(machine: Machine, program: Program, cls: Class) -> Iterator[Records]:
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
                elif _parses(program, value) or any(map(_lists_objects, _called(machine, function, value))):
                    yield Records(statement[1], target[2], cls.facts.name, True, -1, 2)


def _called(machine: Machine, function: Function, call: Expr) -> Iterator[FunctionFacts]:
    """The functions that a call in a method means: `read_index(path)`, `index.load(path)`."""
    found: Value = ()
    callee = call[2] if call[0] == m.CALL else call
    if callee is call:
        return
    if callee[0] == m.NAME:
        found = module_name(machine, function.frame.unit.frame, callee[1]) or ()
    elif callee[0] == m.ATTR and callee[1][0] == m.NAME:
        for atom in module_name(machine, function.frame.unit.frame, callee[1][1]) or ():
            if type(atom) is Module:
                found = module_member(machine, atom.unit, callee[2]) or ()
    yield from (atom.facts for atom in found if type(atom) is Function)


def _lists_objects(function: FunctionFacts) -> bool:
    """Whether a function returns a list that it fills in a loop with objects of several parts."""
    filled = {
        call[2][1]
        for statement, looped in in_loops(function.body, False)
        if looped
        for call in calls_of(statement)
        if call[2][0] == m.ATTR and call[2][2] == "append" and call[3] and _rich(call[3][0], function.body)
    }
    returned = [one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None]
    made = (value[3] for value in returned if value[0] == m.COMP and value[2] == "list" and value[4] is None)
    return any(value in filled for value in returned) or any(_rich(element, function.body) for element in made)


def _rich(expr: Expr, body: Block) -> bool | None:
    """Whether an element is an object of several parts (True), a string, pair or small tuple (False), or neither."""
    if expr[0] == m.NAME:
        for statement in statements(body):
            if statement[0] == m.ASSIGN and expr in statement[2] and statement[3][0] in (m.DICT, m.NEW):
                return _rich(statement[3], body)
        return None
    if expr[0] == m.DICT:
        return len(expr[2]) > 2 and not any(makes_array(value) for _, value in expr[2])
    if expr[0] == m.NEW and expr[2] in ("tuple", "list"):
        return None if any(makes_array(item) for item in expr[3]) else False
    if expr[0] == m.CALL:
        name = last_name(expr[2])
        if name in ("dict",):
            return True
        if name[:1].isupper() and expr[2][0] == m.NAME and not name.isupper() and name not in ("Path", "Image"):
            return True  # an object of some class
    return None


def makes_array(expr: Expr) -> bool:
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
