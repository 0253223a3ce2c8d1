"""Which places stay when a function returns, as its text shows: what is on its object, and what it looks up there."""

from __future__ import annotations

from typing import NamedTuple

from ..facts import model as m
from ..facts.model import Expr, FunctionFacts, Stmt
from ..facts.program import Program, keyword, targets
from ..facts.walk import calls, last_name, root_of, statements
from .keepers import filed_in

_LOOKS_UP = ("get", "setdefault")
_GOES_THROUGH = ("values", "items")


class KeptPlace(NamedTuple):
    """An attribute of an object, or a container, that stays."""

    holder: Expr
    root: Expr
    grows: bool  # it is one of many


def kept_place(program: Program, function: FunctionFacts, target: Expr, depth: int = 2) -> KeptPlace | None:
    """What keeps the value that is put into an attribute or under a key."""
    root = root_of(target)
    if root[0] == m.CALL:  # `self.tasks.setdefault(key, Task()).error`
        table = _table(program, function, root)
        return None if table is None else KeptPlace(table, root_of(table), True)
    if root[0] != m.NAME:
        return None
    if stays(program, function, root):
        holder, grows = target, target[0] == m.ITEM and target[2][0] != m.CONST
        while holder[0] in (m.ATTR, m.ITEM):
            if holder[0] == m.ITEM and holder[2][0] != m.CONST:
                return KeptPlace(holder[1], root, True)
            holder = holder[1]
        return KeptPlace(target, root, grows)
    if target[1] != root:
        return None
    table = _table_of_local(program, function, root, depth)
    return None if table is None else KeptPlace(table, root_of(table), True)


def stays(program: Program, function: FunctionFacts, root: Expr) -> bool:
    """Whether a name is that of the object or class of a method, or one of the module."""
    if function.owner >= 0 and root in ((m.NAME, "self"), (m.NAME, "cls")):
        return True
    if any(param.name == root[1] for param in function.params) or root in _bound(function.body):
        return False
    return root in _bound(program.facts.functions[0].body)


def _bound(body: tuple[Stmt, ...]) -> list[Expr]:
    return [target for one in statements(body) for target in targets(one)]


def _table_of_local(program: Program, function: FunctionFacts, local: Expr, depth: int) -> Expr | None:
    """The table that a local is looked up in, or is filed in; for a parameter, that of what callers give."""
    for one in statements(function.body):
        if one[0] == m.ASSIGN and local in one[2]:
            return _table(program, function, one[3]) or _filed(program, function, local)
        if one[0] == m.FOR and (local == one[2] or (one[2][0] == m.NEW and local in one[2][3])):
            through = one[3]
            if through[0] == m.CALL and through[2][0] == m.ATTR and through[2][2] in _GOES_THROUGH:
                through = through[2][1]
            return _in_table(program, function, through)
    index = next((i for i, param in enumerate(function.params) if param.name == local[1]), -1)
    if index < 0 or not depth or len(program.by_name.get(function.name, ())) != 1:
        return None
    for place in program.places:
        if function.name not in place.facts.calls:
            continue
        for call in calls(place.facts.body):
            if last_name(call[2]) != function.name:
                continue
            bound = function.owner >= 0 and call[2][0] == m.ATTR
            given = keyword(call, local[1], index - bound)
            if given is not None and given[0] == m.NAME:
                found = _table_of_local(program, place.facts, given, depth - 1)
            else:
                found = None if given is None else _table(program, place.facts, given)
            if found is not None:
                return found
    return None


def _filed(program: Program, function: FunctionFacts, local: Expr) -> Expr | None:
    place = filed_in(function, local)
    while place is not None and place[0] == m.ITEM:
        place = place[1]
    return None if place is None else _in_table(program, function, place)


def _table(program: Program, function: FunctionFacts, value: Expr) -> Expr | None:
    """`self.tasks` of `self.tasks[key]`, `self.tasks.get(key)` and `self.tasks.setdefault(key, Task())`."""
    if value[0] == m.ITEM:
        return _in_table(program, function, value[1])
    if value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _LOOKS_UP:
        return _in_table(program, function, value[2][1])
    return None


def _in_table(program: Program, function: FunctionFacts, table: Expr) -> Expr | None:
    root = root_of(table)
    return table if table[0] in (m.ATTR, m.NAME) and root[0] == m.NAME and stays(program, function, root) else None
