"""Views that a loop collects: each keeps the whole tensor that it was taken from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import model as m
from .collected import collected_on_device, growing
from .events import Store
from .machine import Machine
from .model import CALLS_PER_STATEMENT, Expr, Stmt
from .places import describe
from .program import targets
from .values import ANY, ATTACHED
from .walk import loops

_KEEP_THE_BASE = frozenset("detach squeeze unsqueeze view transpose t permute movedim numpy".split())
_ADDS = ("append", "appendleft", "add", "insert", "setdefault")


class View(NamedTuple):
    store: Store
    holder: str
    base: str
    weight: int


def kept(machine: Machine) -> Iterator[View]:
    """Places that gain a part of a larger tensor in each round of a loop, `states[:, 0]`, as a view."""
    elsewhere: set[int] | None = None
    for store in machine.stores:
        if store.how not in ("grow", "keyed") or not store.tensors or not machine.is_home(store.site):
            continue
        if any(tensor.graph == ATTACHED or tensor.size != ANY for tensor in store.tensors):
            continue
        if growing(machine, store) is None:
            continue
        base = _base(store)
        if not base:
            continue
        if elsewhere is None:
            elsewhere = {found.store.site for found in collected_on_device(machine)}
        if store.site not in elsewhere:
            holder = describe(store.owner, store.key, machine)
            yield View(store, holder.text, base, min(2, max(tensor.weight for tensor in store.tensors)))


def _base(store: Store) -> str:
    """What the stored value is a part of; "" if it is a copy, the whole, or kept as a whole besides."""
    for loop, inside in loops(store.frame.facts.body):
        for statement in inside:
            if statement[1] // CALLS_PER_STATEMENT != store.site // CALLS_PER_STATEMENT:
                continue
            value = _stored(statement)
            if value is not None and value[0] == m.NAME:
                value = _made_of(inside, value)
            base = _part_of(value) if value is not None else None
            if base is None or _name(base) not in _bound_in(loop, inside) or _kept_whole(inside, base):
                return ""
            return _name(base)
    return ""


def _stored(statement: Stmt) -> Expr | None:
    if statement[0] == m.ASSIGN and statement[2][0][0] == m.ITEM:
        return statement[3]  # type: ignore[no-any-return]
    if statement[0] == m.EXPR and statement[2][0] == m.CALL and statement[2][2][-1] in _ADDS and statement[2][3]:
        return statement[2][3][-1]  # type: ignore[no-any-return]
    return None


def _made_of(inside: list[Stmt], name: Expr) -> Expr | None:
    """What a name was bound to, if that happens once in the loop."""
    found = [each[3] for each in inside if each[0] == m.ASSIGN and name in targets(each)]
    return found[0] if len(found) == 1 else None


def _part_of(value: Expr) -> Expr | None:
    """`states` of `states[:, 0].detach()`."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _KEEP_THE_BASE:
        value = value[2][1]
    if value[0] != m.ITEM or not _selects(value[2]):
        return None
    return value[1]  # type: ignore[no-any-return]


def _selects(index: Expr) -> bool:
    """Whether an index takes one of many along some dimension, and all along others: `[:, 0]`, `[..., -1, :]`."""
    if index[0] != m.NEW or index[1] is None:
        return False
    numbers = whole = 0
    for part in index[3]:
        if part[0] == m.UNARY:
            part = part[1]
        if part[0] == m.CONST and isinstance(part[1], int) and not isinstance(part[1], bool):
            numbers += 1
        elif part[0] in (m.SLICE, m.TEXT):  # of texts there is only the ellipsis
            whole += 1
        else:
            return False
    return numbers > 0 and whole > 0


def _name(base: Expr) -> str:
    while base[0] in (m.ATTR, m.ITEM):
        base = base[1]
    return str(base[1]) if base[0] == m.NAME else ""


def _bound_in(loop: Stmt, inside: list[Stmt]) -> set[str]:
    bound = (target for statement in (loop, *inside) for target in targets(statement))
    return {target[1] for target in bound if target[0] == m.NAME}


def _kept_whole(inside: list[Stmt], base: Expr) -> bool:
    """Whether the loop stores the whole tensor as well: then its part costs nothing."""
    return any(_stored(statement) in (base, (m.NAME, _name(base))) for statement in inside)
