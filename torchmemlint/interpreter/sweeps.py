"""Loops that put something else in the place of each entry of a container, `for k in d: d[k] = d[k].item()`.

They are gone through entry by entry: after them nothing is left of what was there, which the two rounds of a loop, and
the round that may not be, would not show.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..facts import model as m
from ..facts.model import Expr, Stmt
from ..facts.walk import last_name, nodes, root_of
from .branching import branch
from .containers import each_of
from .elements import read
from .frames import JUMPED, Frame
from .machine import Machine
from .values import UNKNOWN, Const, Obj, Value

_MOST_ENTRIES = 12
_SHOWS = frozenset("print debug info warning log log_scalar add_scalar log_metric write".split())
_OF_RANKS = frozenset("all_reduce reduce broadcast all_reduce_".split())  # into the tensor that they are given


class _Swept(NamedTuple):
    """What a loop goes over, and the names that it gives to a key and to what is there."""

    place: Expr
    key: Expr | None
    item: Expr | None


def sweep(machine: Machine, frame: Frame, statement: Stmt) -> bool:
    """Go through such a loop, if it is one and all entries are seen."""
    _, site, target, iterable, body, orelse = statement
    swept = _swept(target, iterable)
    if swept is None or orelse or not _replaces(body, swept):
        return False
    value = machine.eval(frame, swept.place)
    if len(value) != 1 or type(value[0]) is not Obj or value[0].kind not in ("dict", "list"):
        return False
    obj: Obj = value[0]
    if swept.key == swept.item:  # `for x in place`
        swept = swept._replace(key=None) if obj.kind == "list" else swept._replace(item=None)
        if not _replaces(body, swept):
            return False
    if not _puts_back(body, swept):
        return False
    entries = [(key, part) for key, part in obj.fields.items() if part and key[:1] == "["]
    others = obj.fields.get("*", UNKNOWN)
    if others and (not entries or machine.reach(others)):  # what a default makes is no entry
        entries.append(("*", others))
    if not entries or len(entries) > _MOST_ENTRIES:
        return False
    for field, part in entries:
        left: Value = UNKNOWN
        for each in [(atom,) for atom in part] if field == "*" else [part]:
            machine.put(obj.fields, field, each)
            _replace(machine, frame, swept, obj, field, body, site)
            left = machine.join(left, obj.fields[field])
        machine.put(obj.fields, field, left)
    return True


def _replace(
    machine: Machine, frame: Frame, swept: _Swept, obj: Obj, field: str, body: tuple[Stmt, ...], site: int
) -> None:
    """The round of one entry."""
    if swept.key is not None:
        name: Any = field[1:-1]
        if obj.kind == "list" and name.removeprefix("-").isdecimal():  # it may have entries of a dict that it was for
            name = int(name)
        key: Value = (each_of(obj),) if field == "*" else (Const(name),)
        machine.assign(frame, swept.key, key, site)
    if swept.item is not None:
        machine.assign(frame, swept.item, read(machine, obj, obj.fields[field]), site)
    branch(machine, frame, [lambda: machine.block(frame, body)], conditional=False)
    if frame.dead == JUMPED:
        frame.dead = 0
    if swept.item is not None and _is_detached(body, swept.item):
        machine.put(obj.fields, field, machine.eval(frame, swept.item))


def _swept(target: Expr, iterable: Expr) -> _Swept | None:
    """`for key in place`, `for key, item in place.items()`, `for i in range(len(place))` ..."""
    while iterable[0] == m.CALL and iterable[2] in ((m.NAME, "list"), (m.NAME, "tuple")) and len(iterable[3]) == 1:
        iterable = iterable[3][0]
    pair = target[3] if target[0] == m.NEW and len(target[3]) == 2 else None
    names = pair or (target,)
    if any(name[0] != m.NAME for name in names):
        return None
    found: _Swept | None = None
    if iterable[0] != m.CALL:
        found = None if pair else _Swept(iterable, target, target)
    elif iterable[2][0] == m.ATTR and not iterable[3]:
        place, method = iterable[2][1:3]
        if pair and method == "items":
            found = _Swept(place, *pair)
        elif not pair and method in ("keys", "values"):
            found = _Swept(place, *((target, None) if method == "keys" else (None, target)))
    elif len(iterable[3]) == 1:
        inner = iterable[3][0]
        if pair and iterable[2] == (m.NAME, "enumerate"):
            found = _Swept(inner, *pair)
        elif not pair and iterable[2] == (m.NAME, "range") and inner[0] == m.CALL and inner[2] == (m.NAME, "len"):
            found = _Swept(inner[3][0], target, None) if len(inner[3]) == 1 else None
    return found if found is not None and root_of(found.place)[0] == m.NAME else None


def _replaces(body: tuple[Stmt, ...], swept: _Swept, made: tuple[Expr, ...] = ()) -> bool:
    """Whether a body does nothing but to put in the place of each entry what is made of it alone, and to show it.

    `made` are names of the round that have what was made of the entry, `value = d[k].detach()`.
    """
    entry = (m.ITEM, swept.place, swept.key) if swept.key is not None else None
    for statement in body:
        op = statement[0]
        entries = (entry, swept.item, *made)
        if op == m.IF:
            fine = all(_replaces(suite, swept, made) for suite in statement[3:5] if suite)
        elif op == m.ASSIGN:
            names = tuple(one for one in statement[2] if _is_of_the_round(one, statement[3], entries, swept))
            fine = _is_made_of(statement[3], entries) and statement[2] in ((entry,), names)
            made += names
        elif op == m.AUGMENT:
            fine = statement[2] in (entry, *made) and not any(node == swept.place for node in nodes(statement[4]))
        elif op == m.EXPR:
            call = statement[2]
            fine = call[0] == m.CALL and (last_name(call[2]) in _SHOWS or _is_in_place(call, entries))
        else:
            fine = op == m.JUMP and not statement[2]
        if not fine:
            return False
    return True


def _is_of_the_round(target: Expr, value: Expr, entries: tuple[Expr | None, ...], swept: _Swept) -> bool:
    """Whether an assignment only names what was made of an entry: `total = total + value` is about other rounds."""
    if target[0] != m.NAME or target in (swept.key, root_of(swept.place)):
        return False
    return target in entries or target not in nodes(value)


def _puts_back(body: tuple[Stmt, ...], swept: _Swept) -> bool:
    """Whether a body puts anything in the place of an entry, or changes it where it is: `for batch in batches:
    print(step(batch))` is done round by round, whatever `step` does."""
    entry = (m.ITEM, swept.place, swept.key)
    return any(
        (one[0] == m.ASSIGN and entry in one[2])
        or (one[0] == m.AUGMENT and entry == one[2])
        or (one[0] == m.EXPR and one[2][2] == (m.ATTR, swept.item, "detach_"))
        or (one[0] == m.IF and (_puts_back(one[3], swept) or _puts_back(one[4], swept)))
        for one in body
    )


def _is_in_place(call: Expr, entries: tuple[Expr | None, ...]) -> bool:
    """`value.detach_()`, `value.div_(n)`, `dist.all_reduce(value, group=group)`: what changes a tensor where it is."""
    if last_name(call[2]) in _OF_RANKS:
        return len(call[3]) > 0 and call[3][0] in entries
    return bool(call[2][0] == m.ATTR and call[2][1] in entries and call[2][2].endswith("_"))


def _is_detached(body: tuple[Stmt, ...], item: Expr) -> bool:
    """Whether a body detaches in place what it goes over."""
    return any(
        (one[0] == m.EXPR and one[2][2] == (m.ATTR, item, "detach_"))
        or (one[0] == m.IF and (_is_detached(one[3], item) or _is_detached(one[4], item)))
        for one in body
    )


def _is_made_of(expr: Expr, entries: tuple[Expr | None, ...]) -> bool:
    """`d[k].detach().cpu()`, `float(v) / n`, `v.item() if torch.is_tensor(v) else v`"""
    if expr in entries:
        return True
    op = expr[0]
    if op == m.CALL:
        of_it = expr[2][0] == m.ATTR and _is_made_of(expr[2][1], entries)
        return of_it or (len(expr[3]) == 1 and not expr[4] and _is_made_of(expr[3][0], entries))
    if op == m.ARITH:
        return _is_made_of(expr[2], entries) or _is_made_of(expr[3], entries)
    if op == m.COND:
        return all(_is_made_of(part, entries) for part in expr[2:4])
    return op == m.ATTR and _is_made_of(expr[1], entries)
