"""What is put into a container: an object of several parts, a string or small tuple, or neither."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import model as m
from ..facts.model import Expr, Site, Stmt
from ..facts.program import Block, targets, text
from ..facts.walk import calls_of, last_name, nodes, statements
from .parsed_files import PARSERS, is_row

_LIGHT = ("Path", "Image", "Tensor", "Array")
_ARRAYS = ("tensor", "array", "imread", "load_image", "from_numpy", "numpy")


def adds_objects(statement: Stmt, body: Block) -> Iterator[tuple[Site, Expr, bool]]:
    """The containers that a statement adds an object to: where, the container, and whether the object has parts."""
    for call in calls_of(statement):
        if call[2][0] == m.ATTR and call[2][2] == "append" and call[3]:
            rich, place = has_parts(call[3][0], body), _container(call[2][1])
            if rich is not None:
                grouped = place != call[2][1] and call[3][0][0] == m.NEW and len(call[3][0][3]) > 1
                yield call[1], place, rich or grouped  # a list for each key, and a tuple for each item
    value = statement[3] if statement[0] == m.ASSIGN else None
    for target in targets(statement):
        one_of_many = target[0] == m.ITEM and target[2][0] not in (m.CONST, m.SLICE)
        if value is not None and one_of_many and has_parts(value, body):
            yield statement[1], _container(target), True


def _container(place: Expr) -> Expr:
    """`self.boxes` of `self.boxes[image]` and `self.boxes.setdefault(image, [])`."""
    while True:
        if place[0] == m.ITEM:
            place = place[1]
        elif place[0] == m.CALL and place[2][0] == m.ATTR and place[2][2] == "setdefault":
            place = place[2][1]
        else:
            return place


def has_parts(expr: Expr, body: Block) -> bool | None:
    """Whether an element is an object of several parts (True), a string, pair or small tuple (False), or neither."""
    if expr[0] == m.NAME:
        for statement in statements(body):
            if statement[0] == m.ASSIGN and expr in statement[2] and statement[3][0] in (m.DICT, m.NEW, m.CALL):
                empty = _is_empty(statement[3])
                return _is_filled_record(expr, body) if empty else has_parts(statement[3], body)
        return True if is_row(expr, body) else None
    if expr[0] == m.DICT:
        return len(expr[2]) > 1 and not any(makes_array(value) for _, value in expr[2])
    if expr[0] == m.NEW and expr[2] in ("tuple", "list"):
        return None if any(makes_array(item) for item in expr[3]) else False
    if expr[0] == m.CALL:
        name = last_name(expr[2])
        if name == "dict" or text(expr[2]) in PARSERS or (name == "_asdict" and not expr[3]):
            return True
        if name[:1].isupper() and expr[2][0] == m.NAME and not name.isupper() and not name.endswith(_LIGHT):
            return True  # an object of some class
        if len(expr[3]) + len(expr[4]) > 1 and _is_own_type(expr[2], body):
            return None if any(makes_array(item) for item in expr[3]) else True
    return None


def _is_own_type(callee: Expr, body: Block) -> bool:
    """`self.ENTRY` and `self.Entry`, a class that an attribute of the class stands for, also by a name."""
    if callee[0] == m.NAME:
        bound = [one[3] for one in statements(body) if one[0] == m.ASSIGN and callee in one[2]]
        callee = bound[0] if len(bound) == 1 else callee
    own = callee[0] == m.ATTR and callee[1] in ((m.NAME, "self"), (m.NAME, "cls"))
    return own and callee[2][:1].isupper() and not callee[2].endswith(_LIGHT)


def _is_empty(value: Expr) -> bool:
    """`{}`, `dict()`"""
    if value[0] == m.DICT:
        return not value[2]
    return bool(value[0] == m.CALL and value[2] == (m.NAME, "dict") and not value[3] and not value[4])


def _is_filled_record(name: Expr, body: Block) -> bool:
    """Whether what starts empty gets entries of its own under several fixed names, `record["boxes"] = boxes`."""
    entries = {
        target[2][1]: statement[3]
        for statement in statements(body)
        if statement[0] == m.ASSIGN
        for target in targets(statement)
        if target[0] == m.ITEM and target[1] == name and target[2][0] == m.CONST
    }
    return len(entries) > 1 and not any(map(makes_array, entries.values()))


def makes_array(expr: Expr) -> bool:
    return any(
        part[0] == m.CALL and (text(part[2]).split(".")[0] in ("torch", "np", "numpy") or last_name(part[2]) in _ARRAYS)
        for part in nodes(expr)
    )
