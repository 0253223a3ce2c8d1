"""Which values are an exception or keep one, and where a statement puts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..facts import model as m
from ..facts.model import ClassFacts, Expr, FileFacts, FunctionFacts, Site, Stmt
from ..facts.program import Program
from ..facts.walk import calls, calls_of, last_name, places_with_values, root_of, statements

ADDS = ("append", "add", "appendleft", "insert", "put", "put_nowait")
_PASSES_ON = ("put", "put_nowait")  # what is put into a queue is on its way to somebody
Keeping = dict[str, list[tuple[str, bool]]]  # class -> its constructor's parameters, and whether it keeps them


def keeping_classes(facts: FileFacts) -> Keeping:
    """The classes of a file whose objects keep what they are made with: dataclasses and the like, and those whose
    constructor puts a parameter on the object."""
    return {cls.name: kept_parts(facts, cls) for cls in facts.classes}


def kept_parts(facts: FileFacts, cls: ClassFacts) -> list[tuple[str, bool]]:
    """What the objects of a class are made with, and whether they keep it."""
    init = cls.methods.get("__init__")
    if init is None:
        declared = [s for s in facts.functions[cls.body].body if s[0] == m.ANNOTATE and s[2][0] == m.NAME]
        return [(s[2][1], s[3] != (m.NAME, "str")) for s in declared]
    function = facts.functions[init]
    put = {
        s[3][1]
        for s in statements(function.body)
        if s[0] == m.ASSIGN and s[3][0] == m.NAME and any(target[0] == m.ATTR for target in s[2])
    }
    return [(param.name, param.name in put) for param in function.params[1:]]


_UPDATES = ("update", m.DICT)  # `failed.update({size: error})`


def place_of(statement: Stmt, names: set[str], keeping: Keeping) -> tuple[Expr, bool] | None:
    """Where a statement puts the exception, and whether that place grows."""
    for target, value in bindings(statement) if statement[0] == m.ASSIGN else ():
        if target[0] in (m.ATTR, m.ITEM) and is_exception(value, names, keeping):
            return target, target[0] == m.ITEM and target[2][0] != m.CONST
    if statement[0] == m.AUGMENT and statement[2][0] in (m.ATTR, m.NAME) and is_exception(statement[4], names, keeping):
        return statement[2], True
    if statement[0] == m.EXPR and statement[2][0] == m.CALL:
        call = statement[2]
        adds = call[2][0] == m.ATTR and call[3] and (call[2][2] in ADDS or (call[2][2], call[3][0][0]) == _UPDATES)
        if adds and is_exception(call[3][-1], names, keeping):
            place = call[2][1]
            if place[0] == m.CALL and last_name(place) == "setdefault" and place[2][0] == m.ATTR:
                place = place[2][1]
            return place, True
    return None


def filed_in(function: FunctionFacts, local: Expr) -> Expr | None:
    """The attribute or global that a function adds a local container to."""
    for statement in statements(function.body):
        place = place_of(statement, {local[1]}, {})
        if place is not None and place[1] and root_of(place[0]) != local:
            return place[0]
    return None


def goes_to_others(facts: FileFacts, function: FunctionFacts, site: Site) -> bool:
    """Whether a statement puts something into a queue that the object was made with: whoever has made that has the
    other end."""
    put = next((one for one in statements(function.body) if one[1] == site), None)
    places = [call[2][1] for call in calls_of(put) if last_name(call[2]) in _PASSES_ON] if put is not None else []
    if function.owner < 0 or not any(place[0] == m.ATTR and place[1] == (m.NAME, "self") for place in places):
        return False
    init = facts.classes[function.owner].methods.get("__init__")
    given = facts.functions[init] if init is not None else None
    params = {(m.NAME, param.name) for param in given.params} if given is not None else set()
    return any(
        target in places and value in params
        for one in statements(given.body if given is not None else ())
        if one[0] == m.ASSIGN
        for target, value in bindings(one)
    )


def bindings(statement: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """`self.tasks, self.answers = tasks, answers`, and `self.kind, self.error, self.trace = sys.exc_info()`, of which
    the type keeps nothing."""
    for target, value in places_with_values(statement):
        if target[0] == m.NEW and last_name(value) == "exc_info" and len(target[3]) == 3:
            yield from ((part, value) for part in target[3][1:])
        else:
            yield target, value


def is_exception(value: Expr, names: set[str], keeping: Keeping) -> bool:
    """Whether a value is the exception or keeps it: in a display, or as a part of an object of the file."""
    if value[0] == m.NAME:
        return value[1] in names
    if value[0] == m.NEW:
        return any(is_exception(item, names, keeping) for item in value[3])
    if value[0] == m.DICT:
        return any(is_exception(item, names, keeping) for _, item in value[2])
    if value[0] == m.ATTR:
        return value[2] == "__traceback__" and value[1][0] == m.NAME and value[1][1] in names
    if value[0] == m.ITEM:  # `sys.exc_info()[2]`: the value and the traceback keep the frames, the type does not
        return value[2] != (m.CONST, 0) and value[1][0] == m.CALL and is_exception(value[1], names, keeping)
    if value[0] != m.CALL:
        return False
    if value[2][0] == m.ATTR and value[2][2] == "exc_info":
        return True
    parts = keeping.get(last_name(value[2]), []) if value[2][0] == m.NAME else []
    given = [(item, name) for item, (name, _) in zip(value[3], parts, strict=False)]
    given += [(item, name) for name, item in value[4]]
    kept = {name for name, keeps in parts if keeps}
    return any(name in kept and is_exception(item, names, keeping) for item, name in given)


RESULT: Expr = (m.NAME, "(result)")


def with_names(part: Any, results: set[Expr]) -> Any:
    """A statement with a name in the place of some of its calls."""
    if type(part) is not tuple:
        return part
    return RESULT if part in results else tuple(with_names(inner, results) for inner in part)


def is_one_of_many(program: Program, cls: str) -> bool:
    """Whether objects of a class go into a list or a table: `task = Task(steps)`, `self.ready.append(task)`."""
    for place in program.places if cls in program.called else ():
        if cls not in place.facts.calls:
            continue
        body = list(statements(place.facts.body))
        made = {call for call in calls(place.facts.body) if last_name(call[2]) == cls}
        named = {t[1] for one in body if one[0] == m.ASSIGN and one[3] in made for t in one[2] if t[0] == m.NAME}
        for one in body:
            if any(last_name(call[2]) in _PASSES_ON for call in calls_of(one)):
                continue
            put = place_of(with_names(one, made), named | {RESULT[1]}, {})
            if put is not None and put[1]:
                return True
    return False
