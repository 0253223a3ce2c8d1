"""Mutable defaults of attrs fields: written in the class body, one object for all instances.

dataclasses refuse a list, dict or set as a default [docs: dataclasses]; attrs takes it as it is, and `factory=` makes
one for each instance [measured by the fixtures of TML302].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..facts import model as m
from ..facts.emptying import drained
from ..facts.model import ClassFacts, Expr, Site
from ..facts.program import Program, keyword, targets, text
from ..facts.walk import calls_of, statements
from ..interpreter.keys import FIXED, KNOWN, kind_of_key

_NAMES = ("s", "attrs", "define", "mutable", "frozen", "dataclass")
_DECORATORS = frozenset(f"{package}.{name}" for package in ("attr", "attrs") for name in _NAMES)
_FIELDS = frozenset(("attr.ib", "attr.attrib", "attr.field", "attrs.field"))
_MAKERS = frozenset("list dict set defaultdict OrderedDict Counter deque".split())
_ADDS = frozenset("append appendleft add extend insert setdefault".split())


class SharedDefault(NamedTuple):
    """A container that all instances of a class share and that their methods fill."""

    site: Site  # of the field
    name: str
    cls: str
    stores: tuple[Site, ...]


def shared_defaults(program: Program) -> Iterator[SharedDefault]:
    """Fields of attrs classes with a mutable default that methods fill and nothing empties."""
    for cls in program.facts.classes:
        if not any(program.dotted(_callee(one)) in _DECORATORS for one in cls.decorators):
            continue
        for statement in statements(program.facts.functions[cls.body].body):
            if statement[0] not in (m.ASSIGN, m.ANNOTATE):
                continue
            for target in targets(statement):
                if target[0] != m.NAME or not _is_container(program, statement[-1]):
                    continue
                stores = tuple(_stores(program, cls, target[1]))
                if stores and not drained(program, target[1]):
                    yield SharedDefault(statement[1], target[1], cls.name, stores)


def _callee(expr: Expr) -> Expr:
    return expr[2] if expr[0] == m.CALL else expr


def _is_container(program: Program, value: Expr | None) -> bool:
    """Whether a default is an empty list, dict or set that is made once."""
    if value is None:
        return False
    if value[0] == m.CALL:
        if program.dotted(value[2]) in _FIELDS:
            return _is_container(program, keyword(value, "default"))
        return text(value[2]).rsplit(".", 1)[-1] in _MAKERS and keyword(value, "maxlen", 1) is None
    return (value[0] == m.NEW and value[2] in ("list", "set") and not value[3]) or (value[0] == m.DICT and not value[2])


def _stores(program: Program, cls: ClassFacts, name: str) -> Iterator[Site]:
    """Where a method puts something that is no constant into `self.name` or `cls.name`."""
    for index in cls.methods.values():
        for statement in statements(program.facts.functions[index].body):
            if statement[0] == m.ASSIGN and statement[3][0] != m.CONST:
                for target in targets(statement):
                    if target[0] == m.ITEM and _is_own(target[1], name) and not _is_fixed(target[2]):
                        yield statement[1]
            for call in calls_of(statement):
                adds = call[2][0] == m.ATTR and call[2][2] in _ADDS and _is_own(call[2][1], name)
                if adds and call[3] and call[3][-1][0] != m.CONST:
                    yield statement[1]


def _is_fixed(key: Expr) -> bool:
    return key[0] == m.CONST or kind_of_key((), key) in (FIXED, KNOWN)


def _is_own(expr: Expr, name: str) -> bool:
    return expr[0] == m.ATTR and expr[2] == name and expr[1] in ((m.NAME, "self"), (m.NAME, "cls"))
