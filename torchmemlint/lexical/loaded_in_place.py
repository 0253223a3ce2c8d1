"""Entries of a data set's own list that are handed out, and that get what is loaded for them, each time they are asked
for: nobody ever asks whether it is there already, and all of it stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..evidence.parsed_files import parses
from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FunctionFacts, Site, Stmt
from ..facts.program import Program, targets, text
from ..facts.walk import blocks, calls_of, last_name, nodes, root_of, statements
from .loaded_tables import LOADS, holds_loaded
from .moved_in_place import entries, lets_go

_SELF: Expr = (m.NAME, "self")
_ASKED = ("__getitem__", "__iter__")
_LIGHT = frozenset("len int float str bool max min mean sum std item tolist any all hexdigest md5 hash count".split())
_GATHERS = frozenset(("append", "extend"))
_LISTS = ("list", "sorted", "to_dict")
_SAY_LIST = ("list", "List")
_YIELDS = (m.YIELD, m.YIELD_FROM)


class LoadedInPlace(NamedTuple):
    site: Site
    entry: str  # the name that the entry has here
    table: str
    copied: str  # how to copy it


def loaded_in_place(program: Program) -> Iterator[LoadedInPlace]:
    """`record = self.records[i]`, `record["image"] = imread(record["path"])`, `return record`: one for each method."""
    if program.called.isdisjoint(LOADS):
        return
    for cls in program.facts.classes:
        methods = {name: program.facts.functions[index] for name, index in cls.methods.items()}
        asked = [methods[name] for name in _ASKED if name in methods]
        if asked and ("__getitem__" in methods or any("Dataset" in last_name(base) for base in cls.bases)):
            for name, method in methods.items():
                if name in _ASKED or any(name in one.calls for one in asked):
                    yield from _of_method(program, cls, method, methods)


def _of_method(
    program: Program, cls: ClassFacts, method: FunctionFacts, methods: dict[str, FunctionFacts]
) -> Iterator[LoadedInPlace]:
    known = entries(method) | _gone_through(method)
    if not known or not any(name in given for name in known for given in _handed_out(method)):
        return
    for one, tests in _tested(method.body, ()):
        place: Expr = one[2][0] if one[0] == m.ASSIGN and len(one[2]) == 1 else ()
        table = known.get(place[1]) if place[:1] in ((m.ITEM,), (m.ATTR,)) else None
        if table is None or not any(place[1] in given for given in _handed_out(method)):
            continue
        if any(place[1] in nodes(test) for test in tests) or not _is_loaded(program, method, one[3]):
            continue
        if _is_taken_out(method, place[1]) or any(lets_go(other, table) for other in methods.values()):
            continue
        if _is_a_list(program, methods, table):
            copied = "dict" if place[0] == m.ITEM else "copy.copy"
            yield LoadedInPlace(one[1], place[1][1], f"self.{table}", copied)
            return


def _gone_through(method: FunctionFacts) -> dict[Expr, str]:
    """`for record in self.records:`, also by `enumerate`."""
    found: dict[Expr, str] = {}
    for one in statements(method.body):
        if one[0] != m.FOR:
            continue
        name, over = one[2], one[3]
        if over[0] == m.CALL and last_name(over) == "enumerate" and over[3] and name[0] == m.NEW and len(name[3]) == 2:
            name, over = name[3][1], over[3][0]
        if name[0] == m.NAME and over[:2] == (m.ATTR, _SELF):
            found[name] = over[2]
    return found


def _handed_out(method: FunctionFacts) -> Iterator[tuple[Expr, ...]]:
    """What the method returns or yields, and the parts of that."""
    for one in statements(method.body):
        value = one[2] if one[0] in (m.RETURN, m.EXPR) else None
        if one[0] == m.EXPR and value is not None:
            value = value[1] if value[0] in _YIELDS else None
        if value is not None:
            yield (value, *(value[3] if value[0] in (m.NEW, m.CALL) else ()))


def _tested(block: tuple[Stmt, ...], tests: tuple[Expr, ...]) -> Iterator[tuple[Stmt, tuple[Expr, ...]]]:
    """Every statement, with the tests that it is under."""
    for one in block:
        yield one, tests
        for suite in blocks(one):
            yield from _tested(suite, (*tests, one[2]) if one[0] == m.IF else tests)


def _is_loaded(program: Program, method: FunctionFacts, value: Expr) -> bool:
    """Whether a value is what a file held, or is made of it and may weigh as much: `self.transform(imread(path))`."""
    for _ in range(4):
        if holds_loaded(program, method, value):
            return True
        if value[0] == m.NAME:
            bound = [one[3] for one in statements(method.body) if one[0] == m.ASSIGN and value in one[2]]
            if not bound:
                return False
            value = bound[0]
        elif value[0] != m.CALL or last_name(value[2]) in _LIGHT:
            return False
        elif value[2][0] == m.ATTR and value[2][1][0] == m.CALL:
            value = value[2][1]
        else:
            given = [part for part in value[3] if part[0] in (m.CALL, m.NAME)]
            if not given:
                return False
            value = given[0]
    return False


def _is_taken_out(method: FunctionFacts, entry: Expr) -> bool:
    """Whether the method takes something out of the entry again, or it is a copy by then."""
    return any(
        (one[0] == m.DELETE and any(root_of(target) == entry for target in one[2]))
        or any(call[2][:2] == (m.ATTR, entry) and call[2][2] in ("pop", "clear") for call in calls_of(one))
        for one in statements(method.body)
    )


def _is_a_list(program: Program, methods: dict[str, FunctionFacts], table: str) -> bool:
    """Whether an attribute is seen to get a list: another data set makes a new entry each time it is asked."""
    place = (m.ATTR, _SELF, table)
    for method in methods.values():
        for one in statements(method.body):
            if any(call[2][0] == m.ATTR and call[2][1] == place and call[2][2] in _GATHERS for call in calls_of(one)):
                return True
            value = one[3] if one[0] == m.ASSIGN else one[4] if one[0] == m.ANNOTATE else None
            if value is not None and place in targets(one) and _makes_a_list(program, method, methods, value):
                return True
    return False


def _makes_a_list(
    program: Program, method: FunctionFacts, methods: dict[str, FunctionFacts], value: Expr, depth: int = 3
) -> bool:
    if value[0] in (m.COMP, m.NEW):
        return bool(value[2] == "list")
    if value[0] == m.ITEM:
        return _makes_a_list(program, method, methods, value[1], depth)
    if value[0] == m.NAME and depth:
        hints = (one.hint for one in method.params if one.name == value[1] and one.hint is not None)
        if any(text(hint[1] if hint[0] == m.ITEM else hint).rpartition(".")[2] in _SAY_LIST for hint in hints):
            return True
        bound = [one[3] for one in statements(method.body) if one[0] == m.ASSIGN and value in one[2]]
        return any(_makes_a_list(program, method, methods, one, depth - 1) for one in bound)
    if value[0] != m.CALL:
        return False
    name = last_name(value[2])
    if name in _LISTS or parses(program, value):
        return True
    own = value[2][:2] == (m.ATTR, _SELF)
    helper = methods.get(name) if own else next((p.facts for p in program.by_name.get(name, ()) if not p.cls), None)
    if helper is None or not depth:
        return False
    given = (one[2] for one in statements(helper.body) if one[0] == m.RETURN and one[2] is not None)
    return any(_makes_a_list(program, helper, methods, one, depth - 1) for one in given)
