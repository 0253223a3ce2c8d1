"""Objects that put themselves into a list of their class, or of the module, and that nothing takes out again; or into
a table there, under a key that each has for itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import BOUND, emptyings
from ..facts.knowledge import DRAWS_AN_ID
from ..facts.model import Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets
from ..facts.walk import calls_of, last_name, statements
from ..interpreter.machine import Machine
from ..interpreter.values import Class
from ..lexical.own_registry import has_self

_SELF = (m.NAME, "self")
_ADDS = ("append", "add", "insert", "appendleft")
_CONTAINERS = ("list", "set", "dict", "OrderedDict", "deque")


class OwnInstance(NamedTuple):
    site: Site
    registry: str  # in the words of the source
    cls: str
    by: str  # what is put in, "" for the object itself


def own_instances(machine: Machine, program: Program) -> Iterator[OwnInstance]:
    """Of classes that have to do with PyTorch: others may well keep a list of their few small objects. Of which the
    import makes all there are, stay as many as the file says."""
    if all(dotted.partition(".")[0] != "torch" for dotted in program.imports.values()):
        return
    of_module = any(_made(one) for one in machine.home.facts.functions[0].body)
    for cls in machine.home.classes.values():
        lists = of_module or (isinstance(cls, Class) and any(_made(one) for each in cls.mro for one in _body(each)))
        if isinstance(cls, Class) and lists and not _only_import_makes(machine.home.facts, cls.facts.name):
            yield from _of_class(machine, cls)


def _only_import_makes(facts: FileFacts, cls: str) -> bool:
    return cls in facts.functions[0].calls and not any(cls in function.calls for function in facts.functions[1:])


def _of_class(machine: Machine, cls: Class) -> Iterator[OwnInstance]:
    facts = machine.home.facts
    methods = [facts.functions[index] for index in cls.facts.methods.values()]
    said: set[Expr] = set()
    for method in methods:
        if not method.params or method.params[0].name != "self":
            continue
        if set(_ADDS).isdisjoint(method.calls) and not method.flags & (m.GROWS | m.KEEPS):
            continue
        for statement in statements(method.body):
            for place, value in (*_added(statement), *_under_own_key(facts, method, statement)):
                refers = has_self(value) or _has_it(value, methods, cls)
                if place in said or not refers or not _is_shared(machine, cls, method, place):
                    continue
                said.add(place)
                by = "" if value == _SELF else last_name(value)
                yield OwnInstance(statement[1], _in_words(place, cls), cls.facts.name, by)


def _added(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """`Recorder.all.append(self)`"""
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] in _ADDS and call[3]:
            yield _whole(call[2][1]), call[3][-1]


def _under_own_key(facts: FileFacts, method: FunctionFacts, statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """`TABLES[self.number] = self`, where each object has a number of its own."""
    for target in targets(statement) if statement[0] == m.ASSIGN and has_self(statement[3]) else ():
        if target[0] == m.ITEM and _is_fresh(facts, method, target[2]):
            yield target[1], statement[3]


def _is_fresh(facts: FileFacts, method: FunctionFacts, key: Expr, depth: int = 2) -> bool:
    """Whether no two objects have a key: an id, one that is drawn, what a counter says, or a part of such."""
    while (key[0] == m.ITEM and key[2][0] == m.SLICE) or (key[0] == m.ATTR and key[1][0] == m.CALL):
        key = key[1]  # `uuid.uuid4().hex[:8]`
    if key[0] == m.TEXT:
        return any(_is_fresh(facts, method, part, depth) for parts in key[1:] for part in parts)
    if key[0] == m.CALL:
        name, first = last_name(key), key[3][0] if key[3] else None
        if name == "str":
            return first is not None and _is_fresh(facts, method, first, depth)
        counts = name == "next" and first is not None and first[0] in (m.NAME, m.ATTR)
        return counts or name in DRAWS_AN_ID or (name == "id" and first == _SELF)
    if key[0] not in (m.NAME, m.ATTR):
        return False
    own = [facts.functions[index] for index in facts.classes[method.owner].methods.values()]
    near = own if key[:2] == (m.ATTR, _SELF) else [method]
    bodies = [one for function in near for one in statements(function.body)]
    if any(one[0] == m.AUGMENT and one[2] == key for one in bodies):  # a count of its own is no number of an object
        return key[:2] != (m.ATTR, _SELF) and (
            key[0] == m.ATTR or any(one[0] == m.GLOBAL and key[1] in one[2] for one in bodies)
        )
    given = [
        (function, one[3])
        for function in near
        for one in statements(function.body)
        if one[0] == m.ASSIGN and key in targets(one)
    ]
    if key[:2] == (m.ATTR, _SELF):
        given += ((method, made) for made in _made_for_each(facts, method, key[2]))
    return bool(given) and depth > 0 and all(_is_fresh(facts, where, one, depth - 1) for where, one in given)


def _made_for_each(facts: FileFacts, method: FunctionFacts, name: str) -> Iterator[Expr]:
    """What a dataclass has made for a field of each object that is given none:
    `id: str = field(default_factory=lambda: uuid4().hex)`."""
    for one in facts.functions[facts.classes[method.owner].body].body:
        if one[0] != m.ANNOTATE or one[2] != (m.NAME, name) or one[4] is None or one[4][0] != m.CALL:
            continue
        for factory in (value for key, value in one[4][4] if key == "default_factory"):
            if factory[0] == m.LAMBDA:
                yield from (each[2] for each in facts.functions[factory[1]].body if each[0] == m.RETURN and each[2])
            else:
                yield (m.CALL, one[1], factory, (), ())


def _whole(place: Expr) -> Expr:
    """`Recorder.all` of `Recorder.all[name]`."""
    while place[0] == m.ITEM:
        place = place[1]
    return place


def _in_words(place: Expr, cls: Class) -> str:
    return f"{cls.facts.name}.{place[2]}" if place[0] == m.ATTR else str(place[1])


def _has_it(value: Expr, methods: list[FunctionFacts], cls: Class) -> bool:
    """Whether an attribute is a method of the object, or something that was made with the object: `Callback(self)`."""
    if value[0] != m.ATTR or value[1] != _SELF:
        return value[0] == m.CALL and last_name(value)[:1].isupper() and _SELF in value[3]
    made = (one[3] for method in methods for one in statements(method.body) if value in targets(one))
    return value[2] in cls.facts.methods or any(
        one is not None and one[0] == m.CALL and last_name(one)[:1].isupper() and _SELF in one[3] for one in made
    )


def _is_shared(machine: Machine, cls: Class, method: FunctionFacts, place: Expr) -> bool:
    """Whether a container belongs to the class or the module, and nobody takes anything out of it."""
    if place[0] == m.NAME:
        own = {param.name for param in method.params}
        own |= {target[1] for one in statements(method.body) for target in targets(one) if target[0] == m.NAME}
        body = machine.home.facts.functions[0].body
        return place[1] not in own and _makes(body, place[1]) and not _is_emptied(machine.home.facts, place[1])
    if place[0] != m.ATTR or place[1] not in (_SELF, (m.NAME, cls.facts.name), (m.ATTR, _SELF, "__class__")):
        return False
    owner = next((one for one in cls.mro if _makes(_body(one), place[2])), None)
    files = {id(one.frame.unit.facts): one.frame.unit.facts for one in cls.mro}
    return owner is not None and not any(_is_emptied(facts, place[2]) for facts in files.values())


def _body(cls: Class) -> tuple[Stmt, ...]:
    return cls.frame.unit.facts.functions[cls.facts.body].body


def _makes(body: tuple[Stmt, ...], name: str) -> bool:
    """Whether a body makes a container of this name, without a limit."""
    return any(_made(one) and (m.NAME, name) in targets(one) for one in body)


def _made(statement: Stmt) -> bool:
    value = statement[3] if statement[0] == m.ASSIGN else statement[4] if statement[0] == m.ANNOTATE else None
    if value is None:
        return False
    if value[0] != m.CALL:
        return bool(value[0] == m.DICT or (value[0] == m.NEW and value[2] != "tuple"))
    if last_name(value) == "defaultdict":
        return bool(value[3]) and value[3][0] in ((m.NAME, "list"), (m.NAME, "set"))
    return last_name(value) in _CONTAINERS and not any(key == "maxlen" for key, _ in value[4])


def _is_empty(statement: Stmt) -> bool:
    """`rows[name] = []`"""
    return bool(statement[0] == m.ASSIGN and statement[3][0] == m.NEW and not statement[3][3])


def _is_emptied(facts: FileFacts, name: str) -> bool:
    """Whether a function of the file takes something out of a container, makes another one in its place, or gives
    the object one of its own."""
    bodies = {0, *(cls.body for cls in facts.classes)}
    return any(
        one.how != BOUND or index not in bodies
        for index, function in enumerate(facts.functions)
        for one in emptyings(function, name)
    ) or any(
        _is_empty(statement) and any(last_name(one) == name for one in targets(statement))
        for index, function in enumerate(facts.functions)
        for statement in statements(function.body)
        if index not in bodies
    )
