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
from .walk import last_name, loops, nodes, statements

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
        base = _base(machine, store)
        if not base:
            continue
        if elsewhere is None:
            elsewhere = {found.store.site for found in collected_on_device(machine)}
        if store.site not in elsewhere:
            holder = describe(store.owner, store.key, machine)
            yield View(store, holder.text, base, min(2, max(tensor.weight for tensor in store.tensors)))


def _base(machine: Machine, store: Store) -> str:
    """What the stored value is a part of; "" if it is a copy, the whole, or kept as a whole besides."""
    for loop, inside in loops(store.frame.facts.body):
        for statement in inside:
            if statement[1] // CALLS_PER_STATEMENT != store.site // CALLS_PER_STATEMENT:
                continue
            value = _stored(statement)
            if value is not None and value[0] == m.NAME:
                value = _made_of(inside, value)
            if value is None:
                return ""
            bound = _bound_in(loop, inside)
            base = _part_of(value)
            if base is None:
                return _taken_inside(machine, value, bound)
            return "" if _kept_whole(inside, base) else _fresh(base, bound)
    return ""


def _fresh(base: Expr, bound: set[str]) -> str:
    """The name of a tensor that each round has anew: a name that it binds, or the result of a call on one."""
    root = _root(base)
    if root[0] == m.NAME:
        return str(root[1]) if root[1] in bound else ""
    if root[0] != m.CALL:
        return ""
    given = (*root[3], *(item for _, item in root[4]))
    made = last_name(root) == "pop" or any(p[0] == m.NAME and p[1] in bound for g in given for p in nodes(g))
    return f"{last_name(root)}(...)" if made and last_name(root) not in ("get", "getattr", "setdefault") else ""


def _taken_inside(machine: Machine, value: Expr, bound: set[str]) -> str:
    """The tensor that a function of the program takes a part of, where the value is what it returns."""
    while value[0] == m.CALL and value[2][0] == m.ATTR and value[2][2] in _KEEP_THE_BASE:
        value = value[2][1]
    if value[0] != m.CALL:
        return ""
    name = last_name(value[2])
    called = [one for unit in machine.units.values() for one in unit.facts.functions if one.name == name]
    if len(called) != 1:
        return ""
    names = [param.name for param in called[0].params if not (called[0].owner >= 0 and param.name in ("self", "cls"))]
    given = {**dict(zip(names, value[3], strict=False)), **dict(value[4])}
    inside = {t[1] for one, _ in statements(called[0].body) for t in targets(one) if t[0] == m.NAME}
    for statement, _ in statements(called[0].body):
        part = _part_of(statement[2]) if statement[0] == m.RETURN and statement[2] is not None else None
        if part is None:
            continue
        root = _root(part)
        if root[0] == m.NAME and root[1] in given and root[1] not in inside:
            found = _fresh(given[root[1]], bound)
        else:
            found = _fresh(part, inside | set(given))
        if found:
            return found
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
    """Whether an index takes one of many along some dimension, and all along others: `[:, 0]`, `[..., -1, :]`.
    Where numbers come first, `[0, 0, :]`, they mostly take dimensions away that have one element."""
    if index[0] != m.NEW or index[1] is None or not index[3] or index[3][0][0] not in (m.SLICE, m.TEXT):
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


def _root(base: Expr) -> Expr:
    """`out` of `out.states[0]`, `model(x)` of `model(x).states.detach()`."""
    while True:
        if base[0] in (m.ATTR, m.ITEM):
            base = base[1]
        elif base[0] == m.CALL and base[2][0] == m.ATTR and base[2][2] in _KEEP_THE_BASE:
            base = base[2][1]
        else:
            return base


def _bound_in(loop: Stmt, inside: list[Stmt]) -> set[str]:
    bound = (target for statement in (loop, *inside) for target in targets(statement))
    return {target[1] for target in bound if target[0] == m.NAME}


def _kept_whole(inside: list[Stmt], base: Expr) -> bool:
    """Whether the loop stores the whole tensor as well: then its part costs nothing."""
    return any(_stored(statement) in (base, _root(base)) for statement in inside)
