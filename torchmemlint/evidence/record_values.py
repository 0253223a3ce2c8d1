"""Containers on a data set whose elements the run has seen to be records, whichever way they came there: through a
method that filters them, a reader that yields them, a helper of another file."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import targets
from ..facts.walk import calls_of, last_name, statements
from ..interpreter.machine import Machine
from ..interpreter.values import Class, Function, Obj
from ..interpreter.weights import heavy

_DECORATORS = ("dataclass", "define", "frozen", "attrs", "attributes", "s")
_BASES = ("NamedTuple", "BaseModel", "Struct", "TypedDict")
_MADE = (m.CALL, m.NAME, m.COMP)
_ADDS = ("append", "add", "extend", "update", "setdefault", "insert")
_PARTS = 3  # a record has as many


def of_records(machine: Machine, owner: Obj) -> Iterator[tuple[Site, str]]:
    """The attributes of an object that hold many records, and where its class binds them."""
    assert isinstance(owner.cls, Class)
    for attribute, value in owner.fields.items():
        for atom in value:
            if type(atom) is Obj and atom.kind in ("list", "dict") and _holds_records(machine, atom):
                site = _bound(owner.cls, attribute)
                if site is not None:
                    yield site, attribute
                break


def _holds_records(machine: Machine, container: Obj) -> bool:
    elements = container.fields.get("*", ())
    return any(type(one) is Obj and _is_record(one) and not heavy(machine, (one,))[0] for one in elements)


def _is_record(element: Obj) -> bool:
    """Whether an object has several parts and does nothing."""
    if element.kind == "dict":
        return len([key for key in element.fields if key[0] == "["]) >= _PARTS
    cls = element.cls
    if element.kind != "instance" or not isinstance(cls, Class):
        return False
    declared = any(last_name(decorator) in _DECORATORS for entry in cls.mro for decorator in entry.facts.decorators)
    return declared or any(base.rpartition(".")[2] in _BASES for base in cls.external) or _only_has(cls.facts)


def _only_has(cls: ClassFacts) -> bool:
    return "__init__" in cls.methods and not cls.bases and all(name.startswith("__") for name in cls.methods)


def _bound(cls: Class, attribute: str) -> Site | None:
    """Where a method binds an attribute to a container that is filled already, by a call or in a local; else where one
    puts an element into it."""
    place = (m.ATTR, (m.NAME, "self"), attribute)
    added: Site | None = None
    for function in _methods(cls):
        for statement in statements(function.body):
            value: Expr | None = None
            if statement[0] in (m.ASSIGN, m.ANNOTATE):
                value = statement[3] if statement[0] == m.ASSIGN else statement[4]
            if value is not None and value[0] in _MADE and place in targets(statement):
                return int(statement[1])
            if added is None:
                added = _added(statement, place)
    return added


def _added(statement: Stmt, place: Expr) -> Site | None:
    """`self.rows[key] = row`, `self.rows.append(row)`, `self.rows += rows`."""
    if statement[0] == m.AUGMENT:
        return int(statement[1]) if statement[2] == place else None
    if any(one[0] == m.ITEM and one[1] == place and one[2][0] != m.CONST for one in targets(statement)):
        return int(statement[1])
    found = (call for call in calls_of(statement) if call[2][0] == m.ATTR and call[2][1] == place)
    return next((int(call[1]) for call in found if call[2][2] in _ADDS), None)


def _methods(cls: Class) -> Iterator[FunctionFacts]:
    for entry in cls.mro:
        for value in entry.members.values():
            for atom in value:
                if type(atom) is Function and atom.facts.name not in ("__getitem__", "__iter__"):
                    yield atom.facts
