"""Data sets that are read by forked workers: attributes that are lists or dicts of many Python objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Site, Stmt
from ..facts.program import Block, Program, targets
from ..facts.walk import calls_of, expressions_of, heads, in_loops, last_name, nodes, statements
from ..interpreter.linking import module_member, module_name
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Function, Module, Obj, Value
from .few_records import serves_many
from .parsed_files import is_list_of_reader, of_parsed, parses
from .record_parts import adds_objects, has_parts
from .record_values import of_records
from .unpickled import are_dicts, gives_unpickled, is_unpickled

_GOES_THROUGH = ("len", "list", "iter", "enumerate", "zip", "sorted", "range", "tuple")


class Records(NamedTuple):
    """A container of Python objects on a data set."""

    site: Site
    attribute: str
    cls: str
    rich: bool  # its elements are dicts or objects of several parts, not single strings or pairs
    loader: Site
    weight: int
    made: Site = -1  # where the data set makes the object that has it, if it is not the data set's own


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
                known = machine.is_home(found.site) or found.made >= 0 or _counts(atom.cls, found.attribute)
                if found.rich and found.made < 0 and serves_many(atom.cls, found.attribute):
                    found = found._replace(rich=False)
                if known and found.site not in seen:
                    seen.add(found.site)
                    yield found._replace(loader=note.site, weight=min(weight, found.weight))


def _counts(cls: Class, attribute: str) -> bool:
    """Whether a data set is as long as what it has in an attribute, which is how one knows it from afar."""
    place = (m.ATTR, (m.NAME, "self"), attribute)
    lengths = (function.facts.body for name, function in _members(cls) if name == "__len__")
    return any(place in expressions_of(one) for body in lengths for one in statements(body))


def _made_for_all(machine: Machine, cls: Class, attribute: str) -> Site:
    """Where a data set of the home file makes an object that it takes its items from, `self.coco = COCO(path)`: it
    is as long as what that has, or as a list made from it, `self.ids = sorted(self.coco.imgs)`. Else -1."""
    place = (m.ATTR, (m.NAME, "self"), attribute)
    bodies = [(name, list(statements(function.facts.body))) for name, function in _members(cls)]
    bound = [one for _, body in bodies for one in body if one[0] == m.ASSIGN and place in one[2]]
    if len(bound) != 1 or bound[0][3][0] != m.CALL or not machine.is_home(bound[0][1]):
        return -1
    listed = {t for _, body in bodies for one in body if one[0] == m.ASSIGN and place in nodes(one[3]) for t in one[2]}
    asked = (part for name, body in bodies if name == "__len__" for one in body for part in expressions_of(one))
    return int(bound[0][1]) if any(part == place or part in listed for part in asked) else -1


def _read_by(machine: Machine, program: Program, dataset: Obj) -> Iterator[Records]:
    """What loading an item reads of a data set, and of the objects that it keeps for the purpose."""
    assert isinstance(dataset.cls, Class)
    reading = _readers(dataset.cls, "__getitem__", "__iter__")
    yield from _kept_by(machine, program, dataset, reading)
    for attribute, part, read in _parts_read(dataset, reading):
        made = _made_for_all(machine, dataset.cls, attribute)
        kept = list(_kept_by(machine, program, part, read))
        for _, inner, of_inner in _parts_read(part, read):
            kept += _kept_by(machine, program, inner, of_inner) if inner is not dataset else ()
        for found in kept:
            yield found._replace(made=made) if found.rich and not machine.is_home(found.site) else found


def _parts_read(owner: Obj, reading: set[str]) -> Iterator[tuple[str, Obj, set[str]]]:
    """The objects in the attributes of another one that are read, and which attributes of theirs may be."""
    for attribute in sorted(reading):
        for part in owner.fields.get(attribute, ()):
            if type(part) is Obj and part.kind == "instance" and isinstance(part.cls, Class):
                filling = _looped(part.cls) | {"__init__"}
                read = {"data"} if _is_container(part.cls) else set()
                read |= _readers(part.cls, *(name for name, _ in _members(part.cls) if name not in filling))
                yield attribute, part, read


def _kept_by(machine: Machine, program: Program, owner: Obj, reading: set[str]) -> Iterator[Records]:
    """What an object has in those attributes: as its class is written, and as the run has seen it."""
    assert isinstance(owner.cls, Class)
    written = [found for found in _filled(machine, program, owner.cls) if found.attribute in reading]
    yield from written
    seen = {found.attribute for found in written}
    for site, attribute in of_records(machine, owner):
        if attribute in reading and attribute not in seen:
            yield Records(site, attribute, owner.cls.facts.name, True, -1, 2)


def _members(cls: Class) -> Iterator[tuple[str, Function]]:
    for entry in cls.mro:
        for name, value in entry.members.items():
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
            for site, place, rich in adds_objects(statement, function.facts.body) if looped else ():
                if place[0] == m.ATTR and place[1] == (m.NAME, "self"):
                    yield Records(site, place[2], cls.facts.name, rich, -1, 3)
                elif place[0] == m.NAME:
                    local[place[1]] = (site, rich)
            given = _given_to_base(cls, statement)
            if given is not None and given[0] == m.NAME and given[1] in local:
                site, rich = local[given[1]]
                yield Records(site, "data", cls.facts.name, rich, -1, 3)
            value, places = _put(statement)
            for target in places:
                if value is None or target[0] != m.ATTR or target[1] != (m.NAME, "self"):
                    continue
                if value[0] == m.NAME and value[1] in local:
                    site, rich = local[value[1]]
                    yield Records(site, target[2], cls.facts.name, rich, -1, 3)
                    continue
                listed = value[0] == m.COMP and value[2] in ("list", "dict")
                made = has_parts(value[3] if value[4] is None else value[4], function.facts.body) if listed else None
                if made is not None:
                    yield Records(statement[1], target[2], cls.facts.name, made, -1, 3)
                    continue
                parsed = parses(program, value) and not _are_settings(cls, target)
                parsed = parsed or is_list_of_reader(program, value, function.facts.body)
                parsed = parsed or (of_parsed(program, value, function.facts.body) and _has_items(cls, target))
                called = [] if parsed else list(_called(machine, cls, function, value))
                parsed = parsed or any(
                    _lists_objects(one, _position(statement, target)) or _gives_parsed(program, one) for one in called
                )
                if parsed or _are_unpickled(program, cls, target, value, function.facts.body, called):
                    yield Records(statement[1], target[2], cls.facts.name, True, -1, 2)


def _are_unpickled(
    program: Program, cls: Class, place: Expr, value: Expr, body: Block, called: list[FunctionFacts]
) -> bool:
    """Whether the items of a data set are records that a pickle held."""
    loaded = is_unpickled(program, value, body) or any(gives_unpickled(program, one) for one in called)
    if not loaded or not _counts(cls, place[2]):
        return False
    return are_dicts((function.facts for _, function in _members(cls)), place)


def _put(statement: Stmt) -> tuple[Expr | None, tuple[Expr, ...]]:
    """What a statement puts as a whole, and where: `self.rows = read(path)`, `self.rows += read(path)`,
    `self.rows.extend(read(path))`."""
    if statement[0] == m.ASSIGN:
        return statement[3], targets(statement)
    if statement[0] in (m.ANNOTATE, m.AUGMENT):
        return statement[4], (statement[2],)
    call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
    if call is not None and call[2][0] == m.ATTR and call[2][2] in ("extend", "update") and len(call[3]) == 1:
        return call[3][0], (call[2][1],)
    return None, ()


def _given_to_base(cls: Class, statement: Stmt) -> Expr | None:
    """What a class that is itself a container is filled with: `super().__init__(rows)` of a `UserList`."""
    call = statement[2] if statement[0] == m.EXPR and statement[2][0] == m.CALL else None
    if call is None or call[2][0] != m.ATTR or call[2][2] != "__init__" or not call[3] or not _is_container(cls):
        return None
    return call[3][0]  # type: ignore[no-any-return]


def _is_container(cls: Class) -> bool:
    return any(base.rpartition(".")[2] in ("UserList", "UserDict", "list", "dict") for base in cls.external)


def _position(statement: Stmt, target: Expr) -> int:
    """Which part of what a call gives goes to a target: -1 for all of it."""
    parts = next((one[3] for one in statement[2] if one[0] == m.NEW), ()) if statement[0] == m.ASSIGN else ()
    return parts.index(target) if target in parts else -1


def _called(machine: Machine, cls: Class, function: Function, call: Expr) -> Iterator[FunctionFacts]:
    """The functions that a call in a method means: `read_index(path)`, `index.load(path)`, `self.read(path)`."""
    found: Value = ()
    if call[0] == m.CALL and call[2] in ((m.NAME, "list"), (m.NAME, "sorted")) and call[3]:
        call = call[3][0]
    callee = call[2] if call[0] == m.CALL else call
    if callee is call:
        return
    if callee[0] == m.NAME:
        found = module_name(machine, function.frame.unit.frame, callee[1]) or ()
    elif callee[0] == m.ATTR and callee[1] == (m.NAME, "self"):
        found = cls.find(callee[2]) or ()
    elif callee[0] == m.ATTR and callee[1][0] == m.NAME:
        for atom in module_name(machine, function.frame.unit.frame, callee[1][1]) or ():
            if type(atom) is Module:
                found = module_member(machine, atom.unit, callee[2]) or ()
    yield from (atom.facts for atom in found if type(atom) is Function)


def _lists_objects(function: FunctionFacts, position: int = -1) -> bool:
    """Whether a function returns, or hands out one by one, what it fills in a loop with objects of several parts."""
    body = function.body
    if function.generator:
        handed = (part[1] for one in statements(body) for part in _all(one) if part[0] == m.YIELD)
        return any(part is not None and has_parts(part, body) for part in handed)
    filled = {
        place[1]
        for statement, looped in in_loops(body, False)
        if looped
        for _, place, rich in adds_objects(statement, body)
        if rich and place[0] == m.NAME
    }
    returned = [one[2] for one in statements(body) if one[0] == m.RETURN and one[2] is not None]
    if position >= 0:
        returned = [one[3][position] for one in returned if one[0] == m.NEW and position < len(one[3])]
    made = (value[3] if value[4] is None else value[4] for value in returned if value[0] == m.COMP)
    named = any(value[0] == m.NAME and value[1] in filled for value in returned)
    return named or any(has_parts(one, body) for one in made)


def _gives_parsed(program: Program, function: FunctionFacts) -> bool:
    """Whether a function returns what it has parsed, as it comes."""
    returned = [one[2] for one in statements(function.body) if one[0] == m.RETURN and one[2] is not None]
    bound = [one[3] for one in statements(function.body) if one[0] == m.ASSIGN and one[2][0] in returned]
    return any(parses(program, value) for value in (*returned, *bound))


def _has_items(cls: Class, place: Expr) -> bool:
    """Whether an item of the data set is the element under its index, `self.rows[index]`."""
    for name, function in _members(cls):
        given = {(m.NAME, param.name) for param in function.facts.params[1:]} if name == "__getitem__" else ()
        parts = (part for one in statements(function.facts.body) for part in _all(one) if given)
        if any(part[0] == m.ITEM and part[1] == place and part[2] in given for part in parts):
            return True
    return False


def _are_settings(cls: Class, place: Expr) -> bool:
    """Whether all that methods do with a parsed file is to compute with what it says by name, as in
    `x - self.stats["mean"]`: a handful of numbers and words, and no table of items."""
    reads = fixed = 0
    for _, function in _members(cls):
        for statement in statements(function.facts.body):
            reads -= place in targets(statement)
            for part in _all(statement):
                reads += part == place
                operands: tuple[Expr, ...] = part[2:] if part[0] in (m.ARITH, m.COMPARE) else ()
                if part[0] == m.CALL and last_name(part[2]) not in _GOES_THROUGH:
                    operands = (*part[3], *(given for _, given in part[4]))
                fixed += sum(one[:2] == (m.ITEM, place) and _is_fixed(one[2]) for one in operands)
    return 0 < fixed == reads
