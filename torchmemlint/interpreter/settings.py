"""Constants that are written for a name or an attribute: by them a test is decided."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..facts import model as m
from ..facts.model import Expr, FileFacts, Stmt
from ..facts.program import targets
from ..facts.walk import call_at, calls, last_name, once, statements
from .arguments import argument, call_of
from .frames import Frame
from .machine import Machine
from .values import ANY_NAME, UNKNOWN, Class, Function, Obj, constant

_SELF = (m.NAME, "self")
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "GreaterThan": operator.gt,
    "GreaterThanEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanEqual": operator.le,
}


def is_certain(frame: Frame, name: str) -> bool:
    """Whether the constant that a name has is one that is written for it, and not all that is left of a value of which
    nothing else is known: a name that a loop looks for, `getattr(model, "mesh", None)`, what a call gives."""
    bound: Frame | None = frame
    while bound is not None and name not in bound.vars:
        bound = bound.parent
    if bound is None:
        return True
    values = _bound_to(bound.facts.body).get(name, [])
    if any(param.name == name for param in bound.facts.params):
        return not values and _is_written(bound, name)
    return all(
        value[:1] == (m.CONST,)
        or _lists_constants(value)
        or (value != () and asks_for_a_text(value) and value[2][1] != name and is_certain(bound, value[2][1]))
        for value in values
    )


def asks_for_a_text(test: Expr) -> bool:
    """`phase == "train"`: as certain as the name is."""
    return test[0] == m.COMPARE and test[1] in ("Equal", "NotEqual") and test[2][0] == m.NAME and test[3][0] == m.CONST


def _lists_constants(value: Expr) -> bool:
    """`("train", "val")`, which a loop goes through: each of its rounds has one of them."""
    return value[:1] == (m.NEW,) and bool(value[3]) and all(item[0] == m.CONST for item in value[3])


def _values_of_names(block: tuple[Stmt, ...]) -> dict[str, list[Expr]]:
    """What each name of a block is assigned, statement by statement; () where it is bound in another way."""
    found: dict[str, list[Expr]] = {}
    for statement in statements(block):
        for name in {target[1] for target in targets(statement) if target[0] == m.NAME}:
            looped = statement[0] == m.FOR and statement[2][0] == m.NAME
            found.setdefault(name, []).append(statement[3] if statement[0] == m.ASSIGN or looped else ())
    return found


_bound_to = once(_values_of_names)


def is_told(frame: Frame, name: str) -> bool:
    """Whether a parameter keeps what is written for it: its default, or a constant of the call."""
    given = any(param.name == name for param in frame.facts.params)
    return given and not _bound_to(frame.facts.body).get(name) and _is_written(frame, name)


def _is_written(frame: Frame, name: str) -> bool:
    """Whether a parameter has its default, or what the call says is a constant."""
    call, given = call_of(frame), _of_a_partial(frame, name) or argument(frame, name)
    if call is None or frame.caller is None or (given is not None and given[0] == m.CONST):
        return True
    if given is None:  # it has its default, unless it is among those that are handed on together
        if any(one[0] == m.STAR for one in call[3]):
            return False
        together = [value for key, value in call[4] if not key]
        return not together or (len(together) == 1 and _is_handed_on(frame.caller, together[0], name))
    asked = given[2] if asks_for_a_text(given) else given  # `Shard(rows, kept=split == "valid")`
    return asked[0] == m.NAME and is_certain(frame.caller, asked[1])


def _is_handed_on(frame: Frame, rest: Expr, name: str) -> bool:
    """Whether what a function is given by any name, `**options`, has a constant by this one that its caller writes."""
    call = call_of(frame)
    if call is None or frame.caller is None or not is_in_the_rest(frame, rest, name):
        return False
    written = [value for key, value in call[4] if key == name]
    if written:
        return written[0][0] == m.CONST or (written[0][0] == m.NAME and is_certain(frame.caller, written[0][1]))
    together = [value for key, value in call[4] if not key]
    return len(together) == 1 and _is_handed_on(frame.caller, together[0], name)


def _of_a_partial(frame: Frame, name: str) -> Expr | None:
    """What the caller has made a partial with that it hands to a pool: `pool.map(partial(work, mode=mode), items)`."""
    caller = frame.caller
    for call in calls(caller.facts.body) if caller is not None and "partial" in caller.facts.calls else ():
        if last_name(call[2]) == "partial" and call[3] and last_name(call[3][0]) == frame.name:
            return next((value for key, value in call[4] if key == name), None)
    return None


def is_a_setting(machine: Machine, frame: Frame, place: Expr) -> bool:
    """Whether a flag of the object is what it was made with, and nothing sets it later: of a data set that a loader in
    sight got, `DataLoader(Rows(root, cache=False))`, and of an object whose class is of another file,
    `Recorder(keep=False)`."""
    receiver = frame.receiver
    if place[1] != _SELF:
        return _is_of_a_config(machine, frame, place)
    if not isinstance(receiver, Obj) or receiver.unknown or not isinstance(receiver.cls, Class):
        return False
    loads = machine.context is not None and machine.context.kind == "loader"
    if not loads and (_is_of_the_home(machine, receiver, receiver.cls) or not _is_given(machine, receiver, place)):
        return False
    return not _is_set_later(receiver.cls, place)


def is_named_after_a_setting(machine: Machine, frame: Frame, name: Expr) -> bool:
    """Whether a variable of the function is bound to such a flag, `keep = shard.reused`, and to nothing else."""
    values = _bound_to(frame.facts.body).get(name[1], [])
    return len(values) == 1 and values[0][:1] == (m.ATTR,) and is_a_setting(machine, frame, values[0])


def in_parts(test: Expr) -> Expr | None:
    """A comparison with several constants as one with each of them: `(method, route) == ("GET", "/")` asks for both,
    `method in ("GET", "HEAD")` for one of the two."""
    _, asks, left, right, more = test
    if more or right[0] != m.NEW or not right[3] or any(item[0] != m.CONST for item in right[3]):
        return None
    if asks in ("Equal", "NotEqual") and left[:1] + left[2:3] == (m.NEW, right[2]):
        if len(left[3]) != len(right[3]) or any(item[0] == m.STAR for item in left[3]):
            return None
        pairs = zip(left[3], right[3], strict=True)
        whole: Expr = (m.BOOL, "and", tuple((m.COMPARE, "Equal", one, value, ()) for one, value in pairs))
    elif asks in ("In", "NotIn") and left[0] in (m.NAME, m.ATTR):
        whole = (m.BOOL, "or", tuple((m.COMPARE, "Equal", left, value, ()) for value in right[3]))
    else:
        return None
    return whole if asks in ("Equal", "In") else (m.NOT, whole)


def compared(machine: Machine, frame: Frame, test: Expr) -> bool | None:
    """What a setting's number says beside one that is written, `self.config.aux_weight > 0`, if it is known."""
    order = _ORDERS.get(test[1])
    if order is None or test[4] or (test[2][0], test[3][0]) not in ((m.ATTR, m.CONST), (m.CONST, m.ATTR)):
        return None
    left, right = (constant(machine.eval(frame, side)) for side in test[2:4])
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    place = test[2] if test[2][0] == m.ATTR else test[3]
    return order(left, right) if is_a_setting(machine, frame, place) else None


def made_with(machine: Machine, obj: Obj, place: Expr) -> Any:
    """The constant that an attribute of an object, `self.limit`, was made with, if nothing sets it later; else
    `Ellipsis`. What tests have left of it since is not asked."""
    cls, maker = obj.cls, machine.makers.get(obj)
    if maker is None or obj.unknown or not isinstance(cls, Class):
        return ...
    if not _is_given(machine, obj, place) or _is_set_later(cls, place):
        return ...
    for member in cls.find("__init__") or ():
        inner = maker[0].children.get((maker[1], id(member.facts), id(obj)))
        for one in statements(inner.facts.body) if inner is not None else ():
            if one[0] == m.ASSIGN and place in one[2] and inner is not None:
                return constant(inner.vars.get(one[3][1], UNKNOWN)) if one[3][0] == m.NAME else one[3][-1]
    return constant(obj.fields.get(place[2], UNKNOWN))


def _is_of_the_home(machine: Machine, obj: Obj, cls: Class) -> bool:
    """Whether both an object's class and who made it are of the home file, which is read for all who may use it. A
    program that leads there has made its own."""
    maker = machine.makers.get(obj)
    return cls.frame.unit is machine.home and (maker is None or maker[0].unit is machine.home)


def _is_set_later(of: Class, place: Expr) -> bool:
    return any(
        place in targets(statement)
        for cls in of.mro
        for value in cls.members.values()
        for atom in value
        if type(atom) is Function and atom.facts.name != "__init__"
        for statement in statements(atom.facts.body)
    )


def _is_of_a_config(machine: Machine, frame: Frame, place: Expr) -> bool:
    """Whether a flag is a field of an object that was made in sight, `Config(log=True)`, has what is written there
    or its default, and nothing in sight sets it on an object: `if model.config.log:`,
    `if model.layers[0].config.log:`, `if shard.reused: self.tables[shard] = table`."""
    base = place[1]
    while base[0] in (m.ATTR, m.ITEM):  # `model.layers[0].config.log`: all of them have the same one, or it is not told
        base = base[1]
    value = machine.eval(frame, place[1]) if base[0] == m.NAME else ()
    if len(value) != 1 or type(value[0]) is not Obj or value[0].unknown or not isinstance(value[0].cls, Class):
        return False
    obj, cls = value[0], value[0].cls
    own = (m.ATTR, _SELF, place[2])
    if not _is_given(machine, obj, own):
        return False
    if ANY_NAME in obj.fields or "__dict__" in obj.fields:  # where any of them may have been set
        return False
    if any(place[2] in _set_from_outside(unit.facts) for unit in (machine.home, cls.frame.unit)):
        return False
    return not _is_set_later(cls, own)


def is_in_the_rest(frame: Frame, place: Expr, key: Any) -> bool:
    """Whether `key` is among the arguments that a function is given by any name, `**options`, and stays there."""
    if place[0] != m.NAME or all(param.kind != "**" or param.name != place[1] for param in frame.facts.params):
        return False
    rest = frame.allocs.get("**kwargs")
    if rest is None or frame.vars.get(place[1]) != (rest,) or "pop" in frame.facts.calls:
        return False
    return bool(rest.fields.get(f"[{key}]"))


def _is_given(machine: Machine, obj: Obj, place: Expr) -> bool:
    """Whether the constructor sets a flag once, to a constant or to a parameter that has a written one, and none of
    the files at hand sets such a flag of something else."""
    maker, cls = machine.makers.get(obj), obj.cls
    if maker is None or obj.kind != "instance" or not isinstance(cls, Class):
        return False
    made = cls.find("__init__")
    if made is None:  # of a data class
        call = call_at(maker[0].facts.body, maker[1])
        parts = [] if call is None else [*call[3], *(value for key, value in call[4] if key in (place[2], None, ""))]
        return all(part[0] in (m.CONST, m.TEXT) for part in parts)
    for member in made:
        inner = maker[0].children.get((maker[1], id(member.facts), id(obj))) if type(member) is Function else None
        files = (machine.home, maker[0].unit) if inner is None else (machine.home, maker[0].unit, inner.unit)
        if inner is None or any(place[2] in _set_from_outside(unit.facts) for unit in files):
            return False
        values = [one[3] for one in statements(inner.facts.body) if one[0] == m.ASSIGN and place in one[2]]
        if not values and isinstance(constant(cls.find(place[2]) or UNKNOWN), bool):
            continue  # the class says it for all of its objects
        if len(values) != 1 or values[0][0] not in (m.CONST, m.TEXT, m.NAME):
            return False
        if values[0][0] == m.NAME and not is_certain(inner, values[0][1]):
            return False
    return True


def _set_from_outside(facts: FileFacts) -> frozenset[str]:
    return frozenset().union(*(_set_on_others(function.body) for function in facts.functions))


def _attributes_of_others(block: tuple[Stmt, ...]) -> frozenset[str]:
    return frozenset(
        target[2] for one in statements(block) for target in targets(one) if target[0] == m.ATTR and target[1] != _SELF
    )


_set_on_others = once(_attributes_of_others)
